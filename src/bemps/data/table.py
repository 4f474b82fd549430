"""`Table`: items with stable ids. `Dataset`: a pool to label from, and a test set.

N  rows    K  classes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from bemps.data.identity import Items
from bemps.data.images import Images
from bemps.errors import InputError, unknown_name

NO_LABEL = -1
MOST_ENDINGS, LONGEST_ENDING = 5, 20  # that are named
Kind = Literal["text", "image", "array"]
Labels = Int[np.ndarray, " N"]
Index = int | slice | Int[np.ndarray, " _"] | Bool[np.ndarray, " N"]


@dataclass(frozen=True)
class Findings:
    """Counts of what reading a file showed.

    Attributes
    ----------
    rows : int
        Rows with content.
    duplicates : int or None
        Rows whose content an earlier row has; None where contents were not read.
    dropped : int
        Duplicates that were left out.
    conflicting : int
        Contents with more than one label.
    empty : int
        Rows that were left out because they have no content.
    left_out : tuple of str
        Columns that could not be kept: columns of bytes, and names that occur twice.
    other_files : tuple of str
        Files of a folder that are not among its items.
    other_sheets : tuple of str
        Sheets of a workbook that have rows and were not read.
    """

    rows: int
    duplicates: int | None
    dropped: int
    conflicting: int
    empty: int = 0
    left_out: tuple[str, ...] = ()
    other_files: tuple[str, ...] = ()
    other_sheets: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = f"{self.rows + self.empty:,} rows"
        rows += f", {self.empty:,} of them empty and left out" if self.empty else ""
        if self.duplicates is None:
            return f"{rows}{self._without()}"
        fate = "dropped" if self.dropped else "kept"
        conflicts = f", {self.conflicting:,} with more than one label" if self.conflicting else ""
        return f"{rows}, {self.duplicates:,} duplicates ({fate}){conflicts}{self._without()}"

    def _without(self) -> str:
        columns = f", without the columns {', '.join(map(repr, self.left_out))}" if self.left_out else ""
        sheets = f", without the sheets {', '.join(map(repr, self.other_sheets))}" if self.other_sheets else ""
        files = f", without files of other kinds: {ending_words(endings_of(self.other_files))}"
        return f"{columns}{sheets}{files if self.other_files else ''}"


def endings_of(names: Iterable[str]) -> Counter[str]:
    """How many files have each ending."""
    return Counter(PurePosixPath(name).suffix.lower() for name in names)


def ending_words(endings: Mapping[str, int]) -> str:
    """`3 .pdf, 1 .docx, 1 without an ending`: the most frequent first, and only some where there are many."""
    ordered = sorted(endings.items(), key=lambda pair: (-pair[1], pair[0]))
    words = [f"{count:,} {ending[:LONGEST_ENDING] or 'without an ending'}" for ending, count in ordered[:MOST_ENDINGS]]
    others = sum(count for _, count in ordered[MOST_ENDINGS:])
    return ", ".join(words + ([f"{others:,} more"] if others else []))


@dataclass(frozen=True)
class EmptyRow:
    """A row of a file with no content: its columns, and the number of rows of the table before it."""

    before: int
    columns: Mapping[str, Any]


def empty_rows(columns: Mapping[str, Sequence[Any]], filled: Sequence[int]) -> tuple[EmptyRow, ...]:
    """Return the rows of these columns that are not filled, each with the number of filled ones before it."""
    empty = sorted(set(range(max(map(len, columns.values()), default=0))) - set(filled))
    return tuple(
        EmptyRow(row - number, {name: values[row] for name, values in columns.items()})
        for number, row in enumerate(empty)
    )


@dataclass(frozen=True, eq=False)
class Table:
    """N items in order.

    Attributes
    ----------
    ids : tuple of str
        Unique and stable: ids of the user or content hashes, never row positions.
    items : list of str, Images, or array (N, H)
        The contents: texts, lazy `Images`, or feature rows.
    labels : array (N,) of int, or None
        Codes into `classes`, NO_LABEL (-1) where a row has none; None when no row has one.
    classes : tuple of str
        The ordered class names.
    findings : Findings or None
        Counts of what reading the file showed; None for a slice.
    columns : mapping of str to list
        Every column of the file in its order, each with a value for every row.
    source : Path or None
        The file that the table was read from.
    empty : tuple of EmptyRow
        Rows of the file that are not in the table; none are known where duplicates were dropped.
    read_with : mapping of str to object
        The columns and the encoding that `bemps.data.read` was called with, by parameter.
    """

    ids: tuple[str, ...]
    items: Items
    labels: Labels | None = None
    classes: tuple[str, ...] = ()
    findings: Findings | None = None
    columns: Mapping[str, list[Any]] = field(default_factory=lambda: MappingProxyType({}))
    source: Path | None = None
    empty: tuple[EmptyRow, ...] = ()
    read_with: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

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
        """`text`, `image` or `array`."""
        if isinstance(self.items, list):
            return "text"
        return "image" if isinstance(self.items, Images) else "array"

    def __getitem__(self, index: Index) -> Table:
        """Select rows by position(s), mask or slice; texts and images are shared, feature rows copied."""
        rows = np.atleast_1d(np.arange(len(self))[index])
        positions = rows.tolist()
        return Table(
            tuple(self.ids[i] for i in positions),
            items_at(self.items, rows),
            None if self.labels is None else self.labels[rows],
            self.classes,
            columns={name: [values[row] for row in positions] for name, values in self.columns.items()},
            source=self.source,
            read_with=self.read_with,
        )

    @cached_property
    def _rows_by_id(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def positions(self, ids: Iterable[str]) -> Int[np.ndarray, " _"]:
        """The row of each id.

        Parameters
        ----------
        ids : iterable of str
            Ids of this table; others are refused.

        Returns
        -------
        array of int
            Row numbers, in the order of `ids`.
        """
        names = list(ids)
        for name in names:
            if name not in self._rows_by_id:
                raise InputError(
                    "id",
                    expected=f"one of the {len(self):,} ids of this table",
                    got=repr(name),
                    fix="Was the file changed since the id was noted?",
                )
        return np.array([self._rows_by_id[name] for name in names], dtype=np.int64)

    @cached_property
    def by_id(self) -> Int[np.ndarray, " N"]:
        """The rows in the order of their ids, which does not depend on the order of the file."""
        return np.array(sorted(range(len(self)), key=self.ids.__getitem__), dtype=np.int64)

    def labelled(self) -> Int[np.ndarray, " _"]:
        """Return the rows that have a label."""
        return np.flatnonzero(self.labels != NO_LABEL) if self.labels is not None else np.arange(0)

    def recoded(self, classes: tuple[str, ...]) -> Table:
        """Return the same rows with label codes into `classes`, which must contain every class in use."""
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
        findings = f"; {self.findings}" if self.findings else ""
        return f"{len(self):,} {noun}, {len(self.classes)} classes{labels}{findings}"


def items_at(items: Items, rows: Int[np.ndarray, " _"]) -> Items:
    """The items at these rows."""
    if isinstance(items, list):
        return [items[i] for i in rows.tolist()]
    return items.take(rows) if isinstance(items, Images) else items[rows]


@dataclass(frozen=True)
class Removed:
    """Rows that were left out because the test set has their content.

    Attributes
    ----------
    rows : int
        The number of rows.
    contents : int
        The number of different contents.
    """

    rows: int
    contents: int


@dataclass(frozen=True, eq=False)
class Dataset:
    """A pool to label from and a test set.

    Attributes
    ----------
    name : str
        The name of the dataset.
    pool, test : Table
        The items to label from, and those to measure on.
    dev : Table or None
        The dev set, where one is published.
    removed : mapping of str to Removed
        For "pool" and "dev", the rows that were left out because the test set has their content.
    source : str
        The origin: a layout of files, a hub name, or a package.
    notes : tuple of str
        Facts that a report must state (an incomplete pool, a sample of the published set).
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
        """`text`, `image` or `array`."""
        return self.pool.kind

    @property
    def classes(self) -> tuple[str, ...]:
        """The ordered class names."""
        return self.pool.classes

    def __str__(self) -> str:
        parts = {"pool": self.pool, "test": self.test} | ({"dev": self.dev} if self.dev is not None else {})
        sizes = ", ".join(f"{part} {len(table):,}" for part, table in parts.items())
        return "; ".join([f"{self.name}: {self.kind}, {len(self.classes)} classes, {sizes}", *self.notes])
