"""The values that formats read and write: imported answers, labelled items and predictions."""

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
from bemps.formats.user_columns import Column, columns_from_settings
from bemps.store import Answer, Item, Store
from bemps.store.events import ADJUDICATE, LABEL, METHODS, NOTE, SKIP, UNSURE
from bemps.store.item_rows import packed
from bemps.types import Progress

KINDS = (LABEL, SKIP, UNSURE, NOTE, ADJUDICATE)
CHUNK = 2_000  # items predicted at a time
REPORTED = 500  # predictions between two reports of progress
LOOKUP_RATIO = 10  # if fewer than one item in ten has answers, items are looked up; otherwise all are read
GivenAnswer = tuple[str | None, str | None]  # the label of people; without one "skip" or "unsure"
NO_ANSWER: GivenAnswer = (None, None)
FIELDS = ("label", "annotator", "time", "kind", "note")


@dataclass(frozen=True, slots=True)
class ImportedAnswer:
    """One annotator's answer to one item, as read from a file. None: the file does not have it.

    Attributes
    ----------
    id : str or None
        The id of the item.
    content : str or None
        The content of the item.
    label : str or None
        The name of the class.
    annotator : str, optional
        Who answered.
    time : datetime, optional
        When.
    kind : str
        The kind of the answer.
    note : str, optional
        The note.
    columns : mapping of str to object
        The user's columns of the same row.
    method : str, optional
        How the answer was made, as in `bemps.store.Event`.
    """

    id: str | None
    content: str | None
    label: str | None
    annotator: str | None = None
    time: datetime | None = None
    kind: str = LABEL
    note: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledItem:
    """An item with all answers to it."""

    item: Item
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class PredictedItem:
    """An item with the probability of every class.

    An empty row of a file is an item without an id. It has no probabilities, nor has an image that cannot be decoded.

    Attributes
    ----------
    item : Item
        The item.
    probs : tuple[float, ...]
        The probabilities, in the order of the classes.
    human : str | None
        The label that people gave the item.
    passed_over : {'skip', 'unsure'} or None
        The answer of people who gave no label.
    """

    item: Item
    probs: tuple[float, ...]
    human: str | None = None
    passed_over: str | None = None

    @property
    def answered(self) -> str | None:
        """The answer of people: label, skip or unsure; None if nobody answered."""
        return self.passed_over if self.human is None else LABEL

    def best(self, classes: Sequence[str]) -> tuple[str, float]:
        """Return the most probable class and its probability.

        Parameters
        ----------
        classes : sequence of str
            The names of the classes, in the order of `probs`.

        Returns
        -------
        tuple[str, float]
            The name of the class and its probability.
        """
        position = max(range(len(classes)), key=self.probs.__getitem__)
        return classes[position], self.probs[position]


@dataclass(frozen=True)
class ExportInfo:
    """The description of a project in an exported file.

    Attributes
    ----------
    title : str
        The title of the project.
    classes : tuple of str
        The names of the classes, in order.
    field : {'text', 'image'}
        The name of the field with the content.
    full : bool
        Whether some answer is more than a label: skipped, unsure, adjudicated, or with a note.
    model : str
        The name of the model, for predictions.
    columns : tuple of Column
        The columns of the user's files. Every row has them.
    methods : bool
        Whether some answer was not given by a key for one item: accepted from a suggestion, or given in a list.
    """

    title: str
    classes: tuple[str, ...]
    field: str = "text"
    full: bool = True
    model: str = ""
    columns: tuple[Column, ...] = ()
    methods: bool = False


def export_info(store: Store, *, full: bool = True, model: str = "", methods: bool = False) -> ExportInfo:
    """Return what an exported file says about a project.

    Parameters
    ----------
    store : Store
        The project.
    full : bool
        Whether some answer is more than a label.
    model : str
        The name of the model, for predictions.
    methods : bool
        Whether some answer was not given by a key for one item.

    Returns
    -------
    ExportInfo
        The description.
    """
    settings = store.read_settings()
    content = "image" if settings.kind == "image" else "text"
    classes = tuple(class_.name for class_ in store.classes())
    return ExportInfo(settings.title, classes, content, full, model, tuple(columns_from_settings(settings)), methods)


def labelled_items(store: Store, answers: Iterable[Answer]) -> Iterator[LabelledItem]:
    """Return the answered items in their order, copies included. Contents are read as needed."""
    by_item: dict[str, list[Answer]] = {}
    for answer in answers:
        by_item.setdefault(answer.item, []).append(answer)
    few = len(by_item) < store.count() / LOOKUP_RATIO and not store.copies()
    for item in store.items([id for id in store.ids() if id in by_item]) if few else store.rows():
        if (original := item.copy_of or item.id) in by_item:
            yield LabelledItem(item, tuple(by_item[original]))


def predicted_items(
    predict: Callable[[list[str]], Float[np.ndarray, "N K"]],
    items: Iterable[Item],
    answer_of: Callable[[Item], GivenAnswer] = lambda _: NO_ANSWER,
) -> Iterator[PredictedItem]:
    """Predict items, some at a time.

    Parameters
    ----------
    predict : callable
        From contents to the probability of every class; NaN where a content cannot be read.
    items : iterable of Item
        The items, in any number. Empty rows among them have no id.
    answer_of : callable
        From an item to what people answered.

    Returns
    -------
    iterator of PredictedItem
        The items with their probabilities.
    """
    left = iter(items)
    while some := list(islice(left, CHUNK)):
        contents = [item.content for item in some if item.id]
        probs = iter(predict(contents).tolist() if contents else ())
        for item in some:
            if item.id:
                yield PredictedItem(item, _known_probs(next(probs)), *answer_of(item))
            else:
                yield PredictedItem(item, ())


def counted(rows: Iterable[PredictedItem], total: int, progress: Progress | None) -> Iterator[PredictedItem]:
    """Return the same rows, and report from time to time how many of all have passed."""
    for done, row in enumerate(rows, 1):
        if progress is not None and done % REPORTED == 0:
            progress("predict", min(done, total), total)
        yield row


class GivenAnswers:
    """The answer of people to any item: to a row of the project its own, to another one that to the same content.

    Parameters
    ----------
    rows : callable
        Returns the rows of the project, copies included. It is called twice, so that few of them are in memory.
    answers : mapping of str to GivenAnswer
        The answers by the ids of these rows.
    """

    def __init__(self, rows: Callable[[], Iterable[Item]], answers: Mapping[str, GivenAnswer]) -> None:
        self._alike: dict[str, dict[str, GivenAnswer]] = {
            content_key(item.content): {} for item in rows() if item.id in answers
        }
        for item in rows() if self._alike else ():
            if (key := content_key(item.content)) in self._alike:
                self._alike[key][item.id] = answers.get(item.id, NO_ANSWER)

    def __call__(self, item: Item) -> GivenAnswer:
        """Return label and pass of an item. Of several rows with the content of a stranger the last label counts."""
        alike = self._alike.get(content_key(item.content), {}) if self._alike else {}
        if item.id in alike:
            return alike[item.id]
        return max(reversed(alike.values()), key=_certainty, default=NO_ANSWER)


def _certainty(answer: GivenAnswer) -> int:
    label, passed_over = answer
    return 2 if label is not None else int(passed_over is not None)


def answers_of_project(store: Store) -> GivenAnswers:
    """Return what the people of a project answered."""
    answers: dict[str, GivenAnswer] = {
        id: (answer.label, answer.kind if answer.label is None else None)
        for id, answer in store.current().items()
        if answer.kind != NOTE
    }
    copies = {id: answers[original] for id, original in store.copies().items() if original in answers}
    return GivenAnswers(store.rows, answers | copies)


def _known_probs(probs: list[float]) -> tuple[float, ...]:
    return () if np.isnan(probs).any() else tuple(probs)


def content_key(content: str) -> str:
    """A key that is equal for equal contents. White space around them and forms of Unicode do not count."""
    return hashes_of([content])[0]


def items_of(table: Table, contents: Sequence[str]) -> Iterator[Item]:
    """Return the rows of a table as items, with their labels and all columns of the file."""
    codes = [NO_LABEL] * len(table) if table.labels is None else table.labels.tolist()
    names, values = list(table.columns), zip(*table.columns.values(), strict=True)
    rows = values if names else repeat(())
    for id, content, code, row in zip(table.ids, contents, codes, rows, strict=False):
        others = packed(dict(zip(names, row, strict=True)), content)
        yield Item(id, content, None if code == NO_LABEL else table.classes[code], others)


def answer_fields(answer: Answer) -> dict[str, str | None]:
    """Return the fields of an answer as texts, by name; `method` only where there is something to say."""
    values = answer.label, answer.annotator, answer.time.isoformat(), answer.kind, answer.note
    return dict(zip(FIELDS, values, strict=True)) | ({"method": answer.method} if answer.method else {})


def imported_answer(
    id: str | None,
    content: str | None,
    answer: Mapping[str, Any],
    where: str,
    columns: Mapping[str, Any] = MappingProxyType({}),
) -> ImportedAnswer:
    """Make an imported answer from fields that are texts.

    Parameters
    ----------
    id : str or None
        The id of the item.
    content : str or None
        The content of the item.
    answer : mapping of str to object
        The fields: label, annotator, time, kind, note and method. Empty ones become None.
    where : str
        The position in messages.
    columns : mapping of str to object
        The user's columns of the same row.

    Returns
    -------
    ImportedAnswer
        The answer.

    Raises
    ------
    InputError
        A field is not valid.
    """
    values = {name: _text(answer.get(name), f"{name} at {where}") for name in FIELDS if name != "time"}
    kind = values["kind"] or (LABEL if values["label"] else None)
    if kind is None or kind not in KINDS or (values["label"] is None) == (kind in (LABEL, ADJUDICATE)):
        raise InputError(
            f"answer at {where}",
            expected=f"a label, or a kind of {', '.join(KINDS)} that goes with it",
            got=f"label {values['label']!r}, kind {values['kind']!r}",
            fix="Correct or remove it.",
        )
    time = parse_time(answer.get("time"), where)
    method = answer.get("method") if answer.get("method") in METHODS else None  # other tools have such a field too
    return ImportedAnswer(
        id, content, values["label"], values["annotator"], time, kind, values["note"], columns, method
    )


def _text(value: object, what: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(what, expected="text", got=repr(value)[:60], fix="Correct it.")
    return str(value)


def parse_time(value: object, where: str) -> datetime | None:
    """Parse a time: ISO 8601 text, seconds since 1970, or a datetime. Without a zone it is UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime):
            time = value
        elif isinstance(value, str):
            time = datetime.fromisoformat(value)
        else:
            time = datetime.fromtimestamp(float(str(value)), UTC)
    except (ValueError, OverflowError, OSError) as error:
        fix = "For example 2026-11-16T09:30:00+00:00"
        raise InputError(f"time at {where}", expected="ISO 8601", got=repr(value)[:60], fix=fix) from error
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
