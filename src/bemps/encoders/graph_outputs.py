"""More outputs of an ONNX graph, without a library for ONNX.

A serialised message may be followed by another of the same type: readers merge the two, and add up repeated fields. So
a model whose graph has nothing but outputs, appended to a model, names these inner results as outputs too.
"""

from collections.abc import Sequence

# field numbers of onnx.proto
GRAPH, OUTPUT, NAME, TYPE, TENSOR = 7, 12, 1, 2, 1
FLOAT = b"\x08\x01"  # elem_type = FLOAT


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """The serialised model, with the named float tensors of its graph among the outputs."""
    if not names:
        return model
    kind = _field(TYPE, _field(TENSOR, FLOAT))
    outputs = b"".join(_field(OUTPUT, _field(NAME, name.encode()) + kind) for name in names)
    return model + _field(GRAPH, outputs)


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    low = value & 127
    rest = value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
