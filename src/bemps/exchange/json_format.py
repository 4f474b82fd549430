"""What the formats of JSON objects share: a labelled item -> objects, a prediction -> object, an object -> entries.

What a tool's format has no place for (annotator, time, kind of answer, note) stands under the key `bemps`, or as
metadata where the tool keeps such; a label that was changed in the tool wins over it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted

Object = dict[str, Any]
Said = dict[str, str | None]


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
        except ValueError:
            return []
    if not isinstance(place, list):
        return []
    return [dict(said) for said in place if isinstance(said, Mapping)]


def text_of(found: Mapping[str, Any], name: str) -> str | None:
    value = found.get(name)
    return None if value is None else str(value)


def content_of(found: Mapping[str, Any]) -> str | None:
    value = found.get("text", found.get("image"))
    return value if isinstance(value, str) else None


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
