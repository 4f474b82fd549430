"""Vectors of texts from a frozen encoder, by onnxruntime and tokenizers: no torch.

A vector depends on its text alone. Encoders in 8 bits scale what they compute over the whole batch, so that a text
would get another vector in a batch (cosine .98 to .99) than alone: their texts go through the graph one at a time,
which costs a fifth of the speed. In 32 bits texts of the same number of tokens go together, so that nothing is padded.
Each thread takes texts of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bemps._utils.extras import requires_extra
from bemps.errors import InputError, unknown_name
from bemps.limits import current_limits, map_blocks, slices
from bemps.models.encoders.encoder_files import EncoderFiles, encoder_files
from bemps.models.encoders.encoder_table import POOLED
from bemps.models.encoders.onnx_graph import with_outputs
from bemps.models.encoders.transformer_graph import LAST, LAYER_OUTPUT
from bemps.types import Array, Progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer

POOLINGS = ("mean", "cls")
LAYER_NAMES = (  # what exporters call the output of layer i, counted from 0
    LAYER_OUTPUT,
    "/encoder/layer.{}/output/LayerNorm/LayerNormalization_output_0",
)
QUANTISED = (b"DynamicQuantize", b"MatMulInteger")  # operators that scale over the batch
BLOCK = 512  # texts that are cut into tokens together
ROUND = 32  # texts of a thread between two reports of progress
TOGETHER = 16  # texts of one length that go through a graph of 32 bits together


@dataclass(frozen=True)
class EncoderParts:
    """The graph of an encoder, its tokenizer, and how its layers are pooled.

    Parameters
    ----------
    graph : bytes
        The graph; its outputs are the states of layers.
    tokenizer : str
        The tokenizer as JSON.
    outputs : list of str
        The names of the outputs.
    poolings : list of str
        How each output is pooled.
    """

    graph: bytes
    tokenizer: str
    outputs: list[str]
    poolings: list[str]


class OnnxTextEncoder:
    """Vectors of texts from a frozen encoder, without torch.

    Parameters
    ----------
    name : str or Path, optional
        A name of `TEXT_ENCODERS`; a folder with `tokenizer.json`, `config.json` and `model.onnx` or
        `model.safetensors`; or a name on the Hugging Face hub, where there is a network.
    layer : int or tuple of int, optional
        Which hidden states: -1 is the last layer, 1 the first after the embeddings. Several give their vectors side by
        side.
    pooling : {"mean", "cls"}, optional
        How the last layer becomes one vector: `mean` over the tokens or `cls`, the first token. None is what the
        encoder was trained with. Other layers are always averaged.
    normalise : bool, optional
        Whether each vector (of each layer) is divided by its norm.
    max_length : int, optional
        Tokens of a text that are read; the rest is cut.
    bits : {8, 32}, optional
        8 or 32: of the matrices of an encoder whose weights are `model.safetensors`. None is what suits it: 8 for
        `minilm`, else 32. Graphs in a file are as they are.
    progress : callable, optional
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
        bits: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if pooling is not None and pooling not in POOLINGS:
            raise unknown_name("pooling", pooling, POOLINGS)
        if bits not in (None, 8, 32):
            raise InputError("bits", expected="8 or 32", got=str(bits), fix="Choose one of them.")
        self.name, self.layer, self.pooling, self.normalise = str(name), layer, pooling, normalise
        self.max_length, self.bits, self.progress = max_length, bits, progress

    @property
    def identity(self) -> str:
        """What the vectors depend on beside the texts: the digest of the weights, and how they are used."""
        how = f"layer {self.layer} pooling {self._pooling} normalise {self.normalise} length {self.max_length}"
        bits = f" bits {self._bits}" if self._files.is_written else ""
        return f"onnx {self._files.identity} {how}{bits}"

    @property
    def width(self) -> int:
        """The length of the vector of one layer."""
        return self._files.width

    def embeddings(self, items: Any) -> Float[Array, "N H"]:
        """One vector for each text."""
        texts = _checked_texts(items)
        _ = self._session, self._tokenizer  # loaded before the threads start
        rows = np.empty((len(texts), self.width * len(self._layers)), dtype=np.float32)
        done = 0
        for block in slices(len(texts), BLOCK):
            tokens = self._tokens(texts[block])
            for batches in self._rounds(tokens):
                vectors = map_blocks(lambda batch: self._vectors([tokens[i] for i in batch]), batches)  # noqa: B023
                for batch, part in zip(batches, vectors, strict=True):
                    rows[block.start + np.array(batch)] = part
                done += sum(map(len, batches))
                if self.progress is not None:
                    self.progress("embed", done, len(texts))
        return rows

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the tokens of each text; not by `encode_batch`, which has threads of its own."""
        parts = slices(len(texts), -(-len(texts) // current_limits().threads))
        encode = self._tokenizer.encode
        return [
            ids for part in map_blocks(lambda part: [encode(text).ids for text in texts[part]], parts) for ids in part
        ]

    def _rounds(self, tokens: list[list[int]]) -> Iterator[list[list[int]]]:
        """Batches of texts by length, short ones first, in rounds of about the same number of texts."""
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        groups = [list(group) for _, group in groupby(order, key=lambda i: len(tokens[i]))]
        batches = [group[part] for group in groups for part in slices(len(group), self._together)]
        per_round = max(1, ROUND // self._together) * current_limits().threads
        for part in slices(len(batches), per_round):
            yield batches[part]

    def _vectors(self, tokens: list[list[int]]) -> Float[Array, "n H"]:
        """The vectors of texts of one length."""
        ids = np.array(tokens, dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(self._output_names, {name: inputs[name] for name in self._input_names})
        parts = [self._pool(layer, state) for layer, state in zip(self._layers, states, strict=True)]
        if self.normalise:
            parts = [part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12) for part in parts]
        return np.hstack(parts)

    def _pool(self, layer: int, states: Float[Array, "n ..."]) -> Float[Array, "n H"]:
        if self._pooling == POOLED:
            return states
        return states[:, 0] if layer == -1 and self._pooling == "cls" else states.mean(axis=1)

    def parts(self) -> "EncoderParts":
        """What another program needs to make the same vectors."""
        graph = self._files.graph(self._bits, self.max_length)
        outputs = [LAST if layer == -1 else self._layer_name(layer, graph) for layer in self._layers]
        inner = self._pooling if self._pooling == POOLED else "mean"
        poolings = [self._pooling if layer == -1 else inner for layer in self._layers]
        graph = with_outputs(graph, [name for name in outputs if name != LAST])
        return EncoderParts(graph, self._tokenizer.to_str(), outputs, poolings)

    # -- what was loaded ----------------------------------------------------------------------------------------------

    @cached_property
    def _files(self) -> EncoderFiles:
        return encoder_files(self.name)

    @cached_property
    def _session(self) -> Any:
        with requires_extra("text", "text encoders"):
            import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        graph = self._files.graph(self._bits, self.max_length)
        self._output_names = [LAST if layer == -1 else self._layer_name(layer, graph) for layer in self._layers]
        self._together = 1 if any(name in graph for name in QUANTISED) or self._pooling == POOLED else TOGETHER
        graph = with_outputs(graph, [name for name in self._output_names if name != LAST])
        try:
            return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has classes of its own for a bad file
            raise _unusable(self._files.model, str(error)) from error

    @cached_property
    def _input_names(self) -> list[str]:
        return [node.name for node in self._session.get_inputs()]

    def _layer_name(self, layer: int, graph: bytes) -> str:
        number = self._files.layers
        index = layer - 1 if layer > 0 else number + layer
        if layer == 0 or not 0 <= index < number:
            raise InputError(
                "layer", expected=f"1 to {number}, or -1 for the last", got=str(layer), fix="Choose another."
            )
        if index == number - 1:
            return LAST
        for pattern in LAYER_NAMES:
            if pattern.format(index).encode() in graph:
                return pattern.format(index)
        raise InputError(
            "layer", expected="a graph that names its layers", got=str(self._files.model), fix="Use layer=-1."
        )

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        try:
            tokenizer = self._files.read_tokenizer()
        except (InputError, ImportError):
            raise
        except Exception as error:  # tokenizers raises no other class
            raise _unusable(self._files.tokenizer, str(error)) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        return tokenizer

    @property
    def _layers(self) -> tuple[int, ...]:
        return (self.layer,) if isinstance(self.layer, int) else tuple(self.layer)

    @property
    def _bits(self) -> int:
        return self.bits or self._files.bits

    @property
    def _pooling(self) -> str:
        return self._files.pooling if self.pooling is None or self._files.pooling == POOLED else self.pooling


def _checked_texts(items: Any) -> list[str]:
    odd = next((item for item in items if not isinstance(item, str)), None)
    if isinstance(items, str) or odd is not None:
        got = "one string" if isinstance(items, str) else f"a {type(odd).__name__}"
        raise InputError("items", expected="a sequence of texts", got=got, fix="Give a list of strings.")
    return [str(item) for item in items]


def _unusable(path: Path, reason: str) -> InputError:
    return InputError(
        f"file {path}",
        expected="weights that can be loaded",
        got=reason.splitlines()[0][:200],
        fix="Bring them again: bemps weights.",
    )
