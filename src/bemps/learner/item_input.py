"""Items of any container, converted to a form that can be indexed by position."""

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from bemps.data import Images
from bemps.errors import InputError
from bemps.models.base import Items
from bemps.types import Array

_FIX = "Give a list of texts, a numeric array, a DataFrame or a sparse matrix with one row for each item."


def checked_items(items: Any) -> Items:
    """Convert items to a form that can be indexed by position.

    Parameters
    ----------
    items : sequence or array
        Texts in a list, a tuple, an array or a Series; rows of an array, a DataFrame or a sparse matrix; images.

    Returns
    -------
    Items
        A list of texts, an array, a DataFrame, a sparse matrix of compressed rows, or images.

    Raises
    ------
    InputError
        There is no such form, or a text is missing. The message says where.
    """
    if hasattr(items, "tocsr"):
        return cast(Items, items.tocsr())
    if isinstance(items, str | bytes | dict | set | frozenset) or items is None:
        raise InputError("items", expected="several items in an order", got=_words(items), fix=_FIX)
    if np.ma.is_masked(items):
        fix = "Drop these items, or fill the gaps with .filled(value)."
        raise InputError("items", expected="items without gaps", got="a masked array with masked entries", fix=fix)
    if isinstance(items, Images) or _is_frame(items):
        return cast(Items, items)
    return _from_array(_array_of(items)) if _is_column(items) else _from_sequence(items)


def _words(items: object) -> str:
    return "nothing" if items is None else f"a {type(items).__name__}"


def _is_frame(items: Any) -> bool:
    return hasattr(items, "columns") and hasattr(items, "shape")


def _is_column(items: Any) -> bool:
    """An array, a Series or a tensor."""
    return isinstance(items, np.ndarray) or hasattr(items, "to_numpy") or hasattr(items, "detach")


def _array_of(items: Any) -> Array:
    if hasattr(items, "detach"):
        items = items.detach().cpu()
    values = np.asarray(items.to_numpy() if hasattr(items, "to_numpy") else items)
    if values.ndim == 0:
        raise InputError("items", expected="one row for each item", got="a single value", fix=_FIX)
    return values


def _from_array(values: Array) -> Items:
    """Numbers as they are; texts as a list; several columns of other things as a table of objects."""
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind not in "OUST":
        raise InputError("items", expected="texts or numbers", got=f"dtype {values.dtype}", fix=_FIX)
    return _from_sequence(values.tolist()) if values.ndim == 1 else values.astype(object)


def _from_sequence(items: Any) -> Items:
    if not (hasattr(items, "__len__") and hasattr(items, "__getitem__")):
        raise InputError("items", expected="several items in an order", got=_words(items), fix=_FIX)
    values = items if isinstance(items, list) else list(items)
    texts = sum(isinstance(value, str) for value in values)
    _refuse_gaps(values, bool(texts))
    if texts or not values:
        return values
    return _rows_of_numbers(values)


def _refuse_gaps(values: Sequence[Any], texts: bool) -> None:
    for position, value in enumerate(values):
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        if missing or (texts and not isinstance(value, str)):
            raise InputError(
                "items",
                expected="a text for every item" if texts else "an item at every position",
                got=f"{value!r} at position {position}",
                fix="Leave such items out, or give them a text.",
            )


def _rows_of_numbers(values: list[Any]) -> Items:
    """A list of rows of numbers as an array; other objects stay in their list, for models that take them."""
    if all(isinstance(value, list | tuple | int | float | np.number | np.ndarray) for value in values):
        try:
            rows = np.asarray(values)
        except ValueError:
            got, fix = "rows of different lengths", "Give every row as many numbers, or each item as a text."
            raise InputError("items", expected="rows of one length", got=got, fix=fix) from None
        if rows.dtype.kind in "fiub":
            return rows
    return values
