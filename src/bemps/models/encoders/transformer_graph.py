"""The ONNX graph of a transformer encoder, from its weights as safetensors and its config: no torch.

In 8 bits the matrices have one scale for each output, and onnxruntime scales what they are applied to as it comes. The
embeddings, norms and biases stay in 32 bits. Known are BERT, RoBERTa, XLM-RoBERTa and MPNet.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.models.encoders.onnx_graph import MICROSOFT, OnnxGraph
from bemps.models.encoders.protobuf import unreadable
from bemps.types import Array

LAST = "last_hidden_state"
LAYER_OUTPUT = "/encoder/layer.{}/output/LayerNorm/Add_1_output_0"  # of layer i, counted from 0; as exporters call it
OFFSET_TYPES = ("roberta", "xlm-roberta", "mpnet")  # whose positions begin after the number of the padding token
TYPES = ("bert", *OFFSET_TYPES)
FARTHEST = 128  # tokens, beyond which MPNet tells no distances apart
READERS: dict[str, Callable[[Array], Array]] = {
    "F32": lambda raw: raw.view("<f4"),
    "F16": lambda raw: raw.view("<f2").astype(np.float32),
    "BF16": lambda raw: (raw.view("<u2").astype(np.uint32) << 16).view(np.float32),
}
Weights = Mapping[str, Array]


def read_safetensors(path: Path) -> dict[str, Array]:
    """The floating-point arrays of a file, by name; those of 32 bits stay on disk until they are used."""
    raw = np.memmap(path, mode="r")
    try:
        start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
        entries = json.loads(raw[8:start].tobytes())
        entries.pop("__metadata__", None)
        return {
            name.removeprefix("bert.").removeprefix("roberta.").removeprefix("mpnet."): _array(raw, start, entry)
            for name, entry in entries.items()
            if entry["dtype"] in READERS
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable(f"{path.name}: {error}") from error


def transformer_graph(weights: Weights, config: Mapping[str, Any], *, bits: int, longest: int) -> bytes:
    """The serialised graph, from token numbers to the hidden states of every layer.

    Parameters
    ----------
    weights : mapping of str to array
        The arrays, by their names in transformers.
    config : mapping
        The `config.json`.
    bits : {8, 32}
        The bits of the matrices.
    longest : int
        The number of tokens of the longest text.

    Returns
    -------
    bytes
        The graph.
    """
    _check(config)
    writer = _Writer(weights, config, bits)
    states, bias = writer.embeddings(), writer.position_bias(longest)
    layers = int(config["num_hidden_layers"])
    for i in range(layers):
        states = writer.layer(i, states, bias, LAST if i == layers - 1 else LAYER_OUTPUT.format(i))
    return writer.graph.serialised(["input_ids"], [LAST])


class _Writer:
    """The parts of the graph of one encoder."""

    def __init__(self, weights: Weights, config: Mapping[str, Any], bits: int) -> None:
        self.graph, self.weights, self.config, self.bits = OnnxGraph(), weights, config, bits
        self.heads, self.width = int(config["num_attention_heads"]), int(config["hidden_size"])
        self.epsilon = float(config.get("layer_norm_eps", 1e-12))
        self.is_mpnet = config["model_type"] == "mpnet"

    def embeddings(self) -> str:
        """Vectors of the words and the positions, of norm as trained."""
        graph, positions = self.graph, self._array("embeddings.position_embeddings.weight")
        if not self.is_mpnet:
            positions = positions + self._array("embeddings.token_type_embeddings.weight")[0]
        if self.config["model_type"] in OFFSET_TYPES:
            positions = positions[int(self.config["pad_token_id"]) + 1 :]
        words = graph.node("Gather", self._constant("embeddings.word_embeddings.weight"), "input_ids")
        places = graph.node("Slice", graph.constant(positions), graph.integers(0), self._length(), graph.integers(0))
        total = graph.node("Add", words, places)
        scale, shift = self._norm("embeddings.LayerNorm")
        return graph.node("LayerNormalization", total, scale, shift, axis=-1, epsilon=self.epsilon)

    def position_bias(self, longest: int) -> str:
        """What MPNet adds to the attention from place to place; "" elsewhere."""
        if not self.is_mpnet:
            return ""
        buckets = distance_buckets(longest, int(self.config["relative_attention_num_buckets"]))
        table = self._array("encoder.relative_attention_bias.weight")[buckets].transpose(2, 0, 1)[None]
        graph, length = self.graph, self._length()
        ends = graph.node("Concat", length, length, axis=0)
        return graph.node("Slice", graph.constant(table), graph.integers(0, 0), ends, graph.integers(2, 3))

    def layer(self, index: int, states: str, bias: str, output: str) -> str:
        """One layer: attention and a network of two matrices, each added to its input."""
        path, graph = f"encoder.layer.{index}.", self.graph
        queries, keys, values, out, norm = self._attention_names(path)
        mixed = self._matrix(states, np.concatenate([self._array(f"{n}.weight") for n in (queries, keys, values)]))
        parts = graph.nodes("Split", mixed, graph.integers(*[self.width] * 3), outputs=3, axis=2)
        biases = graph.constant(np.concatenate([self._array(f"{n}.bias") for n in (queries, keys, values)]))
        more = ("", bias) if bias else ()
        attended = graph.node("MultiHeadAttention", *parts, biases, *more, domain=MICROSOFT, num_heads=self.heads)
        states = self._added(attended, out, norm, states)
        inner = self._matrix(states, self._array(f"{path}intermediate.dense.weight"))
        active = graph.node("BiasGelu", inner, self._constant(f"{path}intermediate.dense.bias"), domain=MICROSOFT)
        return self._added(active, f"{path}output.dense", f"{path}output.LayerNorm", states, output)

    def _attention_names(self, path: str) -> list[str]:
        if self.is_mpnet:
            return [f"{path}attention.attn.{part}" for part in "qkvo"] + [f"{path}attention.LayerNorm"]
        names = [f"{path}attention.self.{part}" for part in ("query", "key", "value")]
        return [*names, f"{path}attention.output.dense", f"{path}attention.output.LayerNorm"]

    def _added(self, states: str, matrix: str, norm: str, skipped: str, output: str = "") -> str:
        """A matrix and its bias, added to what was before and normed."""
        applied, bias = self._matrix(states, self._array(f"{matrix}.weight")), self._constant(f"{matrix}.bias")
        return self.graph.node(
            "SkipLayerNormalization", applied, skipped, *self._norm(norm), bias,
            output=output, domain=MICROSOFT, epsilon=self.epsilon,
        )  # fmt: skip

    def _matrix(self, states: str, matrix: Float[Array, "out in"]) -> str:
        graph = self.graph
        if self.bits == 32:
            return graph.node("MatMul", states, graph.constant(matrix.T))
        scales, codes = quantised(matrix)
        zeros = graph.constant(np.zeros(len(scales), dtype=np.int8))
        tensors = (graph.constant(codes.T), graph.constant(scales), zeros)
        return graph.node("DynamicQuantizeMatMul", states, *tensors, domain=MICROSOFT)

    def _length(self) -> str:
        """How many tokens the texts have, as a tensor of one number."""
        shape = self.graph.node("Shape", "input_ids")
        return self.graph.node("Slice", shape, self.graph.integers(1), self.graph.integers(2), self.graph.integers(0))

    def _norm(self, name: str) -> tuple[str, str]:
        return self._constant(f"{name}.weight"), self._constant(f"{name}.bias")

    def _constant(self, name: str) -> str:
        return self.graph.constant(self._array(name))

    def _array(self, name: str) -> Array:
        if name not in self.weights:
            raise unreadable(f"no array {name}")
        return self.weights[name]


def quantised(matrix: Float[Array, "out in"]) -> tuple[Float[Array, " out"], Int[Array, "out in"]]:
    """One scale for each output, and codes of 8 bits."""
    scales = np.maximum(np.abs(matrix).max(axis=1) / 127, np.finfo(np.float32).tiny).astype(np.float32)
    return scales, np.rint(matrix / scales[:, None]).astype(np.int8)


def distance_buckets(length: int, buckets: int) -> Int[Array, "t t"]:
    """The bucket of the distance from each place to each other: exact when near, logarithmic further away."""
    half, exact = buckets // 2, buckets // 4
    places = np.arange(length)
    behind = places[:, None] - places[None, :]
    distance = np.abs(behind)
    far = np.log(np.maximum(distance, 1) / exact) / np.log(FARTHEST / exact) * (half - exact)
    bucket = np.where(distance < exact, distance, np.minimum(exact + far.astype(np.int64), half - 1))
    result: Array = bucket + half * (behind < 0)
    return result


def _array(raw: Array, start: int, entry: Mapping[str, Any]) -> Array:
    begin, end = entry["data_offsets"]
    if start + end > len(raw):
        raise ValueError("the file was cut")
    return READERS[entry["dtype"]](raw[start + begin : start + end]).reshape(entry["shape"])


def _check(config: Mapping[str, Any]) -> None:
    kind, activation = config.get("model_type"), config.get("hidden_act", "gelu")
    if kind not in TYPES or activation != "gelu":
        raise InputError(
            "encoder",
            expected=f"model_type one of {', '.join(TYPES)}, with hidden_act gelu",
            got=f"{kind}, {activation}",
            fix="Export the encoder as ONNX (model.onnx).",
        )
