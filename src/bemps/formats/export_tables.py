"""Labels, predictions and events as tables of rows and columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.formats.entries import ExportInfo, ImportedAnswer, LabelledItem, PredictedItem
from bemps.formats.user_columns import LABEL, NUMBER, OURS, TIME, WHOLE, Column, own_columns
from bemps.store import Answer, Event, Item

EVENT_COLUMNS = (
    "seq",
    "time",
    "annotator",
    "kind",
    "item",
    "label",
    "previous",
    "note",
    "target",
    "request",
    "method",
    "action",
)
EVENT_TYPES = {"seq": WHOLE, "target": WHOLE, "time": TIME}


@dataclass(frozen=True)
class ExportTable:
    """A table whose rows are made while they are written.

    Attributes
    ----------
    columns : tuple of Column
        The columns.
    rows : iterator of sequence
        The rows. Values are texts, numbers, times, JSON, or None.
    classes : tuple of str
        The names of the classes.
    title : str
        The title of the project.
    """

    columns: tuple[Column, ...]
    rows: Iterator[Sequence[Any]]
    classes: tuple[str, ...] = ()
    title: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


def label_columns(about: ExportInfo) -> dict[str, Column]:
    """The columns of labels that bemps adds. `kind`, `note` and `method` are added only if some answer needs them."""
    more = [Column("kind"), Column("note")] if about.full else []
    more += [Column("method")] if about.methods else []
    ours = [Column("id"), Column(about.field), Column("label", LABEL), Column("annotator"), Column("time", TIME)]
    return own_columns([*ours, *more], about.columns, OURS)


def label_values(item: Item, answer: Answer, about: ExportInfo) -> dict[str, Any]:
    """Return the values of an answer, by the names of the columns that bemps adds.

    Parameters
    ----------
    item : Item
        The item.
    answer : Answer
        The answer.
    about : ExportInfo
        The description of the project.

    Returns
    -------
    dict of str to object
        The values.
    """
    values = {name: getattr(answer, name) for name in ("label", "annotator", "time", "kind", "note", "method")}
    return {"id": item.id, about.field: item.content} | values


def label_rows(items: Iterable[LabelledItem], about: ExportInfo) -> ExportTable:
    """Return a table with one row for each answer: the columns of the user's file, and those that bemps adds."""
    own = label_columns(about)
    rows = (
        _row(labelled.item, about, own, label_values(labelled.item, answer, about))
        for labelled in items
        for answer in labelled.answers
    )
    return ExportTable((*about.columns, *own.values()), rows, about.classes, about.title)


def prediction_columns(about: ExportInfo) -> dict[str, Column]:
    """The columns of predictions that bemps adds."""
    item = [Column("id"), Column(about.field)]
    model = [Column("label", LABEL), Column("probability", NUMBER)]
    person = [Column("human", LABEL), Column("answered"), Column("final", LABEL)]
    return own_columns(
        [*item, *model, *person, *(Column(f"p_{name}", NUMBER) for name in about.classes)], about.columns
    )


def prediction_values(prediction: PredictedItem, about: ExportInfo) -> dict[str, Any]:
    """Return the values of a prediction, by the names of columns, without the probabilities of all classes."""
    if not prediction.item.id:  # an empty row
        return dict.fromkeys(("id", about.field, "label", "probability", "human", "answered", "final"))
    label, probability = prediction.best(about.classes) if prediction.probs else (None, None)
    item = {"id": prediction.item.id, about.field: prediction.item.content}
    return item | {
        "label": label,
        "probability": probability,
        "human": prediction.human,
        "answered": prediction.answered,
        "final": prediction.human or label,
    }


def prediction_rows(predictions: Iterable[PredictedItem], about: ExportInfo) -> ExportTable:
    """Return a table with one row for each prediction: its class, human and final labels, and all probabilities."""
    own = prediction_columns(about)
    names = [f"p_{name}" for name in about.classes]
    nothing = [None] * len(names)
    rows = (
        _row(
            prediction.item,
            about,
            own,
            prediction_values(prediction, about) | dict(zip(names, prediction.probs or nothing, strict=True)),
        )
        for prediction in predictions
    )
    return ExportTable((*about.columns, *own.values()), rows, about.classes, about.title)


def _row(item: Item, about: ExportInfo, own: Mapping[str, Column], values: Mapping[str, Any]) -> list[Any]:
    columns = item.columns
    return [*(column.value(item, columns) for column in about.columns), *(values[name] for name in own)]


def event_rows(events: Iterable[Event]) -> ExportTable:
    """Return the log as a table."""
    columns = tuple(Column(name, EVENT_TYPES.get(name, "text")) for name in EVENT_COLUMNS)
    return ExportTable(columns, ([getattr(event, name) for name in EVENT_COLUMNS] for event in events))


@dataclass(frozen=True)
class RowFormat:
    """A format of rows and columns.

    Attributes
    ----------
    rows : callable
        Writes a table to a path.
    read : callable
        Reads the answers of a file.
    recognises_file : callable, optional
        Whether a file has this format, if its ending alone does not tell.
    """

    rows: Callable[[ExportTable, Path], None]
    read: Callable[[Path], Iterator[ImportedAnswer]]
    recognises_file: Callable[[Path], bool] | None = None

    def labels(self, items: Iterable[LabelledItem], about: ExportInfo, path: Path) -> None:
        """Write one row for each answer.

        Parameters
        ----------
        items : iterable of LabelledItem
            The items with their answers.
        about : ExportInfo
            The description of the project.
        path : Path
            The file.
        """
        self.rows(label_rows(items, about), path)

    def predictions(self, items: Iterable[PredictedItem], about: ExportInfo, path: Path) -> None:
        """Write one row for each prediction.

        Parameters
        ----------
        items : iterable of PredictedItem
            The predictions.
        about : ExportInfo
            The description of the project.
        path : Path
            The file.
        """
        self.rows(prediction_rows(items, about), path)
