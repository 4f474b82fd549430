"""Items of a saved learner: how each kind is written, and read again as the same kind.

The columns of a DataFrame are written one by one: numbers as an array, texts as JSON, categories as codes, times as
counts of their unit, nullable numbers as values and a mask.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from bemps.data import ImageFiles
from bemps.errors import InputError
from bemps.learner.saving.descriptions import DescriptionWriter, NotDescribable
from bemps.learner.saving.rebuilding import DescriptionReader
from bemps.types import Array

PLAIN_COLUMNS = ("object", "str", "string")  # types of text columns in a DataFrame
NULLABLE = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|boolean")
TIMES = re.compile(r"(datetime|timedelta)64\[(s|ms|us|ns)(, [A-Za-z0-9_+:/-]{1,60})?\]")
_PARTS = ("data", "indices", "indptr")


def describe_items(items: Any, writer: DescriptionWriter) -> dict[str, Any]:
    """Describe the items as JSON, and check that they can be rebuilt. Their numbers become arrays of `writer`."""
    try:
        described = _described(items, writer)
    except NotDescribable as error:
        raise _cannot(error.got) from error
    again = rebuild_items(described, DescriptionReader(None, lambda name: writer.arrays[name], trusted=True))
    if not _same(items, again):
        raise _cannot(f"a {type(items).__name__} that would come back as another one")
    return described


def _same(items: Any, again: Any) -> bool:
    """Whether items that were written and read are what they were, of the same types."""
    if isinstance(items, np.ndarray):
        return items.dtype == again.dtype and _same_values(items, again)
    if hasattr(items, "tocsr"):
        return items.shape == again.shape and all(_same_values(getattr(items, p), getattr(again, p)) for p in _PARTS)
    if hasattr(items, "iloc"):
        return bool(items.reset_index(drop=True).equals(again))
    return bool(items == again)


def _same_values(values: Array, again: Array) -> bool:
    if values.dtype.kind == "O":
        return repr(values.tolist()) == repr(again.tolist())  # where NaN is like NaN
    return np.array_equal(values, again, equal_nan=values.dtype.kind == "f")


def _described(items: Any, writer: DescriptionWriter) -> dict[str, Any]:
    if isinstance(items, np.ndarray):
        return _described_array(items, writer)
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return {"kind": "texts", "texts": items}
    if isinstance(items, ImageFiles):
        return {"kind": "images", "paths": list(items.paths), "mode": items.mode}
    if hasattr(items, "tocsr"):
        parts = {part: writer.array(getattr(items, part), part) for part in _PARTS}
        return {"kind": "sparse", **parts, "columns": int(items.shape[1])}
    if hasattr(items, "iloc"):
        columns = [_described_column(name, column, writer) for name, column in items.items()]
        return {"kind": "frame", "columns": columns}
    raise _cannot(f"a {type(items).__name__}")


def _described_array(items: np.ndarray, writer: DescriptionWriter) -> dict[str, Any]:
    if items.dtype.kind != "O":
        writer.arrays["items.npy"] = items
        return {"kind": "array"}
    return {"kind": "table", "rows": writer.describe(items.tolist(), "items")}


def _described_column(name: Any, column: Any, writer: DescriptionWriter) -> dict[str, Any]:
    kind = str(column.dtype)
    described = {"name": writer.describe(name, "items"), "type": kind}
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return described | {"values": writer.array(column.to_numpy(), str(name))}
    if kind in PLAIN_COLUMNS:
        return described | {"values": writer.describe(_texts_of(column, kind), f"items[{name!r}]")}
    if kind == "category":
        codes = writer.array(np.asarray(column.cat.codes), str(name))
        groups = writer.describe(column.cat.categories.tolist(), f"items[{name!r}]")
        return described | {"codes": codes, "groups": groups, "ordered": bool(column.cat.ordered)}
    if TIMES.fullmatch(kind):
        return described | {"times": writer.array(_counts(column), str(name))}
    if NULLABLE.fullmatch(kind):
        values = column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0)
        missing = writer.array(column.isna().to_numpy(), str(name))
        return described | {"values": writer.array(values, str(name)), "missing": missing}
    raise _cannot(f"a column {name!r} of type {kind}")


def _texts_of(column: Any, kind: str) -> list[Any]:
    """The values of a column of texts; what is missing is None, where the type of the column says what that means."""
    gaps = column.isna() if kind != "object" else [False] * len(column)
    return [None if gap else value for value, gap in zip(column.tolist(), gaps, strict=True)]


def _counts(column: Any) -> Array:
    """Times as whole numbers of the unit of the column, since 1970 in UTC where they are dates."""
    utc = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column
    return np.asarray(utc.to_numpy()).view(np.int64)


def _cannot(got: str) -> NotDescribable:
    return NotDescribable(
        "save",
        expected="items that can be written down: texts, numbers, or a pandas DataFrame of both",
        got=got,
        fix="Convert them, for example with to_numpy(), to_pandas() or astype(str). Then make a learner of the new "
        "ones and tell it learner.labels.",
    )


def rebuild_items(state: Any, reader: DescriptionReader) -> Any:
    """Rebuild items from their description."""
    kind = state.get("kind") if isinstance(state, dict) else None
    if not isinstance(kind, str) or kind not in _REBUILDERS:
        raise _bad(f"items of kind {kind!r}"[:80])
    try:
        return _REBUILDERS[kind](state, reader)
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        if isinstance(cause, InputError):
            raise
        raise _bad(f"items that are damaged: {cause}"[:200]) from cause


def _bad(got: str) -> InputError:
    fix = "The folder is damaged or was not written by bemps."
    return InputError("saved learner", expected="items in one of the known forms", got=got, fix=fix)


def _texts(state: Any, reader: DescriptionReader) -> Any:
    texts = state["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _bad("texts that are none")
    return texts


def _table(state: Any, reader: DescriptionReader) -> Any:
    rows = reader.rebuild(state["rows"])
    if not isinstance(rows, list) or len({len(row) for row in rows}) > 1:
        raise _bad("a table of rows of different lengths")
    table = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for number, row in enumerate(rows):
        table[number] = row
    return table


def _images(state: Any, reader: DescriptionReader) -> Any:
    paths = state["paths"]
    if not all(isinstance(path, str) for path in paths) or state["mode"] not in ("RGB", "L"):
        raise _bad("paths that are none")
    return ImageFiles(tuple(paths), state["mode"])


def _sparse(state: Any, reader: DescriptionReader) -> Any:
    from scipy.sparse import csr_array

    data, indices, indptr = (reader.rebuild(state[part]) for part in _PARTS)
    matrix = csr_array((data, indices, indptr), shape=(len(indptr) - 1, state["columns"]))
    matrix.check_format(full_check=True)
    return matrix


def _frame(state: Any, reader: DescriptionReader) -> Any:
    pandas = import_module("pandas")
    columns = [_column(column, reader) for column in state["columns"]]
    frame = pandas.concat(columns, axis=1) if columns else pandas.DataFrame()
    frame.columns = [reader.rebuild(column["name"]) for column in state["columns"]]
    return frame


def _column(state: Any, reader: DescriptionReader) -> Any:
    pandas = import_module("pandas")
    if "codes" in state:
        groups, ordered = reader.rebuild(state["groups"]), state.get("ordered") is True
        return pandas.Series(pandas.Categorical.from_codes(reader.rebuild(state["codes"]), groups, ordered=ordered))
    kind = state["type"]
    if "times" in state and TIMES.fullmatch(kind):
        return pandas.Series(reader.rebuild(state["times"])).astype(kind)
    values = reader.rebuild(state["values"])
    if "missing" in state and NULLABLE.fullmatch(kind):
        return pandas.Series(values, dtype=kind).mask(pandas.Series(reader.rebuild(state["missing"])))
    return pandas.Series(values, dtype=kind if kind in PLAIN_COLUMNS else None)


_REBUILDERS: dict[str, Callable[[Any, DescriptionReader], Any]] = {
    "array": lambda state, reader: reader.array("items.npy"),
    "texts": _texts,
    "table": _table,
    "images": _images,
    "sparse": _sparse,
    "frame": _frame,
}
