"""Labels, predictions and events as rows of named columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bemps.exchange.columns import LABEL, NUMBER, OURS, TIME, WHOLE, Column, own_columns
from bemps.exchange.entries import About, Labelled, Predicted
from bemps.store import Answer, Event, Item

EVENT_COLUMNS = ("seq", "time", "annotator", "kind", "item", "label", "previous", "note", "target", "request")
EVENT_TYPES = {"seq": WHOLE, "target": WHOLE, "time": TIME}


@dataclass(frozen=True)
class Rows:
    """Rows that are made while they are written: values are texts, numbers, times, JSON, or None."""

    columns: tuple[Column, ...]
    rows: Iterator[Sequence[Any]]
    classes: tuple[str, ...] = ()
    title: str = ""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def label_columns(about: About) -> dict[str, Column]:
    """Our columns of labels; `kind` and `note` are there only where something needs them."""
    more = [Column("kind"), Column("note")] if about.full else []
    ours = [Column("id"), Column(about.field), Column("label", LABEL), Column("annotator"), Column("time", TIME)]
    return own_columns([*ours, *more], about.columns, OURS)


def label_values(item: Item, answer: Answer, about: About) -> dict[str, Any]:
    """An answer by the names of our columns."""
    said = {name: getattr(answer, name) for name in ("label", "annotator", "time", "kind", "note")}
    return {"id": item.id, about.field: item.content} | said


def label_rows(found: Iterable[Labelled], about: About) -> Rows:
    """One row for each answer: the columns of the user's file, and ours."""
    own = label_columns(about)
    rows = (
        _row(one.item, about, own, label_values(one.item, answer, about)) for one in found for answer in one.answers
    )
    return Rows((*about.columns, *own.values()), rows, about.classes, about.title)


def prediction_columns(about: About) -> dict[str, Column]:
    """Our columns of predictions."""
    item = [Column("id"), Column(about.field)]
    model = [Column("label", LABEL), Column("probability", NUMBER)]
    person = [Column("human", LABEL), Column("final", LABEL)]
    return own_columns(
        [*item, *model, *person, *(Column(f"p_{name}", NUMBER) for name in about.classes)], about.columns
    )


def prediction_values(one: Predicted, about: About) -> dict[str, Any]:
    """A prediction by the names of our columns, without the probabilities of all classes."""
    label, probability = one.best(about.classes)
    item = {"id": one.item.id, about.field: one.item.content}
    return item | {"label": label, "probability": probability, "human": one.human, "final": one.human or label}


def prediction_rows(found: Iterable[Predicted], about: About) -> Rows:
    """The most probable class and its probability, the human label, which of them holds, and every probability."""
    own = prediction_columns(about)
    names = [f"p_{name}" for name in about.classes]
    rows = (
        _row(one.item, about, own, prediction_values(one, about) | dict(zip(names, one.probs, strict=True)))
        for one in found
    )
    return Rows((*about.columns, *own.values()), rows, about.classes, about.title)


def _row(item: Item, about: About, own: Mapping[str, Column], values: Mapping[str, Any]) -> list[Any]:
    columns = item.columns
    return [*(column.value(item, columns) for column in about.columns), *(values[name] for name in own)]


def event_rows(events: Iterable[Event]) -> Rows:
    """The log as it is."""
    columns = tuple(Column(name, EVENT_TYPES.get(name, "text")) for name in EVENT_COLUMNS)
    return Rows(columns, ([getattr(event, name) for name in EVENT_COLUMNS] for event in events))
