"""What the formats of JSON objects share: a labelled item -> objects, a prediction -> object, an object -> entries.

What a tool's format has no place for (annotator, time, kind of answer, note) stands under the key `bemps`, or as
metadata where the tool keeps such; a label that was changed in the tool wins over it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted
from bemps.store import Item

T = TypeVar("T")
COLUMNS = "columns"  # the key of the columns of the user's file
Object = dict[str, Any]
KINDS: dict[type, str] = {dict: "an object {...}", list: "a list [...]", str: "a text"}
Said = dict[str, Any]  # as a file has it: `entry_of` checks the values


@dataclass(frozen=True)
class JsonFormat:
    """`lines`: one object a line, else one array."""

    lines: bool
    labelled: Callable[[Labelled, About], Iterator[Object]]
    predicted: Callable[[Predicted, About], Object]
    entries: Callable[[Object, str], Iterator[Entry]]


def said_under(place: object) -> list[Said]:
    """The answers that bemps wrote beside a tool's own, where they are still there."""
    if isinstance(place, str):
        try:
            place = json.loads(place)
        except (ValueError, RecursionError):
            return []
    if not isinstance(place, list):
        return []
    return [dict(said) for said in place if isinstance(said, Mapping)]


def field(record: Mapping[str, Any], name: str, kind: type[T], where: str) -> T | None:
    """A field of another tool's object; None where it is left out or null, refused where it is of another kind.

    Parameters
    ----------
    record
        The object.
    name
        The field.
    kind
        The type that JSON gives it: `dict`, `list`, `str`.
    where
        What messages call the object's position.
    """
    value = record.get(name)
    if value is None or (value == "" and kind is not str):
        return None
    if isinstance(value, kind):
        return value
    raise InputError(
        f"{name} at {where}", expected=KINDS[kind], got=repr(value)[:60], fix="Is it a file of this format?"
    )


def objects(record: Mapping[str, Any], name: str, where: str) -> list[Object]:
    """A field that is a list of objects; empty where it is left out."""
    values = field(record, name, list, where) or []
    for value in values:
        if not isinstance(value, dict):
            fix = "Is it a file of this format?"
            raise InputError(f"{name} at {where}", expected="a list of objects", got=repr(value)[:60], fix=fix)
    return values


def text_of(record: Mapping[str, Any], name: str, where: str) -> str | None:
    """A field that is a text or a whole number, as text."""
    value = record.get(name)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else field(record, name, str, where)


def content_of(record: Mapping[str, Any], where: str) -> str | None:
    """What an item shows: its text, or the path of its image."""
    return field(record, "text" if "text" in record else "image", str, where)


def only(labels: object, where: str) -> str:
    """The one label of a list."""
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        raise InputError(
            f"label at {where}",
            expected="one class",
            got=repr(labels)[:60],
            fix="bemps labels each item with one class.",
        )
    return labels[0]


def probabilities(one: Predicted, about: About) -> dict[str, float]:
    return dict(zip(about.classes, one.probs, strict=True))


def labels_of(one: Predicted, about: About) -> Object:
    """What people said of an item, and what holds: their label, else the model's."""
    return {"human": one.human, "final": one.human or one.best(about.classes)[0]}


def columns_beside(item: Item) -> Object:
    """The columns of the user's file under one key, which a tool keeps as metadata; nothing where there are none."""
    return {COLUMNS: item.columns} if item.others else {}


def columns_in(place: Mapping[str, Any]) -> Object:
    """The columns of the user's file that bemps wrote there, as an object or as its text."""
    value = place.get(COLUMNS)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return dict(value) if isinstance(value, Mapping) else {}
