"""A `Table` from contents, labels and ids: class codes, ids, duplicates.

N  items    K  classes
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Int

from bemps._utils.class_names import class_name
from bemps.data.identity import Items, hashes_of, is_blank, unique_ids
from bemps.data.images import ImageArray, ImageFiles, Images
from bemps.data.table import NO_LABEL, Findings, Table, items_at
from bemps.errors import InputError, parameter, unknown_name

Where = Callable[[Sequence[int]], str]  # names rows in messages: "lines 3, 17"


def table(
    items: Sequence[object] | Images | np.ndarray,
    *,
    labels: Sequence[Any] | np.ndarray | None = None,
    ids: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    duplicates: str = "keep",
) -> Table:
    """Make a `Table` of items in memory.

    Parameters
    ----------
    items : sequence of str, Images, or array
        Texts, `Images`, a uint8 array of images (N, H, W) or (N, H, W, C), or feature rows (N, H).
    labels : sequence, optional
        Class names (or numbers), None or "" where an item has none.
    ids : sequence of str, optional
        Unique names. None takes hashes of the contents.
    classes : sequence of str, optional
        The ordered class names. None takes the names among the labels, in natural order.
    duplicates : {"keep", "drop"}
        What happens to an item whose content an earlier one has.

    Returns
    -------
    Table
        The items with ids, labels and findings.

    Raises
    ------
    InputError
        If lengths differ, a text is empty, an id occurs twice, or a label is none of the classes.
    """
    return build_table(
        as_items(items), labels=labels, ids=ids, classes=classes, duplicates=duplicates, where=_item_numbers
    )


def build_table(
    items: Items,
    *,
    labels: Sequence[Any] | np.ndarray | None,
    ids: Sequence[Any] | None,
    classes: Sequence[str] | None,
    duplicates: str,
    where: Where,
    columns: Mapping[str, list[Any]] = MappingProxyType({}),
) -> Table:
    """Check the parts of a table and join them.

    Parameters
    ----------
    items : Items
        The contents.
    labels : sequence or array, or None
        Class names (or numbers), None or "" if an item has none.
    ids : sequence, or None
        Unique ids. None: hashes of the contents.
    classes : sequence of str, or None
        The ordered class names. None: the names among the labels, in natural order.
    duplicates : {'keep', 'drop'}
        What happens to an item whose content an earlier one has.
    where : callable
        From row numbers to words for messages.
    columns : mapping of str to list
        All columns of the file.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    InputError
        A part is not valid.
    """
    if duplicates not in ("keep", "drop"):
        raise unknown_name("duplicates", duplicates, ["keep", "drop"])
    if not len(items):
        raise InputError("items", expected="at least one", got="none", fix="Is it the right file or folder?")
    if isinstance(items, list):
        _refuse_empty(items, where)
    names, codes = _coded(labels, classes, len(items), where)
    checked_ids = None if ids is None else _checked_ids(ids, len(items), where)
    if checked_ids is not None and isinstance(items, ImageFiles) and duplicates == "keep":
        return Table(checked_ids, items, codes, names, Findings(len(items), None, 0, 0), columns)  # opens no file
    hashes = hashes_of(items)
    rows = np.arange(len(items)) if duplicates == "keep" else _representatives(hashes, codes)
    repeats, dropped = len(items) - len(set(hashes)), len(items) - len(rows)
    named = checked_ids or hashes
    return Table(
        unique_ids(named[row] for row in rows.tolist()),
        items_at(items, rows),
        None if codes is None else codes[rows],
        names,
        Findings(len(items), repeats, dropped, _conflicts(hashes, codes)),
        {name: [values[row] for row in rows.tolist()] for name, values in columns.items()} if dropped else columns,
    )


def as_items(items: Sequence[object] | Images | np.ndarray) -> Items:
    """Convert texts to a list, image arrays to `Images`, feature rows to a finite array."""
    if isinstance(items, Images):
        return items
    if not isinstance(items, np.ndarray):
        texts = [text for text in items if isinstance(text, str)]
        if isinstance(items, str) or len(texts) < len(items):
            raise _not_items(type(items).__name__ + " that holds something else than strings")
        return texts
    if items.dtype == np.uint8 and items.ndim in (3, 4):
        return ImageArray.from_array(items)
    if items.ndim != 2 or items.dtype.kind not in "fiu":
        raise _not_items(f"an array of shape {items.shape} and type {items.dtype}")
    if items.dtype.kind == "f" and not np.isfinite(items).all():
        row = int(np.flatnonzero(~np.isfinite(items).all(axis=1))[0])
        raise InputError("features", expected="finite numbers", got=f"NaN or infinity in row {row}", fix="Repair it.")
    return items


def _not_items(got: str) -> InputError:
    return InputError(
        "items",
        expected="a list of texts, bemps.data images, uint8 images (N, H, W, C) or feature rows (N, H)",
        got=got,
        fix="Convert them first.",
    )


def _item_numbers(rows: Sequence[int]) -> str:
    return f"items {', '.join(map(str, rows[:10]))}" + (f" and {len(rows) - 10:,} more" if len(rows) > 10 else "")


def _refuse_empty(texts: list[str], where: Where) -> None:
    empty = [row for row, text in enumerate(texts) if is_blank(text)]
    if empty:
        raise InputError(
            "texts",
            expected="something to read in every row",
            got=f"{len(empty):,} empty: {where(empty)}",
            fix="Remove these rows or fill them in.",
        )


def _checked_ids(ids: Sequence[Any], count: int, where: Where) -> tuple[str, ...]:
    names = tuple("" if name is None else str(name).strip() for name in ids)
    if len(names) != count:
        raise InputError("ids", expected=f"{count:,}", got=f"{len(names):,}", fix="Give one id per item.")
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise InputError("ids", expected="an id in every row", got=f"none at {where([row])}", fix="Fill it in.")
        if seen.setdefault(name, row) != row:
            raise InputError(
                "ids",
                expected="every id once",
                got=f"{name!r} at {where([seen[name], row])}",
                fix="Make the ids unique, or leave "
                + (parameter("id") or "them")
                + " out: ids are then content hashes.",
            )
    return names


def _coded(
    labels: Sequence[Any] | np.ndarray | None, classes: Sequence[str] | None, count: int, where: Where
) -> tuple[tuple[str, ...], Int[np.ndarray, " N"] | None]:
    """The ordered class names and the code of every label."""
    names = None if classes is None else _checked_classes(classes)
    if labels is None:
        return names or (), None
    if len(labels) != count:
        raise InputError("labels", expected=f"{count:,}", got=f"{len(labels):,}", fix="Give one label per item.")
    words = [
        class_name(label.strip()) if isinstance(label, str) else _class_name(label, row, where)
        for row, label in enumerate(labels)
    ]
    names = names or natural_order({word for word in words if word})
    code_of = {name: code for code, name in enumerate(names)} | {"": NO_LABEL}
    for row, word in enumerate(words):
        if word not in code_of:
            raise unknown_name(
                f"label at {where([row])}",
                word,
                names,
                f"Correct it, or add it to {parameter('classes') or 'the classes'}.",
            )
    return names, np.array([code_of[word] for word in words], dtype=np.int64)


def _checked_classes(classes: Sequence[str]) -> tuple[str, ...]:
    names = tuple(class_name(str(name).strip()) for name in classes)
    if isinstance(classes, str) or len(set(names)) < max(len(names), 2) or "" in names:
        raise InputError("classes", expected="at least two different names", got=repr(classes), fix="Correct them.")
    return names


def _class_name(label: Any, row: int, where: Where) -> str:
    """A label that is no string as a class name; "" for none. A column of integers with gaps arrives as floats."""
    if label is None:
        return ""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float):
        if math.isnan(label):
            return ""
        label = int(label) if label.is_integer() else label
    if not isinstance(label, str | int):  # NumPy strings arrive here as well
        raise InputError(
            f"label at {where([row])}",
            expected="a class name or a whole number",
            got=repr(label)[:60],
            fix="bemps labels each item with one class.",
        )
    return str(label).strip()


def natural_order(names: set[str]) -> tuple[str, ...]:
    """Sort names: by value if every name is a whole number (10 follows 9), else alphabetically."""
    if all(name.removeprefix("-").isdecimal() for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def _conflicts(hashes: list[str], codes: Int[np.ndarray, " N"] | None) -> int:
    """How many contents carry more than one label."""
    if codes is None or len(set(hashes)) == len(hashes):
        return 0
    pairs = {(digest, code) for digest, code in zip(hashes, codes.tolist(), strict=True) if code != NO_LABEL}
    return sum(labels > 1 for labels in Counter(digest for digest, _ in pairs).values())


def _representatives(hashes: list[str], codes: Int[np.ndarray, " N"] | None) -> Int[np.ndarray, " _"]:
    """One row per content: its first that has a label, else its first."""
    labelled = [True] * len(hashes) if codes is None else (codes != NO_LABEL).tolist()
    first_rows: dict[str, int] = {}
    for row, digest in enumerate(hashes):
        if digest not in first_rows or (labelled[row] and not labelled[first_rows[digest]]):
            first_rows[digest] = row
    return np.array(sorted(first_rows.values()))
