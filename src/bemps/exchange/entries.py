"""What goes in and out of a project, whatever the file looks like."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.store import Answer, Item, Store
from bemps.store.words import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE

KINDS = (LABEL, SKIP, UNSURE, NOTE, ADJUDICATE)
CHUNK = 2_000  # items predicted at a time
FEW = 10  # one item in so many: below that they are looked up, above all are read in turn
FIELDS = ("label", "annotator", "time", "kind", "note")


@dataclass(frozen=True, slots=True)
class Entry:
    """One annotator's answer to one item, as a file tells it; None: the file does not say."""

    id: str | None
    content: str | None
    label: str | None
    annotator: str | None = None
    time: datetime | None = None
    kind: str = LABEL
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """An item with everything that was answered to it."""

    item: Item
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """An item with the probability of every class, in the order of the classes."""

    item: Item
    probs: tuple[float, ...]

    def best(self, classes: Sequence[str]) -> tuple[str, float]:
        place = max(range(len(classes)), key=self.probs.__getitem__)
        return classes[place], self.probs[place]


@dataclass(frozen=True)
class About:
    """What a file says of its project as a whole. `field` is what a content is called: text, or image."""

    title: str
    classes: tuple[str, ...]
    field: str = "text"
    full: bool = True  # some answer is more than a label: skipped, unsure, adjudicated, or with a note
    model: str = ""


def about(store: Store, *, full: bool = True, model: str = "") -> About:
    settings = store.settings
    field = "image" if settings.get("kind") == "image" else "text"
    return About(str(settings.get("title", "")), tuple(one.name for one in store.classes()), field, full, model)


def labelled(store: Store, answers: Iterable[Answer]) -> Iterator[Labelled]:
    """The answered items in their order, with their contents read as needed."""
    by_item: dict[str, list[Answer]] = {}
    for answer in answers:
        by_item.setdefault(answer.item, []).append(answer)
    few = len(by_item) < store.count() / FEW
    for item in store.items([id for id in store.ids() if id in by_item] if few else None):
        if item.id in by_item:
            yield Labelled(item, tuple(by_item[item.id]))


def predicted(predict: Callable[[list[str]], Float[np.ndarray, "N K"]], items: Iterable[Item]) -> Iterator[Predicted]:
    """Items with what a model says of their contents, some at a time."""
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        probs = predict([item.content for item in some])
        yield from (Predicted(item, tuple(row)) for item, row in zip(some, probs.tolist(), strict=True))


def plain(answer: Answer) -> dict[str, str | None]:
    """An answer as texts."""
    said = answer.label, answer.annotator, answer.time.isoformat(), answer.kind, answer.note
    return dict(zip(FIELDS, said, strict=True))


def entry_of(id: str | None, content: str | None, said: Mapping[str, Any], where: str) -> Entry:
    """The entry of an answer as texts; what is empty or left out is not said."""
    values = {name: _text(said.get(name), f"{name} at {where}") for name in FIELDS if name != "time"}
    kind = values["kind"] or (LABEL if values["label"] else None)
    if kind is None or kind not in KINDS or (values["label"] is None) == (kind in (LABEL, ADJUDICATE)):
        raise InputError(
            f"answer at {where}",
            expected=f"a label, or a kind of {', '.join(KINDS)} that goes with it",
            got=f"label {values['label']!r}, kind {values['kind']!r}",
            fix="Correct or remove it.",
        )
    time = moment(said.get("time"), where)
    return Entry(id, content, values["label"], values["annotator"], time, kind, values["note"])


def _text(value: object, what: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(what, expected="text", got=repr(value)[:60], fix="Correct it.")
    return str(value)


def moment(value: object, where: str) -> datetime | None:
    """A time as ISO 8601 text, as seconds since 1970, or as it is; without a zone it is UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime):
            found = value
        elif isinstance(value, str):
            found = datetime.fromisoformat(value)
        else:
            found = datetime.fromtimestamp(float(str(value)), UTC)
    except (ValueError, OverflowError, OSError) as error:
        fix = "For example 2026-11-16T09:30:00+00:00"
        raise InputError(f"time at {where}", expected="ISO 8601", got=repr(value)[:60], fix=fix) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
