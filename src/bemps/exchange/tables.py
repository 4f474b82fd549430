"""Labels, predictions and events as rows of named columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bemps.exchange.entries import About, Labelled, Predicted
from bemps.store import Event

EVENT_COLUMNS = ("seq", "time", "annotator", "kind", "item", "label", "previous", "note", "target", "request")


@dataclass(frozen=True)
class Rows:
    """Rows that are made while they are written: values are texts, numbers, times, or None."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]
    classes: tuple[str, ...] = ()
    title: str = ""


def label_rows(found: Iterable[Labelled], about: About) -> Rows:
    """One row for each answer; the columns `kind` and `note` are there only where something needs them."""
    more = ("kind", "note") if about.full else ()
    columns = ("id", about.field, "label", "annotator", "time", *more)
    return Rows(columns, _answers(found, bool(more)), about.classes, about.title)


def _answers(found: Iterable[Labelled], full: bool) -> Iterator[Sequence[Any]]:
    for one in found:
        for answer in one.answers:
            row = (one.item.id, one.item.content, answer.label, answer.annotator, answer.time)
            yield (*row, answer.kind, answer.note) if full else row


def prediction_rows(found: Iterable[Predicted], about: About) -> Rows:
    """The most probable class, its probability, and the probability of every class in a column of its own."""
    columns = ("id", about.field, "label", "probability", *(f"p_{name}" for name in about.classes))
    rows = ((one.item.id, one.item.content, *one.best(about.classes), *one.probs) for one in found)
    return Rows(columns, rows, about.classes, about.title)


def event_rows(events: Iterable[Event]) -> Rows:
    """The log as it is."""
    return Rows(EVENT_COLUMNS, ([getattr(event, name) for name in EVENT_COLUMNS] for event in events))
