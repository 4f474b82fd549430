"""What goes in and out of a project, whatever the file looks like."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice, repeat
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.data import NO_LABEL, Table, hashes_of
from bemps.errors import InputError
from bemps.exchange.columns import Column, from_settings
from bemps.store import Answer, Item, Store
from bemps.store.rows import packed
from bemps.store.words import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE

KINDS = (LABEL, SKIP, UNSURE, NOTE, ADJUDICATE)
CHUNK = 2_000  # items predicted at a time
FEW = 10  # one item in so many: below that they are looked up, above all are read in turn
FIELDS = ("label", "annotator", "time", "kind", "note")


@dataclass(frozen=True, slots=True)
class Entry:
    """One annotator's answer to one item, as a file tells it; None: the file does not say.

    `columns` are those of the user's that stand beside it.
    """

    id: str | None
    content: str | None
    label: str | None
    annotator: str | None = None
    time: datetime | None = None
    kind: str = LABEL
    note: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Labelled:
    """An item with everything that was answered to it."""

    item: Item
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """An item with the probability of every class, in the order of the classes, and the label that people gave it."""

    item: Item
    probs: tuple[float, ...]
    human: str | None = None

    def best(self, classes: Sequence[str]) -> tuple[str, float]:
        place = max(range(len(classes)), key=self.probs.__getitem__)
        return classes[place], self.probs[place]


@dataclass(frozen=True)
class About:
    """What a file says of its project as a whole.

    field    what a content is called: text, or image
    columns  those of the user's files, which every row keeps
    """

    title: str
    classes: tuple[str, ...]
    field: str = "text"
    full: bool = True  # some answer is more than a label: skipped, unsure, adjudicated, or with a note
    model: str = ""
    columns: tuple[Column, ...] = ()


def about(store: Store, *, full: bool = True, model: str = "") -> About:
    """What the files of a project say of it."""
    settings = store.settings
    content = "image" if settings.get("kind") == "image" else "text"
    classes = tuple(one.name for one in store.classes())
    return About(str(settings.get("title", "")), classes, content, full, model, tuple(from_settings(settings)))


def labelled(store: Store, answers: Iterable[Answer]) -> Iterator[Labelled]:
    """The answered items in their order, copies among them, with their contents read as needed."""
    by_item: dict[str, list[Answer]] = {}
    for answer in answers:
        by_item.setdefault(answer.item, []).append(answer)
    few = len(by_item) < store.count() / FEW and not store.copies()
    for item in store.items([id for id in store.ids() if id in by_item]) if few else store.rows():
        if (original := item.copy_of or item.id) in by_item:
            yield Labelled(item, tuple(by_item[original]))


def predicted(
    predict: Callable[[list[str]], Float[np.ndarray, "N K"]],
    items: Iterable[Item],
    human: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Predicted]:
    """Items with what a model says of their contents, some at a time.

    Parameters
    ----------
    predict
        Contents to the probability of every class.
    items
        The items, in any number.
    human
        Labels that people gave, by `content_key`.
    """
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        probs = predict([item.content for item in some])
        for item, row in zip(some, probs.tolist(), strict=True):
            yield Predicted(item, tuple(row), human.get(content_key(item.content)) if human else None)


def content_key(content: str) -> str:
    """The same for contents that are one: white space around them, and how Unicode writes them, do not count."""
    return hashes_of([content])[0]


def copy_key(settings: Mapping[str, Any]) -> Callable[[str], str] | None:
    """By what items of a project are copies of each other; None where each is asked: images, or as it was wished."""
    asked_once = settings.get("kind", "text") == "text" and settings.get("duplicates") != "ask"
    return content_key if asked_once else None


def items_of(table: Table, contents: Sequence[str]) -> Iterator[Item]:
    """The rows of a table as items, with their labels and all columns of the file."""
    codes = [NO_LABEL] * len(table) if table.labels is None else table.labels.tolist()
    names, values = list(table.columns), zip(*table.columns.values(), strict=True)
    rows = values if names else repeat(())
    for id, content, code, row in zip(table.ids, contents, codes, rows, strict=False):
        others = packed(dict(zip(names, row, strict=True)), content)
        yield Item(id, content, None if code == NO_LABEL else table.classes[code], others)


def plain(answer: Answer) -> dict[str, str | None]:
    """An answer as texts."""
    said = answer.label, answer.annotator, answer.time.isoformat(), answer.kind, answer.note
    return dict(zip(FIELDS, said, strict=True))


def entry_of(
    id: str | None,
    content: str | None,
    said: Mapping[str, Any],
    where: str,
    columns: Mapping[str, Any] = MappingProxyType({}),
) -> Entry:
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
    return Entry(id, content, values["label"], values["annotator"], time, kind, values["note"], columns)


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
