"""Conversion between columns of Parquet and arrays."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from jaxtyping import Float

from bemps.errors import InputError
from bemps.models.base import Items
from bemps.types import Array

PROBS = "probs"
# probabilities do not compress; checksums find a flipped bit, which else would be just another number
WRITING = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
_LISTS = (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)


def probabilities(column: pa.Array, where: str) -> Float[Array, "E n K"]:
    """Convert lists of E lists of K numbers to an array (E, n, K)."""
    members = _inner(column, where)
    classes = _inner(members, where)
    if isinstance(classes, _LISTS):
        raise _not_nested(where, f"a column of type {column.type}")
    n, E, K = len(column), _width(column, where), _width(members, where)
    flat = classes.to_numpy(zero_copy_only=False)
    if flat.dtype == np.float16:
        flat = flat.astype(np.float32)
    return np.ascontiguousarray(flat.reshape(n, E, K).transpose(1, 0, 2))


def _inner(column: pa.Array, where: str) -> pa.Array:
    if not isinstance(column, _LISTS) or column.null_count:
        raise _not_nested(where, f"a column of type {column.type} with {column.null_count} empty rows")
    return column.flatten()


def _width(column: pa.Array, where: str) -> int:
    if isinstance(column, pa.FixedSizeListArray):
        return int(column.type.list_size)
    lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1:
        raise _not_nested(where, f"lists of {', '.join(str(length) for length in lengths[:3])} entries")
    return int(lengths[0])


def _not_nested(where: str, got: str) -> InputError:
    return InputError(
        where,
        expected="for each item a list of E lists of K probabilities, E and K the same everywhere",
        got=got,
        fix="Write probs[:, i].tolist() for item i, or use bemps.distributed.write_shard.",
    )


def as_column(probs: Float[Array, "E n K"]) -> pa.Array:
    """Convert an array (E, n, K) to fixed-size lists of fixed-size lists."""
    E, _, K = probs.shape
    flat = pa.array(np.ascontiguousarray(probs.transpose(1, 0, 2)).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(flat, K), E)


def items_of(batch: pa.RecordBatch, names: Sequence[str], where: str) -> Items:
    """Convert columns to items for a model: texts, rows of numbers from a column of lists, or from several columns.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        The rows.
    names : sequence of str
        The columns.
    where : str
        The name of the shard in messages.

    Returns
    -------
    Items
        The items.
    """
    columns = [batch.column(name) for name in names]
    empty = sum(column.null_count for column in columns)
    if empty:
        raise InputError(where, expected="an item in every row", got=f"{empty} empty", fix="Fill or remove them.")
    if len(columns) == 1 and isinstance(columns[0], pa.StringArray | pa.LargeStringArray):
        texts: list[str] = columns[0].to_pylist()
        return texts
    if len(columns) == 1 and isinstance(columns[0], _LISTS):
        flat = columns[0].flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(columns[0]), _width(columns[0], where))
    rows = [column.to_numpy(zero_copy_only=False) for column in columns]
    return rows[0] if len(rows) == 1 else np.stack(rows, axis=1)
