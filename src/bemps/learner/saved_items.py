"""Items of a saved learner: how each kind is written, and read again as the same kind."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from bemps.data import ImageFiles
from bemps.errors import InputError
from bemps.learner.descriptions import NotDescribable, Writing
from bemps.learner.rebuilding import Reading

PLAIN_COLUMNS = ("object", "str", "string")  # types of text columns in a DataFrame
_PARTS = ("data", "indices", "indptr")


def describe_items(items: Any, writing: Writing) -> dict[str, Any]:
    """The items as JSON, their numbers among the arrays of `writing`."""
    if isinstance(items, np.ndarray):
        return _described_array(items, writing)
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return {"kind": "texts", "texts": items}
    if isinstance(items, ImageFiles):
        return {"kind": "images", "paths": list(items.paths), "mode": items.mode}
    if hasattr(items, "tocsr"):
        parts = {part: writing.array(getattr(items, part), part) for part in _PARTS}
        return {"kind": "sparse", **parts, "columns": int(items.shape[1])}
    if hasattr(items, "iloc"):
        columns = [_described_column(name, column, writing) for name, column in items.items()]
        return {"kind": "frame", "columns": columns}
    raise _cannot(f"a {type(items).__name__}")


def _described_array(items: np.ndarray, writing: Writing) -> dict[str, Any]:
    if items.dtype.kind != "O":
        writing.arrays["items.npy"] = items
        return {"kind": "array"}
    return {"kind": "table", "rows": writing.describe(items.tolist(), "items")}


def _described_column(name: Any, column: Any, writing: Writing) -> dict[str, Any]:
    kind = str(column.dtype)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        values = writing.array(column.to_numpy(), str(name))
    elif kind in PLAIN_COLUMNS:
        values = writing.describe([None if value is None else value for value in column.tolist()], f"items[{name!r}]")
    elif kind == "category":
        values = writing.array(np.asarray(column.cat.codes), str(name))
        groups = writing.describe(column.cat.categories.tolist(), f"items[{name!r}]")
        return {"name": writing.describe(name, "items"), "codes": values, "groups": groups}
    else:
        raise _cannot(f"a column {name!r} of type {kind}")
    return {"name": writing.describe(name, "items"), "values": values, "type": kind}


def _cannot(got: str) -> NotDescribable:
    return NotDescribable(
        "save",
        expected="items that can be written down: texts, numbers, or a pandas DataFrame of both",
        got=got,
        fix="Convert them before the learner is made, for example with to_numpy() or to_pandas().",
    )


def rebuild_items(state: Any, reading: Reading) -> Any:
    """The items of a description."""
    kind = state.get("kind") if isinstance(state, dict) else None
    if not isinstance(kind, str) or kind not in _REBUILDERS:
        raise _bad(f"items of kind {kind!r}"[:80])
    try:
        return _REBUILDERS[kind](state, reading)
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        if isinstance(cause, InputError):
            raise
        raise _bad(f"items that are damaged: {cause}"[:200]) from cause


def _bad(got: str) -> InputError:
    fix = "The folder is damaged or was not written by bemps."
    return InputError("saved learner", expected="items in one of the known forms", got=got, fix=fix)


def _texts(state: Any, reading: Reading) -> Any:
    texts = state["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _bad("texts that are none")
    return texts


def _table(state: Any, reading: Reading) -> Any:
    rows = reading.rebuild(state["rows"])
    if not isinstance(rows, list) or len({len(row) for row in rows}) > 1:
        raise _bad("a table of rows of different lengths")
    table = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for number, row in enumerate(rows):
        table[number] = row
    return table


def _images(state: Any, reading: Reading) -> Any:
    paths = state["paths"]
    if not all(isinstance(path, str) for path in paths) or state["mode"] not in ("RGB", "L"):
        raise _bad("paths that are none")
    return ImageFiles(tuple(paths), state["mode"])


def _sparse(state: Any, reading: Reading) -> Any:
    from scipy.sparse import csr_array

    data, indices, indptr = (reading.rebuild(state[part]) for part in _PARTS)
    matrix = csr_array((data, indices, indptr), shape=(len(indptr) - 1, state["columns"]))
    matrix.check_format(full_check=True)
    return matrix


def _frame(state: Any, reading: Reading) -> Any:
    pandas = import_module("pandas")
    columns = [_column(column, reading) for column in state["columns"]]
    frame = pandas.concat(columns, axis=1) if columns else pandas.DataFrame()
    frame.columns = [reading.rebuild(column["name"]) for column in state["columns"]]
    return frame


def _column(state: Any, reading: Reading) -> Any:
    pandas = import_module("pandas")
    if "codes" in state:
        groups = reading.rebuild(state["groups"])
        return pandas.Series(pandas.Categorical.from_codes(reading.rebuild(state["codes"]), groups))
    kind = state["type"]
    return pandas.Series(reading.rebuild(state["values"]), dtype=kind if kind in PLAIN_COLUMNS else None)


_REBUILDERS: dict[str, Callable[[Any, Reading], Any]] = {
    "array": lambda state, reading: reading.array("items.npy"),
    "texts": _texts,
    "table": _table,
    "images": _images,
    "sparse": _sparse,
    "frame": _frame,
}
