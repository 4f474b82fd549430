"""The columns of the user's files: kept in their order, with ours beside them under names that are free."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bemps.data import Table
from bemps.store import Item
from bemps.store.rows import as_json

TEXT, WHOLE, NUMBER, TRUTH, ANY = "text", "int64", "float64", "bool", "any"
TIME, LABEL = "time", "label"  # the types of two columns of ours
PREFIX = "bemps_"
OURS = ("id", "text", "image", "label", "annotator", "time", "kind", "note")  # what an import reads


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    name  what it is called
    type  text, int64, float64, bool, any (JSON), time or label
    same  the part of an item that its values are: id, content, or neither ("")
    """

    name: str
    type: str = TEXT
    same: str = ""

    def value(self, item: Item, columns: Mapping[str, Any]) -> Any:
        """What an item has in it; `columns` are those of its row."""
        if self.name not in columns and self.same:
            return item.id if self.same == "id" else item.content
        return columns.get(self.name)


def columns_of(table: Table, contents: Sequence[str]) -> list[Column]:
    """The columns of the file that a table came from."""
    return [
        Column(name, _type(values), _same(name, values, table.ids, contents)) for name, values in table.columns.items()
    ]


def columns_among(columns: Mapping[str, Sequence[Any]]) -> list[Column]:
    """The same of values alone."""
    return [Column(name, _type(values)) for name, values in columns.items()]


def _same(name: str, values: Sequence[Any], ids: Sequence[str], contents: Sequence[str]) -> str:
    """Only columns that are called as ours are can take their places."""
    if name == "id" and all(isinstance(v, str | int) and str(v) == id for v, id in zip(values, ids, strict=True)):
        return "id"
    if name in {"text", "image"} and all(v == content for v, content in zip(values, contents, strict=True)):
        return "content"
    return ""


def _type(values: Iterable[Any]) -> str:
    """The narrowest type that holds all values."""
    kinds = {_kind(as_json(value)) for value in values} - {type(None)}
    if kinds <= {str}:
        return TEXT
    for type_, members in ((TRUTH, {bool}), (WHOLE, {int}), (NUMBER, {int, float})):
        if kinds <= members:
            return type_
    return ANY


def _kind(value: object) -> type:
    return object if type(value) is int and not -(2**63) <= value < 2**63 else type(value)


def merged(before: Iterable[Column], new: Iterable[Column]) -> list[Column]:
    """Columns of several files: those met first come first, and types that differ widen."""
    columns = {column.name: column for column in before}
    for column in new:
        columns[column.name] = _wider(columns.get(column.name, column), column)
    return list(columns.values())


def _wider(one: Column, other: Column) -> Column:
    types = {one.type, other.type}
    wide = one.type if len(types) == 1 else NUMBER if types == {WHOLE, NUMBER} else ANY
    return replace(one, type=wide, same=one.same if one.same == other.same else "")


def from_settings(settings: Mapping[str, Any]) -> list[Column]:
    """The columns that a project has noted."""
    return [Column(*column) for column in settings.get("columns", ())]


def to_settings(settings: Mapping[str, Any], new: Iterable[Column]) -> dict[str, Any]:
    """What a project notes of its columns when a file brings some."""
    return {"columns": [[c.name, c.type, c.same] for c in merged(from_settings(settings), new)]}


def with_source(settings: Mapping[str, Any], source: Path | None) -> dict[str, Any]:
    """What a project notes of the file that items came from: no output may replace it."""
    before = settings.get("sources", ())
    return {"sources": list(dict.fromkeys([*before, *([] if source is None else [str(source.resolve())])]))}


def own_columns(ours: Sequence[Column], theirs: Sequence[Column], reserved: Iterable[str] = ()) -> dict[str, Column]:
    """Our columns by the names that we call them, each under a name that the user's do not have.

    A column of theirs that holds the id or the content under our name stands for ours. Where any other name is taken,
    all of ours begin with `bemps_`, so that a reader knows which are which.

    Parameters
    ----------
    ours
        The columns that are to be added, in order.
    theirs
        The columns of the user's files.
    reserved
        Further names of ours, which are not always written.
    """
    shared = {column.name for column in theirs if column.same}
    names = {column.name for column in theirs}
    added = [column for column in ours if column.name not in shared]
    prefix = "" if not (({column.name for column in ours} | set(reserved)) - shared) & names else PREFIX
    while prefix and any(prefix + column.name in names for column in added):
        prefix += PREFIX
    return {column.name: replace(column, name=prefix + column.name) for column in added}


def own_fields(names: Iterable[str]) -> dict[str, str]:
    """Which columns of a file are ours: by the names that an import reads them under."""
    there = set(names)
    prefix = ""
    while prefix + PREFIX + "label" in there:
        prefix += PREFIX
    fields = {name: prefix + name for name in OURS if prefix + name in there}
    if not {"text", "image"} & fields.keys():
        fields |= {name: name for name in ("text", "image") if name in there}
    return {"id": "id"} | fields if "id" in there else fields


def other_fields(row: Mapping[str, Any], ours: Mapping[str, str]) -> dict[str, Any]:
    """The columns of a row that are the user's."""
    added = set(ours.values())
    prefixed = ours.get("label", "").startswith(PREFIX)
    return {name: value for name, value in row.items() if name not in added or (prefixed and name in OURS)}
