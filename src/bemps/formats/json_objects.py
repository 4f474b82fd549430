"""The common part of the formats of JSON objects.

Values that the format of a tool does not have (annotator, time, kind of answer, note) are under the key `bemps`, or in
the metadata of the tool. A label that was changed in the tool counts more.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bemps.data.reading import JSON_LINES
from bemps.errors import InputError
from bemps.formats.entries import ExportInfo, ImportedAnswer, LabelledItem, PredictedItem
from bemps.formats.export_tables import ExportTable
from bemps.formats.json_files import is_in_lines, read_json, write_json
from bemps.store import Item

T = TypeVar("T")
COLUMNS = "columns"  # the key of the columns of the user's file
Object = dict[str, Any]
KINDS: dict[type, str] = {dict: "an object {...}", list: "a list [...]", str: "a text"}
AnswerFields = dict[str, Any]  # as a file has it: `imported_answer` checks the values


@dataclass(frozen=True)
class JsonFormat:
    """A format of JSON objects.

    Attributes
    ----------
    lines : bool
        Whether it always has one object a line. Otherwise the ending of the file decides between array and lines.
    labelled : callable
        From a labelled item to its objects.
    predicted : callable
        From a prediction to its object.
    entries : callable
        From an object and its position in words to its answers.
    recognises : callable, optional
        From the first object of a file, and whether it is of lines, to whether it has this format.
    rows : callable, optional
        Writes any table, such as the log.
    """

    lines: bool
    labelled: Callable[[LabelledItem, ExportInfo], Iterator[Object]]
    predicted: Callable[[PredictedItem, ExportInfo], Object]
    entries: Callable[[Object, str], Iterator[ImportedAnswer]]
    recognises: Callable[[Object, bool], bool] | None = None
    rows: Callable[[ExportTable, Path], None] | None = None

    def labels(self, items: Iterable[LabelledItem], about: ExportInfo, path: Path) -> None:
        """Write labelled items.

        Parameters
        ----------
        items : iterable of LabelledItem
            The items with their answers.
        about : ExportInfo
            The description of the project.
        path : Path
            The file.
        """
        records = (record for labelled in items for record in self.labelled(labelled, about))
        write_json(records, path, self._in_lines(path))

    def predictions(self, items: Iterable[PredictedItem], about: ExportInfo, path: Path) -> None:
        """Write predictions. Items without a prediction are left out in formats of other tools.

        Parameters
        ----------
        items : iterable of PredictedItem
            The predictions.
        about : ExportInfo
            The description of the project.
        path : Path
            The file.
        """
        tasks = (item for item in items if self.rows is not None or item.probs)
        write_json((self.predicted(item, about) for item in tasks), path, self._in_lines(path))

    def read(self, path: Path) -> Iterator[ImportedAnswer]:
        """Read the answers of a file."""
        for record, where in read_json(path, self.lines or is_in_lines(path)):
            yield from self.entries(record, where)

    def _in_lines(self, path: Path) -> bool:
        """Whether it is one object a line: always, or by the name of the file."""
        return self.lines or path.suffix.lower() in JSON_LINES


def stored_answers(value: object) -> list[AnswerFields]:
    """Return the answers that bemps wrote beside those of a tool, if they are still there."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    if not isinstance(value, list):
        return []
    return [dict(answer) for answer in value if isinstance(answer, Mapping)]


def field(record: Mapping[str, Any], name: str, kind: type[T], where: str) -> T | None:
    """Return a field of an object, and check its kind.

    Parameters
    ----------
    record : mapping of str to object
        The object.
    name : str
        The name of the field.
    kind : type
        The type that JSON gives it: `dict`, `list`, `str`.
    where : str
        The position of the object in messages.

    Returns
    -------
    object or None
        The value; None if it is left out or null.

    Raises
    ------
    InputError
        The field is of another kind.
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
    """Return a field that is a list of objects; empty if it is left out.

    Parameters
    ----------
    record : mapping of str to object
        The object.
    name : str
        The name of the field.
    where : str
        The position of the object in messages.

    Returns
    -------
    list of dict
        The objects.
    """
    values = field(record, name, list, where) or []
    for value in values:
        if not isinstance(value, dict):
            fix = "Is it a file of this format?"
            raise InputError(f"{name} at {where}", expected="a list of objects", got=repr(value)[:60], fix=fix)
    return values


def text_of(record: Mapping[str, Any], name: str, where: str) -> str | None:
    """Return a field that is a text or an integer, as text.

    Parameters
    ----------
    record : mapping of str to object
        The object.
    name : str
        The name of the field.
    where : str
        The position of the object in messages.

    Returns
    -------
    str or None
        The text; None if it is left out.
    """
    value = record.get(name)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else field(record, name, str, where)


def content_of(record: Mapping[str, Any], where: str) -> str | None:
    """Return the content of an item: its text, or the path of its image."""
    return field(record, "text" if "text" in record else "image", str, where)


def single_label(labels: object, where: str) -> str:
    """Return the label of a list with one label."""
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        raise InputError(
            f"label at {where}",
            expected="one class",
            got=repr(labels)[:60],
            fix="bemps labels each item with one class.",
        )
    return labels[0]


def probabilities(prediction: PredictedItem, about: ExportInfo) -> dict[str, float]:
    """Return the probabilities of a prediction, by class."""
    return dict(zip(about.classes, prediction.probs, strict=True))


def labels_of(prediction: PredictedItem, about: ExportInfo) -> Object:
    """Return the human label of an item, how people answered, and the final label: the human one, or the model's."""
    final = prediction.human or prediction.best(about.classes)[0]
    return {"human": prediction.human, "answered": prediction.answered, "final": final}


def columns_beside(item: Item) -> Object:
    """Return the columns of the user's file under one key, which tools keep as metadata; nothing if there are none."""
    return {COLUMNS: item.columns} if item.others else {}


def columns_in(metadata: Mapping[str, Any]) -> Object:
    """Return the columns of the user's file from metadata, where they are an object or its text."""
    value = metadata.get(COLUMNS)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return dict(value) if isinstance(value, Mapping) else {}
