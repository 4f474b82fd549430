"""The columns of a user's files, in their order, and names for the columns that bemps adds."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from pathlib import Path
from typing import Any

from bemps.data import Table
from bemps.errors import InputError
from bemps.store import Item
from bemps.store.item_rows import as_json
from bemps.store.project_settings import ProjectSettings

TEXT, WHOLE, NUMBER, TRUTH, ANY = "text", "int64", "float64", "bool", "any"
TIME, LABEL = "time", "label"  # the types of two columns of ours
FIGURES = "figures"  # texts, each of which a spreadsheet would write for a number
DATES = "dates"  # texts, each of which a spreadsheet would write for a date or a time of a day
AS_TEXTS = frozenset({TEXT, FIGURES, DATES})
FIRST_DAY = datetime(1900, 3, 1)  # spreadsheets disagree about the days before
FIGURE = re.compile(r"0|-?[1-9]\d{0,14}|-?\d+\.\d+")
DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
PREFIX = "bemps_"
PREDICTED = ("probability", "human", "answered", "final")  # what only predictions have
OURS = ("id", "text", "image", "label", "annotator", "time", "kind", "note", "method")  # what an import knows as ours


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        The name of the column.
    type : str
        One of text, figures (texts that are numbers), dates (texts that are dates), int64, float64, bool, any (JSON),
        time and label.
    same : str
        The part of an item that its values are: id, content, or neither ("").
    """

    name: str
    type: str = TEXT
    same: str = ""

    def value(self, item: Item, columns: Mapping[str, Any]) -> Any:
        """Return the value of an item in this column. `columns` are those of its row."""
        if self.name not in columns and self.same:
            return item.id if self.same == "id" else item.content
        return columns.get(self.name)


def columns_of_table(table: Table, contents: Sequence[str]) -> list[Column]:
    """Return the columns of the file that a table came from."""
    return [
        Column(name, _type(values), _same(name, values, table.ids, contents)) for name, values in table.columns.items()
    ]


def columns_of_values(columns: Mapping[str, Sequence[Any]]) -> list[Column]:
    """Return columns from values by name."""
    return [Column(name, _type(values)) for name, values in columns.items()]


def _same(name: str, values: Sequence[Any], ids: Sequence[str], contents: Sequence[str]) -> str:
    """Only columns that are called as ours are can take their places."""
    if name == "id" and all(isinstance(v, str | int) and str(v) == id for v, id in zip(values, ids, strict=True)):
        return "id"
    if name in {"text", "image"} and all(v == content for v, content in zip(values, contents, strict=True)):
        return "content"
    return ""


def _type(values: Sequence[Any]) -> str:
    """The narrowest type that holds all values."""
    kinds = {_kind(as_json(value)) for value in values} - {type(None)}
    if kinds <= {str}:
        texts = [value for value in values if value]
        return (
            FIGURES if texts and all(map(is_figure, texts)) else DATES if texts and all(map(as_date, texts)) else TEXT
        )
    for type_, members in ((TRUTH, {bool}), (WHOLE, {int}), (NUMBER, {int, float})):
        if kinds <= members:
            return type_
    return ANY


def is_figure(value: object) -> bool:
    """Whether a value is a text that comes back when a spreadsheet reads it as a number: not `007`, nor `1.50`."""
    return isinstance(value, str) and FIGURE.fullmatch(value) is not None and f"{float(value):.15g}" == value


def as_date(value: object) -> datetime | None:
    """Return the date of a text that comes back when a spreadsheet reads it as a date; None for other values."""
    if not isinstance(value, str) or DATE.fullmatch(value) is None:
        return None
    try:
        date = datetime.fromisoformat(value)
    except ValueError:  # such as 2026-02-30
        return None
    is_same = date.time() != time.min or len(value) == len("2026-01-31")  # a day at midnight is read without its time
    return date if is_same and date >= FIRST_DAY else None


def _kind(value: object) -> type:
    return object if type(value) is int and not -(2**63) <= value < 2**63 else type(value)


def merged_columns(before: Iterable[Column], new: Iterable[Column]) -> list[Column]:
    """Merge the columns of several files: those of the first file come first, and types that differ widen."""
    columns = {column.name: column for column in before}
    for column in new:
        columns[column.name] = _wider(columns.get(column.name, column), column)
    return list(columns.values())


def _wider(first: Column, other: Column) -> Column:
    types = {first.type, other.type}
    numbers = NUMBER if types == {WHOLE, NUMBER} else ANY
    wide = first.type if len(types) == 1 else TEXT if types <= AS_TEXTS else numbers
    return replace(first, type=wide, same=first.same if first.same == other.same else "")


def columns_from_settings(settings: ProjectSettings) -> list[Column]:
    """Return the columns that are stored in the settings of a project."""
    return [Column(*column) for column in settings.columns or ()]


def with_columns(settings: ProjectSettings, new: Iterable[Column]) -> ProjectSettings:
    """Return the settings with the columns of one more file."""
    return replace(
        settings, columns=tuple((c.name, c.type, c.same) for c in merged_columns(columns_from_settings(settings), new))
    )


def with_source(settings: ProjectSettings, source: Path | None) -> ProjectSettings:
    """Return the settings with one more source file. No output may replace it."""
    new = () if source is None else (str(source.resolve()),)
    return replace(settings, sources=tuple(dict.fromkeys((*settings.sources, *new))))


def own_columns(ours: Sequence[Column], theirs: Sequence[Column], reserved: Iterable[str] = ()) -> dict[str, Column]:
    """Name the columns that bemps adds, so that no name of the user's columns is used twice.

    A column of the user with the id or the content under our name replaces ours. If any other name is used already, all
    of ours begin with `bemps_`: a reader can tell them apart.

    Parameters
    ----------
    ours : sequence of Column
        The columns to add, in order.
    theirs : sequence of Column
        The columns of the user's files.
    reserved : iterable of str
        Further names of ours, which are not always written.

    Returns
    -------
    dict of str to Column
        The columns by their names without prefix.
    """
    shared = {column.name for column in theirs if column.same}
    names = {column.name for column in theirs}
    added = [column for column in ours if column.name not in shared]
    prefix = "" if not (({column.name for column in ours} | set(reserved)) - shared) & names else PREFIX
    while prefix and any(prefix + column.name in names for column in added):
        prefix += PREFIX
    return {column.name: replace(column, name=prefix + column.name) for column in added}


def own_fields(names: Iterable[str]) -> dict[str, str]:
    """Return which columns of a file bemps has added, by the names that an import reads them under."""
    available = set(names)
    prefix = ""
    while prefix + PREFIX + "label" in available:
        prefix += PREFIX
    fields = {name: prefix + name for name in OURS if prefix + name in available}
    if not {"annotator", "time"} <= fields.keys():  # no export of ours: such a column is the user's own
        fields.pop("method", None)
    if not {"text", "image"} & fields.keys():
        fields |= {name: name for name in ("text", "image") if name in available}
    return {"id": "id"} | fields if "id" in available else fields


def answer_columns(names: Iterable[str], where: str) -> dict[str, str]:
    """Return the columns of `own_fields`. Other columns, and predictions of a model, are no answers and are refused."""
    available = list(names)
    ours = own_fields(available)
    if "label" not in ours or not {"id", "text", "image"} & ours.keys():
        got, fix = ", ".join(map(str, available)), "Rename the columns of the labels and the items."
        raise InputError(f"columns of {where}", expected="label, and id or text", got=got, fix=fix)
    refuse_predictions(available, ours["label"], where)
    return ours


def refuse_predictions(names: Iterable[str], label: str, where: str) -> None:
    """Refuse what a model guesses: it is no answer of people. `label` is the name of the column of the labels."""
    prefix = label.removesuffix("label")
    if {prefix + name for name in PREDICTED} <= set(names):
        fix = "Of rows that a person has checked, import the columns id and label alone."
        raise InputError(where, expected="answers of people", got="predictions of a model", fix=fix)


def other_fields(row: Mapping[str, Any], ours: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of a row that are the user's."""
    added = set(ours.values())
    prefixed = ours.get("label", "").startswith(PREFIX)
    return {name: value for name, value in row.items() if name not in added or (prefixed and name in OURS)}
