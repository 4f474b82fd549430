"""The words of a project's store: items, classes, events, and the answers that follow from the events."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bemps.store.rows import unpacked

LABEL, SKIP, UNSURE, NOTE, CLEAR = ANSWERS = ("label", "skip", "unsure", "note", "clear")
UNDO, REDO, ADJUDICATE = "undo", "redo", "adjudicate"
ADD_CLASS, RENAME_CLASS, SET_KEY = "add-class", "rename-class", "set-key"
AUDIT, OVERLAP = "audit", "overlap"
SOURCE = "source"  # the annotator of labels that came with the items


@dataclass(frozen=True, slots=True)
class Item:
    """Something to label.

    content  the text, or the path of an image relative to the project's data folder
    label    the label that came with it, where one did
    others   the row of the file that it came from, packed by `bemps.store.rows`; see `columns`
    copy_of  the id of the item that is asked in its place, as its content is the same
    """

    id: str
    content: str
    label: str | None = None
    others: str | None = None
    copy_of: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the row that it came from, by name."""
        return unpacked(self.others, self.content)


@dataclass(frozen=True, slots=True)
class Class:
    """A class: its name now, its place in the order, and the keys that answer it.

    key  one key, or several with a space between them; None until the page has recorded some
    """

    name: str
    key: str | None
    position: int


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log; never changed, never deleted.

    seq        its place in the log: 1, 2, 3, ... without a gap
    time       when it was said (an imported answer keeps its own time)
    kind       label, skip, unsure, note, clear; undo, redo; adjudicate; add-class, rename-class, set-key; audit,
               overlap
    label      the class as it was called then; after undo and redo the label that holds again
    previous   the label that the annotator had given before; the old name of a renamed class
    note       the note that was given with it; the key of a class
    target     for undo and redo, the seq of the answer that was taken back or restored
    request    the id that its sender gave it
    class_id   the class by number: its name may change
    """

    seq: int
    time: datetime
    annotator: str
    item: str | None
    kind: str
    label: str | None = None
    previous: str | None = None
    note: str | None = None
    request: str | None = None
    target: int | None = None
    class_id: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What holds now for an item: `label` is the present name of its class, None unless kind is label or adjudicate.

    kind     label, skip, unsure, adjudicate, or note where there is nothing but a note
    seq      the event that said so
    """

    item: str
    label: str | None
    kind: str
    annotator: str
    time: datetime
    note: str | None
    seq: int


@dataclass(frozen=True, slots=True)
class Said:
    """An answer to be recorded; see `Store.answer`."""

    annotator: str
    item: str
    kind: str
    label: str | None = None
    note: str | None = None
    request: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An item with the answer that holds for it, None where there is none."""

    item: Item
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the rows that were found, and how many there are in all."""

    rows: tuple[Row, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which annotators differ, with what each of them says."""

    item: str
    answers: tuple[Answer, ...]
