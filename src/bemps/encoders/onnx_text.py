"""Vectors of texts from a frozen encoder, by onnxruntime and tokenizers: no torch.

Texts go through the graph one at a time. Encoders in 8 bits scale their activations over everything that is in a
batch, so that in company a text would get other vectors (cosine .98 to .99) than alone; one at a time costs a fifth of
the speed, and a vector depends on its text alone. Threads take texts of their own.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bemps.encoders.graph_outputs import with_outputs
from bemps.encoders.weights import MODEL, TEXT_ENCODERS, TOKENIZER, encoder_entry, require_weights
from bemps.errors import InputError, MissingExtra, unknown_name
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer

POOLINGS = ("mean", "cls")
LAST = "last_hidden_state"
LAYER_NAMES = (  # what exporters call the output of layer i, counted from 0
    "/encoder/layer.{}/output/LayerNorm/Add_1_output_0",
    "/encoder/layer.{}/output/LayerNorm/LayerNormalization_output_0",
)
BLOCK = 32  # texts between two looks at the progress


class OnnxTextEncoder:
    """Vectors of texts from a frozen encoder, without torch.

    Parameters
    ----------
    name
        A name of `TEXT_ENCODERS`, or a folder with `model.onnx` and `tokenizer.json`.
    layer
        Which hidden states: -1 is the last layer, 1 the first after the embeddings. Several give their vectors side by
        side.
    pooling
        How the last layer becomes one vector: `mean` over the tokens or `cls`, the first token. None is what the
        encoder was trained with. Other layers are always averaged.
    normalise
        Whether each vector (of each layer) is divided by its norm.
    max_length
        Tokens of a text that are read; the rest is cut.
    progress
        Called with (task, done, total).
    """

    def __init__(
        self,
        name: str | Path = "bge-small",
        *,
        layer: int | tuple[int, ...] = -1,
        pooling: str | None = None,
        normalise: bool = True,
        max_length: int = 256,
        progress: Progress | None = None,
    ) -> None:
        if pooling is not None and pooling not in POOLINGS:
            raise unknown_name("pooling", pooling, POOLINGS)
        self.name, self.layer, self.pooling, self.normalise = str(name), layer, pooling, normalise
        self.max_length, self.progress = max_length, progress

    @property
    def identity(self) -> str:
        """What the vectors depend on beside the texts: the digest of the weights, and how they are used."""
        how = f"layer {self.layer} pooling {self._pooling} normalise {self.normalise} length {self.max_length}"
        return f"onnx {self._weights_identity} {how}"

    def embeddings(self, items: Any) -> Float[Array, "N H"]:
        """One vector for each text."""
        texts = _checked_texts(items)
        session = self._session  # loaded before the threads start
        rows = np.empty((len(texts), self._width * len(self._layers)), dtype=np.float32)

        def encode(part: slice) -> None:
            rows[part] = self._encode(session, texts[part])

        for block in slices(len(texts), BLOCK * current_limits().threads):
            map_blocks(encode, [slice(block.start + i.start, block.start + i.stop) for i in self._shares(block)])
            if self.progress is not None:
                self.progress("embed", block.stop, len(texts))
        return rows

    def _shares(self, block: slice) -> list[slice]:
        """A block of texts in one part for each thread."""
        size = block.stop - block.start
        return slices(size, -(-size // current_limits().threads))

    def _encode(self, session: Any, texts: Sequence[str]) -> Float[Array, "n H"]:
        return np.stack([self._vector(session, encoding.ids) for encoding in self._tokenizer.encode_batch(texts)])

    def _vector(self, session: Any, ids: list[int]) -> Float[Array, " H"]:
        tokens = np.array([ids], dtype=np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states = session.run(self._output_names, {name: inputs[name] for name in self._input_names})
        parts = [self._pool(layer, state[0]) for layer, state in zip(self._layers, states, strict=True)]
        return np.concatenate(
            [part / max(float(np.linalg.norm(part)), 1e-12) if self.normalise else part for part in parts]
        )

    def _pool(self, layer: int, states: Float[Array, "t H"]) -> Float[Array, " H"]:
        return states[0] if layer == -1 and self._pooling == "cls" else states.mean(axis=0)

    # -- what was loaded ----------------------------------------------------------------------------------------------

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return require_weights(self.name) if self.name in TEXT_ENCODERS else _folder_paths(Path(self.name))

    @cached_property
    def _config(self) -> dict[str, Any]:
        """Layers, width and pooling: from the table, or from the files of the folder."""
        if self.name in TEXT_ENCODERS:
            entry = encoder_entry(self.name)
            return {"num_hidden_layers": entry.layers, "hidden_size": entry.width, "pooling": entry.pooling}
        return _folder_config(Path(self.name))

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as cause:
            raise MissingExtra("text encoders", "text", cause) from cause
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        graph = with_outputs(self._graph, [name for name in self._output_names if name != LAST])
        try:
            return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has classes of its own for a bad file
            raise _unusable(self._paths[MODEL], str(error)) from error

    @cached_property
    def _graph(self) -> bytes:
        return self._paths[MODEL].read_bytes()

    @cached_property
    def _input_names(self) -> list[str]:
        return [node.name for node in self._session.get_inputs()]

    @cached_property
    def _output_names(self) -> list[str]:
        return [LAST if layer == -1 else self._layer_name(layer) for layer in self._layers]

    def _layer_name(self, layer: int) -> str:
        number = int(self._config["num_hidden_layers"])
        index = layer - 1 if layer > 0 else number + layer
        if layer == 0 or not 0 <= index < number:
            raise InputError(
                "layer", expected=f"1 to {number}, or -1 for the last", got=str(layer), fix="Choose another."
            )
        for pattern in LAYER_NAMES:
            if pattern.format(index).encode() in self._graph:
                return pattern.format(index)
        raise InputError(
            "layer", expected="a graph that names its layers", got=str(self._paths[MODEL]), fix="Use layer=-1."
        )

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        try:
            from tokenizers import Tokenizer
        except ImportError as cause:
            raise MissingExtra("text encoders", "text", cause) from cause
        try:
            tokenizer = Tokenizer.from_file(str(self._paths[TOKENIZER]))
        except Exception as error:  # tokenizers raises no other class
            raise _unusable(self._paths[TOKENIZER], str(error)) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        return tokenizer

    @cached_property
    def _weights_identity(self) -> str:
        if self.name in TEXT_ENCODERS:
            return f"{self.name} {encoder_entry(self.name).files[0].sha256[:16]}"
        import hashlib

        return f"{Path(self.name).name} {hashlib.sha256(self._graph).hexdigest()[:16]}"

    @property
    def _layers(self) -> tuple[int, ...]:
        return (self.layer,) if isinstance(self.layer, int) else tuple(self.layer)

    @property
    def _pooling(self) -> str:
        return self.pooling or str(self._config["pooling"])

    @property
    def _width(self) -> int:
        return int(self._config["hidden_size"])


def _checked_texts(items: Any) -> list[str]:
    odd = next((item for item in items if not isinstance(item, str)), None)
    if isinstance(items, str) or odd is not None:
        got = "one string" if isinstance(items, str) else f"a {type(odd).__name__}"
        raise InputError("items", expected="a sequence of texts", got=got, fix="Give a list of strings.")
    return [str(item) for item in items]


def _folder_paths(folder: Path) -> dict[str, Path]:
    """The graph and the tokenizer of a local folder."""
    if not folder.is_dir():
        raise unknown_name("text encoder", str(folder), TEXT_ENCODERS, "Or the path of a folder with model.onnx.")
    graphs = [folder / MODEL, folder / "onnx" / MODEL, folder / "onnx" / "model_quantized.onnx"]
    graph = next((path for path in graphs if path.is_file()), graphs[0])
    for path in (graph, folder / TOKENIZER):
        if not path.is_file():
            raise InputError(
                f"folder {folder}",
                expected=f"{MODEL} and {TOKENIZER}",
                got=f"no {path.name}",
                fix="Export the encoder as ONNX, or use bemps weights.",
            )
    return {MODEL: graph, TOKENIZER: folder / TOKENIZER}


def _folder_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        sizes = {key: int(config[key]) for key in ("num_hidden_layers", "hidden_size")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            str(path),
            expected="num_hidden_layers and hidden_size",
            got=str(error),
            fix="Copy the config.json of the encoder into the folder.",
        ) from error
    return {**sizes, "pooling": "mean"}


def _unusable(path: Path, reason: str) -> InputError:
    return InputError(
        f"file {path}",
        expected="weights that can be loaded",
        got=reason.splitlines()[0][:200],
        fix="Bring them again: bemps weights.",
    )
