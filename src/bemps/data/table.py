"""Items with stable ids: `Table`, and `Dataset` = a pool to label from and a test set to measure on.

N  rows    K  classes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from bemps.data.identity import Items
from bemps.data.images import Images
from bemps.errors import InputError, unknown_name

NO_LABEL = -1
Kind = Literal["text", "image", "array"]
Labels = Int[np.ndarray, " N"]
Index = int | slice | Int[np.ndarray, " _"] | Bool[np.ndarray, " N"]


@dataclass(frozen=True)
class Findings:
    """What was found while reading a file.

    rows         rows read
    duplicates   rows whose content stood in an earlier row; None where contents were not read
    dropped      duplicates that were left out
    conflicting  contents that carry more than one label
    empty        rows of a file that were left out, as there was nothing to read in them
    left_out     columns of a file that could not be kept: bytes, and names that stand twice
    """

    rows: int
    duplicates: int | None
    dropped: int
    conflicting: int
    empty: int = 0
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        empty = f", {self.empty:,} empty rows left out" if self.empty else ""
        columns = f", without the columns {', '.join(map(repr, self.left_out))}" if self.left_out else ""
        if self.duplicates is None:
            return f"{self.rows:,} rows, duplicates not looked for{empty}{columns}"
        fate = "dropped" if self.dropped else "kept"
        conflicts = f", {self.conflicting:,} with more than one label" if self.conflicting else ""
        return f"{self.rows:,} rows, {self.duplicates:,} duplicates ({fate}){conflicts}{empty}{columns}"


@dataclass(frozen=True, eq=False)
class Table:
    """N items in order.

    ids      unique and stable: the given ones or content hashes, never row positions
    items    what a model sees: a list of texts, lazy `Images`, or an array of feature rows
    labels   (N,) codes into `classes`, NO_LABEL (-1) where a row has none; None when no row has one
    classes  the ordered names
    found    what reading the file brought to light; None for a slice
    columns  every column of the file in its order, each with a value for every row
    source   the file that it was read from
    """

    ids: tuple[str, ...]
    items: Items
    labels: Labels | None = None
    classes: tuple[str, ...] = ()
    found: Findings | None = None
    columns: Mapping[str, list[Any]] = field(default_factory=lambda: MappingProxyType({}))
    source: Path | None = None

    def __post_init__(self) -> None:
        lengths = {"ids": len(self.ids), "items": len(self.items)}
        lengths |= {f"column {name!r}": len(values) for name, values in self.columns.items()}
        if self.labels is not None:
            lengths["labels"] = len(self.labels)
        if len(set(lengths.values())) > 1:
            raise InputError("table", expected="one length", got=str(lengths), fix="Give one of each per item.")
        if self.labels is not None:
            frozen = self.labels.view()
            frozen.flags.writeable = False
            object.__setattr__(self, "labels", frozen)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        labelled = 0 if self.labels is None else int((self.labels != NO_LABEL).sum())
        return f"Table({len(self)} items of kind {self.kind}, {labelled} labels of {len(self.classes)} classes)"

    @property
    def kind(self) -> Kind:
        if isinstance(self.items, list):
            return "text"
        return "image" if isinstance(self.items, Images) else "array"

    def __getitem__(self, index: Index) -> Table:
        """A table of these rows, by position(s), mask or slice; texts and images are shared, feature rows copied."""
        rows = np.atleast_1d(np.arange(len(self))[index])
        chosen = rows.tolist()
        return Table(
            tuple(self.ids[i] for i in chosen),
            taken(self.items, rows),
            None if self.labels is None else self.labels[rows],
            self.classes,
            columns={name: [values[row] for row in chosen] for name, values in self.columns.items()},
            source=self.source,
        )

    @cached_property
    def _rows_by_id(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def positions(self, ids: Iterable[str]) -> Int[np.ndarray, " _"]:
        """The row of each id, in the order asked."""
        wanted = list(ids)
        for name in wanted:
            if name not in self._rows_by_id:
                raise InputError(
                    "id",
                    expected=f"one of the {len(self):,} ids of this table",
                    got=repr(name),
                    fix="Was the file changed since the id was noted?",
                )
        return np.array([self._rows_by_id[name] for name in wanted], dtype=np.int64)

    @cached_property
    def by_id(self) -> Int[np.ndarray, " N"]:
        """The rows in the order of their ids: an order that does not depend on the file's."""
        return np.array(sorted(range(len(self)), key=self.ids.__getitem__), dtype=np.int64)

    def labelled(self) -> Int[np.ndarray, " _"]:
        """The rows that have a label."""
        return np.flatnonzero(self.labels != NO_LABEL) if self.labels is not None else np.arange(0)

    def recoded(self, classes: tuple[str, ...]) -> Table:
        """The same rows with label codes into `classes`, which must hold every class in use."""
        if classes == self.classes or self.labels is None:
            return replace(self, classes=classes)
        codes = np.full(len(self.classes) + 1, NO_LABEL)
        for code in np.unique(self.labels[self.labels != NO_LABEL]):
            if self.classes[code] not in classes:
                raise unknown_name("class", self.classes[code], classes)
            codes[code] = classes.index(self.classes[code])
        return replace(self, labels=codes[self.labels], classes=classes)

    def __str__(self) -> str:
        noun = {"text": "texts", "image": "images", "array": "feature rows"}[self.kind]
        labels = f", {len(self.labelled()):,} labelled" if self.labels is not None else ""
        found = f"; {self.found}" if self.found else ""
        return f"{len(self):,} {noun}, {len(self.classes)} classes{labels}{found}"


def taken(items: Items, rows: Int[np.ndarray, " _"]) -> Items:
    """The items at these rows."""
    if isinstance(items, list):
        return [items[i] for i in rows.tolist()]
    return items.take(rows) if isinstance(items, Images) else items[rows]


@dataclass(frozen=True)
class Removed:
    """Rows left out because their content stands in the test set; `contents` counts each content once."""

    rows: int
    contents: int


@dataclass(frozen=True, eq=False)
class Dataset:
    """A pool to label from, a test set, a dev set where one is published.

    removed  by part ("pool", "dev"): what also stood in the test set and was left out
    source   where it came from: a layout of files, a hub name, or a package
    notes    what a report must say (an incomplete pool, a sample of the published set)
    """

    name: str
    pool: Table
    test: Table
    dev: Table | None = None
    removed: Mapping[str, Removed] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return self.pool.kind

    @property
    def classes(self) -> tuple[str, ...]:
        return self.pool.classes

    def __str__(self) -> str:
        parts = {"pool": self.pool, "test": self.test} | ({"dev": self.dev} if self.dev is not None else {})
        sizes = ", ".join(f"{part} {len(table):,}" for part, table in parts.items())
        return "; ".join([f"{self.name}: {self.kind}, {len(self.classes)} classes, {sizes}", *self.notes])
