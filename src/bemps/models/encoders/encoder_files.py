"""The files of a text encoder: of the table, of a local folder, or of the hub; as a graph and a tokenizer."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemps._utils.extras import requires_extra
from bemps.errors import InputError, unknown_name
from bemps.models.encoders.encoder_table import (
    ARRAYS,
    CONFIG,
    MODEL,
    SAFETENSORS,
    SENTENCE_PIECES,
    TEXT_ENCODERS,
    TOKENIZER,
)
from bemps.models.encoders.transformer_graph import TYPES, read_safetensors, transformer_graph
from bemps.models.encoders.universal_graph import universal_graph, universal_tokenizer
from bemps.models.encoders.weight_files import download_weights, require_weights
from bemps.models.encoders.weight_packages import fetch_from_hub

if TYPE_CHECKING:
    from tokenizers import Tokenizer

POOLING = "1_Pooling/config.json"  # where sentence-transformers says how vectors are pooled
GRAPHS = (MODEL, f"onnx/{MODEL}", "onnx/model_quantized.onnx", SAFETENSORS)  # in a folder, the first of them
NETWORK_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin")  # what transformers read


@dataclass(frozen=True)
class EncoderFiles:
    """An encoder on disk.

    Attributes
    ----------
    model, tokenizer, config
        The paths; an encoder of the table may have no config.
    layers, width, pooling
        What the graph is.
    bits
        Of the matrices, where the graph is written here and nobody asks for others.
    identity
        The name and a digest: of the weights, and of the tokenizer and config of an encoder outside the table.
    """

    model: Path
    tokenizer: Path
    config: Path | None
    layers: int
    width: int
    pooling: str
    bits: int
    identity: str

    @property
    def is_written(self) -> bool:
        """Whether the graph is written here, so that its bits can be chosen."""
        return self.model.name == SAFETENSORS

    def graph(self, bits: int, longest: int) -> bytes:
        """The serialised graph."""
        if self.model.name == ARRAYS:
            return universal_graph(self.model)
        if not self.is_written:
            return self.model.read_bytes()
        assert self.config is not None, "safetensors come with a config"
        config = _read_config(self.config)
        return transformer_graph(read_safetensors(self.model), config, bits=bits, longest=longest)

    def read_tokenizer(self) -> "Tokenizer":
        """The tokenizer, as its file has it."""
        if self.tokenizer.name == SENTENCE_PIECES:
            return universal_tokenizer(self.tokenizer)
        with requires_extra("text", "text encoders"):
            from tokenizers import Tokenizer
        return Tokenizer.from_file(str(self.tokenizer))


def encoder_files(name: str) -> EncoderFiles:
    """The files of an encoder by its name in the table, its folder, or its name on the hub.

    Parameters
    ----------
    name : str
        Which one.

    Raises
    ------
    MissingWeights
        The weights of an encoder of the table are not here.
    InputError
        No such name, or a folder that lacks a file.
    """
    if name in TEXT_ENCODERS:
        return _table_files(name)
    if Path(name).is_dir():
        return _folder_files(Path(name))
    if is_hub_name(name):
        return _folder_files(_hub_folder(name))
    raise unknown_name(
        "text encoder", name, TEXT_ENCODERS, "Or the path of a folder with model.onnx or model.safetensors."
    )


def bring_encoder(name: str, progress: Callable[[str], None] = lambda _: None) -> Path:
    """Download an encoder of the table, checked by digest, or one of the hub.

    Parameters
    ----------
    name : str
        A name of `encoder_weights`, or owner/name on the hub.
    progress : callable, optional
        Called with a sentence before each step.

    Returns
    -------
    Path
        The folder of its files.
    """
    if not is_hub_name(name):
        return download_weights(name, progress)
    progress(f"downloading {name} from the hub")
    return _folder_files(_hub_folder(name)).tokenizer.parent


def view_layers(name: str) -> tuple[int, ...]:
    """The layers of both views of a text: the last, and that of the table or at two thirds of the others."""
    if name in TEXT_ENCODERS:
        return TEXT_ENCODERS[name].view_layers
    return (-1, max(1, round(encoder_files(name).layers * 2 / 3)))


def layer_width(name: str) -> int:
    """The length of the vector of one layer."""
    return TEXT_ENCODERS[name].width if name in TEXT_ENCODERS else encoder_files(name).width


def network_identity(name: str) -> str:
    """What a network to fine-tune is known by before it is loaded.

    Parameters
    ----------
    name : str
        The folder of a network as transformers save it, or its name on the hub.

    Returns
    -------
    str
        A digest of the files of the folder; on the hub the commit.

    Raises
    ------
    InputError
        No such network.
    """
    if not Path(name).is_dir():
        with _hub_refusals(name):
            return fetch_from_hub(name, CONFIG).parent.name
    if not (Path(name) / CONFIG).is_file():
        expected = f"{CONFIG} and weights, as transformers save them"
        raise InputError(f"folder {name}", expected=expected, got=f"no {CONFIG}", fix="Save it with save_pretrained.")
    return _digest_of(sorted(path for pattern in NETWORK_FILES for path in Path(name).glob(pattern)))


def is_own_encoder(name: str) -> bool:
    """Whether it may be an encoder outside the table: a folder, or a name on the hub."""
    return Path(name).is_dir() or is_hub_name(name)


def is_hub_name(name: str) -> bool:
    """Whether it has the form owner/name, and is no path."""
    owner, slash, rest = name.partition("/")
    return bool(slash and owner and rest) and "/" not in rest and not owner.startswith((".", "~"))


def _table_files(name: str) -> EncoderFiles:
    entry, paths = TEXT_ENCODERS[name], require_weights(name)
    model = next(paths[file] for file in (MODEL, SAFETENSORS, ARRAYS) if file in paths)
    tokenizer = next(paths[file] for file in (TOKENIZER, SENTENCE_PIECES) if file in paths)
    identity = f"{name} {entry.files[0].sha256[:16]}"
    return EncoderFiles(
        model, tokenizer, paths.get(CONFIG), entry.layers, entry.width, entry.pooling, entry.bits, identity
    )


def _folder_files(folder: Path) -> EncoderFiles:
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), folder / MODEL)
    for path in (graph, folder / TOKENIZER):
        if not path.is_file():
            raise InputError(
                f"folder {folder}",
                expected=f"{MODEL} or {SAFETENSORS}, and {TOKENIZER}",
                got=f"no {path.name}",
                fix="Export the encoder as ONNX, or use bemps weights.",
            )
    config = _read_config(folder / CONFIG)
    identity = f"{folder.name} {_digest_of([graph, folder / TOKENIZER, folder / CONFIG])}"
    layers, width = int(config["num_hidden_layers"]), int(config["hidden_size"])
    return EncoderFiles(
        graph, folder / TOKENIZER, folder / CONFIG, layers, width, _folder_pooling(folder), 32, identity
    )


def _digest_of(files: Sequence[Path]) -> str:
    """A digest of the content of files."""
    together = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            together.update(hashlib.file_digest(file, "sha256").digest())
    return together.hexdigest()[:16]


def _folder_pooling(folder: Path) -> str:
    """As sentence-transformers wrote it down; the mean where it did not."""
    if not (folder / POOLING).is_file():
        return "mean"
    return "cls" if _read_json(folder / POOLING).get("pooling_mode_cls_token") else "mean"


def _read_config(path: Path) -> dict[str, Any]:
    config = _read_json(path)
    missing = [key for key in ("num_hidden_layers", "hidden_size") if not isinstance(config.get(key), int)]
    if missing:
        raise _no_config(path, f"no {missing[0]}")
    return config


def _read_json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _no_config(path, str(error)) from error
    if not isinstance(record, dict):
        raise _no_config(path, "another form")
    return record


def _no_config(path: Path, got: str) -> InputError:
    return InputError(
        str(path),
        expected="num_hidden_layers and hidden_size",
        got=got,
        fix=f"Copy the {path.name} of the encoder into the folder.",
    )


def _hub_folder(name: str) -> Path:
    """The folder of the hub's cache with the files of one commit: texts and arrays, nothing that is run."""
    with _hub_refusals(name):
        config = fetch_from_hub(name, CONFIG)
        folder = config.parent
        fetch_from_hub(name, TOKENIZER, folder.name)  # the newest commit may be another by now
        known = _read_json(config).get("model_type") in TYPES
        fetch_from_hub(name, SAFETENSORS if known else f"onnx/{MODEL}", folder.name)
    _try_pooling(name, folder.name)
    return folder


@contextmanager
def _hub_refusals(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise InputError(
            f"text encoder {name!r}",
            expected="a repository on the Hugging Face hub with config.json, tokenizer.json and weights",
            got=str(error).splitlines()[0][:200],
            fix="Check the name and the network, or give the path of a folder with these files.",
        ) from error


def _try_pooling(name: str, commit: str) -> None:
    """Bring the file that says how vectors are pooled, where the repository has one."""
    try:
        fetch_from_hub(name, POOLING, commit)
    except (OSError, ValueError):
        return
