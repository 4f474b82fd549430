"""The weights inside an ONNX file of a BERT encoder, without a library for ONNX.

A file is a tree of protobuf messages. Of these only the initialisers (arrays by name) and the nodes that multiply by
one of them are read. Arrays of 8 bits come with a scale and a zero point, and are returned as the floats they stand
for: q -> scale (q - zero).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemps.models.encoders.protobuf import Value, read_fields, read_varints, text_of, unreadable
from bemps.types import Array

# field numbers of onnx.proto
GRAPH, NODE, INITIALIZER = 7, 1, 5
NODE_INPUT, NODE_NAME = 1, 3
DIMS, DATA_TYPE, FLOAT_DATA, INT32_DATA, TENSOR_NAME, RAW_DATA = 1, 2, 4, 5, 8, 9
TYPES: dict[int, "np.dtype[Any]"] = {1: np.dtype("<f4"), 2: np.dtype("u1"), 3: np.dtype("i1"), 7: np.dtype("<i8")}
QUANTIZED = "_quantized"


@dataclass(frozen=True)
class OnnxWeights:
    """The arrays of a graph by the name of the initialiser, and those that nodes multiply by, by the node's name."""

    arrays: dict[str, Array]
    factors: dict[str, Array]


def read_weights(model: bytes) -> OnnxWeights:
    """All floating-point weights of a serialised model."""
    raw, nodes = {}, []
    for number, value in read_fields(_message(memoryview(model), GRAPH)):
        if number == INITIALIZER and isinstance(value, memoryview):
            name, array = _tensor(value)
            raw[name] = array
        elif number == NODE and isinstance(value, memoryview):
            nodes.append(_node(value))
    arrays = {name.removesuffix(QUANTIZED): _as_floats(name, array, raw) for name, array in raw.items()}
    return OnnxWeights(arrays, dict(_factors(nodes, arrays)))


def _factors(nodes: list[tuple[str, list[str]]], arrays: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """`/encoder/layer.0/output/dense/MatMul` and the array among its inputs, also where it is quantised."""
    for name, inputs in nodes:
        names = [source.removesuffix(QUANTIZED) for source in inputs]
        matrices = [arrays[source] for source in names if source in arrays and arrays[source].ndim == 2]
        if "/MatMul" in name and len(matrices) == 1:
            yield name.rsplit("/", 1)[0], matrices[0]


def _as_floats(name: str, array: Array, raw: dict[str, Array]) -> Array:
    if not name.endswith(QUANTIZED):
        return array
    stem = name.removesuffix(QUANTIZED)
    floats: Array = (array.astype(np.float32) - raw[f"{stem}_zero_point"]) * raw[f"{stem}_scale"]
    return floats.astype(np.float32)


def _tensor(message: memoryview) -> tuple[str, Array]:
    fields = list(read_fields(message))
    values = dict(fields)
    kind = TYPES.get(int(values[DATA_TYPE])) if isinstance(values[DATA_TYPE], int) else None
    if kind is None:
        raise unreadable(f"data type {values[DATA_TYPE]}")
    shape = [int(value) for number, value in fields if number == DIMS and isinstance(value, int)]
    return text_of(values[TENSOR_NAME]), _numbers(values, kind).reshape(shape)


def _numbers(values: dict[int, Value], kind: "np.dtype[Any]") -> Array:
    """From the bytes themselves, or from the lists that small tensors have instead."""
    for number in (RAW_DATA, FLOAT_DATA):
        if number in values:
            return np.frombuffer(values[number], kind)  # type: ignore[arg-type]
    value = values.get(INT32_DATA, memoryview(b""))
    codes = [value] if isinstance(value, int) else list(read_varints(value))
    return np.array(codes, dtype=np.int64).astype(kind)


def _node(message: memoryview) -> tuple[str, list[str]]:
    fields = list(read_fields(message))
    name = next((text_of(value) for number, value in fields if number == NODE_NAME), "")
    return name, [text_of(value) for number, value in fields if number == NODE_INPUT]


def _message(message: memoryview, field: int) -> memoryview:
    for number, value in read_fields(message):
        if number == field and isinstance(value, memoryview):
            return value
    raise unreadable("no graph")
