"""ONNX graphs, written without a library for ONNX: new ones, and more outputs of those in a file."""

from collections.abc import Sequence

import numpy as np

from bemps.models.encoders.protobuf import bytes_field, float_field, int_field
from bemps.types import Array

# field numbers of onnx.proto
IR_VERSION, GRAPH, OPERATORS = 1, 7, 8
NODE, GRAPH_NAME, INITIALIZER, INPUT, OUTPUT = 1, 2, 5, 11, 12
NODE_INPUT, NODE_OUTPUT, OPERATION, ATTRIBUTE, NODE_DOMAIN = 1, 2, 4, 5, 7
NAME, FLOAT_VALUE, INT_VALUE, INT_VALUES, VALUE_TYPE = 1, 2, 3, 8, 20
DIMS, DATA_TYPE, TENSOR_NAME, RAW_DATA = 1, 2, 8, 9
FLOAT_TYPE, INT_TYPE, INTS_TYPE = 1, 2, 7  # of attributes
DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7, "bool": 9}
MICROSOFT = "com.microsoft"  # the domain of the operators that onnxruntime adds
VERSIONS = {"": 17, MICROSOFT: 1}


Attribute = float | Sequence[int]


class OnnxGraph:
    """A graph that grows by one node a call; every tensor is known by its name."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, values: Array) -> str:
        """A tensor that is part of the file."""
        name = f"constant_{len(self._constants)}"
        dims = b"".join(int_field(DIMS, size) for size in values.shape)
        kind = int_field(DATA_TYPE, DATA_TYPES[str(values.dtype)])
        data = bytes_field(TENSOR_NAME, name.encode()) + bytes_field(RAW_DATA, np.asarray(values, order="C").tobytes())
        self._constants.append(bytes_field(INITIALIZER, dims + kind + data))
        return name

    def integers(self, *values: int) -> str:
        """Whole numbers as a tensor of one axis."""
        return self.constant(np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        """A number of 32 bits as a tensor without axes."""
        return self.constant(np.array(value, dtype=np.float32))

    def node(self, operation: str, *inputs: str, output: str = "", domain: str = "", **attributes: Attribute) -> str:
        """Apply an operation of one output to tensors.

        Parameters
        ----------
        operation : str
            The name of the operation.
        *inputs : str
            The names of its inputs; "" leaves one out.
        output : str, optional
            The name of its output; "" makes one up.
        domain : str, optional
            The operator set that it belongs to; "" is the standard one.
        **attributes : float or sequence of int
            The attributes of the operation.

        Returns
        -------
        str
            The name of its output.
        """
        return self.nodes(operation, *inputs, outputs=[output] if output else 1, domain=domain, **attributes)[0]

    def nodes(
        self, operation: str, *inputs: str, outputs: int | list[str], domain: str = "", **attributes: Attribute
    ) -> list[str]:
        """Apply an operation of several outputs to tensors.

        Parameters
        ----------
        operation : str
            The name of the operation.
        *inputs : str
            The names of its inputs; "" leaves one out.
        outputs : int or list of str
            The number of its outputs, or their names.
        domain : str, optional
            The operator set that it belongs to; "" is the standard one.
        **attributes : float or sequence of int
            The attributes of the operation.

        Returns
        -------
        list of str
            The names of its outputs.
        """
        number = len(self._nodes)
        names = [f"node_{number}_{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        message = b"".join(bytes_field(NODE_INPUT, name.encode()) for name in inputs)
        message += b"".join(bytes_field(NODE_OUTPUT, name.encode()) for name in names)
        message += bytes_field(OPERATION, operation.encode())
        message += b"".join(bytes_field(ATTRIBUTE, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(bytes_field(NODE, message + bytes_field(NODE_DOMAIN, domain.encode())))
        return names

    def serialised(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        kind: str = "int64",
        axes: Sequence[str] = ("batch", "tokens"),
    ) -> bytes:
        """The model as a file.

        Parameters
        ----------
        inputs, outputs : sequence of str
            Their names; outputs are floats.
        kind : str, optional
            The type of the inputs.
        axes : sequence of str, optional
            The axes of the inputs.

        Returns
        -------
        bytes
            The model.
        """
        name = bytes_field(GRAPH_NAME, b"encoder")
        ends = b"".join(bytes_field(INPUT, _tensor(name, kind, axes)) for name in inputs)
        graph = b"".join([*self._nodes, name, *self._constants, ends])
        operators = b"".join(
            bytes_field(OPERATORS, bytes_field(1, domain.encode()) + int_field(2, version))
            for domain, version in VERSIONS.items()
        )
        return with_outputs(int_field(IR_VERSION, 8) + bytes_field(GRAPH, graph) + operators, outputs)


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """The serialised model, with the named float tensors of its graph among the outputs.

    A serialised message may be followed by another of the same type: readers merge the two, and add up repeated fields.
    So a graph that has nothing but outputs is appended to the model.
    """
    if not names:
        return model
    return model + bytes_field(GRAPH, b"".join(bytes_field(OUTPUT, _tensor(name, "float32")) for name in names))


def _tensor(name: str, kind: str, axes: Sequence[str] | None = None) -> bytes:
    """Name and type of an input or output; its shape, where the axes are named."""
    shape = b"" if axes is None else bytes_field(2, b"".join(bytes_field(1, bytes_field(2, a.encode())) for a in axes))
    return bytes_field(NAME, name.encode()) + bytes_field(2, bytes_field(1, int_field(1, DATA_TYPES[kind]) + shape))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, Sequence):
        numbers = b"".join(int_field(INT_VALUES, number) for number in value)
        return bytes_field(NAME, name.encode()) + numbers + int_field(VALUE_TYPE, INTS_TYPE)
    is_whole = isinstance(value, int)
    data = int_field(INT_VALUE, int(value)) if is_whole else float_field(FLOAT_VALUE, value)
    return bytes_field(NAME, name.encode()) + data + int_field(VALUE_TYPE, INT_TYPE if is_whole else FLOAT_TYPE)
