"""Protobuf messages without a library for them: their fields, read and written.

ONNX graphs and SentencePiece models are such messages. A field has a number, and a value that is a number or bytes: of
a text, a list, or an inner message.
"""

from collections.abc import Iterator

import numpy as np

from bemps.errors import InputError

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5  # wire types
Value = int | memoryview


def read_fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """Field numbers and values: numbers, or the bytes of texts, lists, floats and inner messages."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _read_varint(message, at)
            yield number, value
            continue
        length, at = _read_varint(message, at) if wire == BYTES else ({EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(wire, 0), at)
        if length == 0 and wire != BYTES:
            raise unreadable(f"wire type {wire}")
        yield number, message[at : at + length]
        at += length


def read_varints(message: memoryview) -> Iterator[int]:
    """The numbers of a packed list."""
    at = 0
    while at < len(message):
        value, at = _read_varint(message, at)
        yield value


def bytes_field(number: int, data: bytes) -> bytes:
    """A field of bytes: a text or an inner message."""
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data


def int_field(number: int, value: int) -> bytes:
    """A field of a whole number."""
    return _varint(number << 3) + _varint(value % 2**64)


def float_field(number: int, value: float) -> bytes:
    """A field of a float of 32 bits."""
    return _varint(number << 3 | FOUR_BYTES) + np.float32(value).tobytes()


def text_of(value: Value) -> str:
    """The text of a field of bytes."""
    return bytes(value).decode() if isinstance(value, memoryview) else str(value)


def unreadable(got: str) -> InputError:
    """The error for a file that is no such message."""
    return InputError("weights", expected="an encoder as exported", got=got, fix="Bring the weights again.")


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise unreadable("an end in the middle of a number")


def _varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
