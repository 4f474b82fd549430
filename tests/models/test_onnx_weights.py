"""Weights read out of ONNX files that are written here, field by field."""

import numpy as np
import pytest

from bemps.errors import InputError
from bemps.models.encoders.onnx_weights import read_weights
from bemps.models.encoders.protobuf import _varint, bytes_field

FLOATS = np.arange(6, dtype=np.float32).reshape(3, 2) / 7


def number(field, value):
    return _varint(field << 3) + _varint(value)


def tensor(name, array, code):
    shape = b"".join(number(1, size) for size in array.shape)
    return bytes_field(5, shape + number(2, code) + bytes_field(8, name.encode()) + bytes_field(9, array.tobytes()))


def node(name, *inputs):
    return bytes_field(1, b"".join(bytes_field(1, one.encode()) for one in inputs) + bytes_field(3, name.encode()))


def model(*parts):
    return number(1, 8) + bytes_field(7, b"".join(parts))


def test_arrays_and_what_nodes_multiply_by():
    weights = read_weights(model(tensor("onnx::MatMul_7", FLOATS, 1), node("/a/dense/MatMul", "x", "onnx::MatMul_7")))
    assert np.array_equal(weights.arrays["onnx::MatMul_7"], FLOATS)
    assert np.array_equal(weights.factors["/a/dense"], FLOATS)


def test_eight_bits_become_the_floats_they_stand_for():
    codes = np.array([[0, 128], [255, 130]], dtype=np.uint8)
    scale = bytes_field(5, number(2, 1) + bytes_field(4, np.float32(0.5).tobytes()) + bytes_field(8, b"w_scale"))
    zero = bytes_field(5, number(2, 2) + bytes_field(5, _varint(128)) + bytes_field(8, b"w_zero_point"))
    file = model(tensor("w_quantized", codes, 2), scale, zero, node("/a/MatMul_quant", "x_quantized", "w_quantized"))
    weights = read_weights(file)
    assert weights.arrays["w"].tolist() == [[-64.0, 0.0], [63.5, 1.0]]
    assert np.array_equal(weights.factors["/a"], weights.arrays["w"])


@pytest.mark.parametrize("file", [b"", number(1, 8), model(tensor("w", FLOATS, 1))[:-5] + b"\xff", b"\x0b"])
def test_other_files_are_refused(file):
    with pytest.raises((InputError, ValueError)):
        read_weights(file)


def test_an_unknown_data_type_is_named():
    with pytest.raises(InputError, match="data type 16"):
        read_weights(model(tensor("w", FLOATS, 16)))
