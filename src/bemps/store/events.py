"""The types of a project's store: items, classes, events and answers."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bemps.store.item_rows import unpacked

LABEL, SKIP, UNSURE, NOTE, CLEAR, LATER = ANSWERS = ("label", "skip", "unsure", "note", "clear", "later")
UNDO, REDO, ADJUDICATE = "undo", "redo", "adjudicate"
ADD_CLASS, RENAME_CLASS, SET_KEY = "add-class", "rename-class", "set-key"
DESCRIBE_CLASS, COLOUR_CLASS, MOVE_CLASS = "describe-class", "colour-class", "move-class"
HIDE_CLASS, SHOW_CLASS, DELETE_CLASS = "hide-class", "show-class", "delete-class"
MERGE_CLASS, SPLIT_CLASS = "merge-class", "split-class"
ADD_EXAMPLE, REMOVE_EXAMPLE = "add-example", "remove-example"
CLASS_EVENTS = (
    *(ADD_CLASS, RENAME_CLASS, SET_KEY, DESCRIBE_CLASS, COLOUR_CLASS, MOVE_CLASS, HIDE_CLASS, SHOW_CLASS),
    *(DELETE_CLASS, MERGE_CLASS, SPLIT_CLASS, ADD_EXAMPLE, REMOVE_EXAMPLE),
)
COLOURS = ("blue", "orange", "green", "pink", "yellow", "sky", "brown", "purple", "grey")  # of classes; see page.css
AUDIT, OVERLAP = "audit", "overlap"
SOURCE = "source"  # the annotator of labels that came with the items
AUDITED, ANSWERED, LEASED, SAME = ("audit", "answered", "leased", "same")  # why items are not in a list
MOST_LISTED = 500  # items that are labelled at once: one can still look through them
SUGGESTED, LISTED = METHODS = ("suggested", "listed")  # answers that were not made by a key for one item


@dataclass(frozen=True, slots=True)
class Item:
    """Something to label.

    Attributes
    ----------
    id : str
        Unique in the project.
    content : str
        The text, or the path of an image relative to the project's data folder.
    label : str or None
        The label that came with the item.
    others : str or None
        The row of the file that the item came from, packed by `bemps.store.item_rows`; see `columns`.
    copy_of : str or None
        The id of the item with the same content that is asked instead.
    """

    id: str
    content: str
    label: str | None = None
    others: str | None = None
    copy_of: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the row that the item came from, by name."""
        return unpacked(self.others, self.content)


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a class: an item of the project, or a line of text.

    Attributes
    ----------
    item : str or None
        The id of the item; None for a line of text.
    text : str or None
        The line of text; None for an item.
    """

    item: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Class:
    """A class that items can have.

    Attributes
    ----------
    name : str
        The present name.
    key : str or None
        The key that answers it, or several with a space between them; None until the page has recorded some.
    position : int
        The position in the order of the classes, from 0.
    description : str
        What belongs to the class; empty if nobody has said it.
    colour : str or None
        One of `COLOURS`, or none.
    is_hidden : bool
        Whether the page offers it no more. Labels of it stay.
    examples : tuple of Example
        Examples, the oldest first.
    id : int
        The number of the class, which never changes.
    """

    name: str
    key: str | None
    position: int
    description: str = ""
    colour: str | None = None
    is_hidden: bool = False
    examples: tuple[Example, ...] = ()
    id: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class NewClass:
    """A class to add, as a class file has it.

    Attributes
    ----------
    name : str
        The name.
    key : str or None
        The key that answers it; None leaves the choice to the page.
    description : str
        What belongs to the class.
    colour : str or None
        One of `COLOURS`, or none.
    examples : tuple of str
        Lines of text that are examples.
    """

    name: str
    key: str | None = None
    description: str = ""
    colour: str | None = None
    examples: tuple[str, ...] = field(default=(), repr=False)  # projects know files of earlier releases by this text


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log. It is never changed and never deleted.

    Attributes
    ----------
    seq : int
        The number in the log: 1, 2, 3, ... without a gap.
    time : datetime
        The time of the event. An imported answer keeps its own time.
    annotator : str
        Who did it.
    item : str or None
        The id of the item; None for events of classes, except for an item that is an example.
    kind : str
        One of `label`, `skip`, `unsure`, `note`, `clear`, `later`, `undo`, `redo`, `adjudicate`, `audit`, `overlap`, or
        one of `CLASS_EVENTS`.
    label : str or None
        The name of the class at that time. For undo and redo it is the label that counts afterwards.
    previous : str or None
        The annotator's label before; the old name of a renamed class.
    note : str or None
        The note of an answer; the key, description, colour or line of example of a class.
    request : str or None
        The id that the sender made.
    target : int or None
        For undo and redo, the `seq` of the answer that was taken back or restored. For `merge-class` the number of the
        class that it is merged into; for `move-class` the new position.
    class_id : int or None
        The number of the class, which never changes.
    method : str or None
        How the answer was made: `suggested` (a suggestion was accepted), `listed` (given to the items of a list at
        once); None for an answer to one item by a key or a click, and for everything else.
    action : str or None
        The id of the action that made several answers at once. They are undone together. For undo and redo, the
        action that was taken back or restored.
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
    method: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The present answer to an item.

    Attributes
    ----------
    item : str
        The id of the item.
    label : str or None
        The present name of the class; None unless the kind is label or adjudicate.
    kind : str
        `label`, `skip`, `unsure` or `adjudicate`; `note` where there is only a note.
    annotator : str
        Who answered.
    time : datetime
        When.
    note : str or None
        The annotator's note.
    seq : int
        The number of the event.
    method : str or None
        How the answer was made, as in `Event`.
    """

    item: str
    label: str | None
    kind: str
    annotator: str
    time: datetime
    note: str | None
    seq: int
    method: str | None = None


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """An answer to record. See `AnswerRecorder.answer`.

    Attributes
    ----------
    annotator : str
        Who answers.
    item : str
        The id of the item.
    kind : str
        `label`, `skip`, `unsure`, `note`, `clear`, `later` or `adjudicate`.
    label : str, optional
        The name of the class, for a label.
    note : str, optional
        None leaves the note unchanged, "" removes it.
    request : str, optional
        An id that the sender makes. The same id is recorded once.
    time : datetime, optional
        The time of the answer. The default is now.
    method : str, optional
        How the answer was made, as in `Event`.
    action : str, optional
        The id of the action that this answer is a part of, as in `Event`.
    class_id : int, optional
        The number of the class, where the sender knows it. It holds whatever the class is called meanwhile.
    """

    annotator: str
    item: str
    kind: str
    label: str | None = None
    note: str | None = None
    request: str | None = None
    time: datetime | None = None
    method: str | None = None
    action: str | None = None
    class_id: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An item with its present answer.

    Attributes
    ----------
    item : Item
        The item.
    answer : Answer or None
        The answer; None if there is none.
    """

    item: Item
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the rows that match a search.

    Attributes
    ----------
    rows : tuple of Row
        These rows.
    total : int
        The number of all matches.
    """

    rows: tuple[Row, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which annotators differ.

    Attributes
    ----------
    item : str
        The id of the item.
    answers : tuple of Answer
        The answer of each annotator.
    """

    item: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class ItemList:
    """Items that one person may label at once.

    Attributes
    ----------
    items : tuple of str
        The ids, in the order in which they were asked for.
    left_out : dict of str to int
        How many items were left out, by the reason: `audit` (they measure accuracy), `answered` (somebody else has
        answered), `leased` (somebody else has them in hand), `same` (they have this label already).
    """

    items: tuple[str, ...]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class ListedAnswers:
    """What became of items that were labelled at once.

    Attributes
    ----------
    events : tuple of Event
        An event for each item that was labelled.
    left_out : dict of str to int
        How many items were left out, by the reason, as in `ItemList`.
    """

    events: tuple[Event, ...]
    left_out: dict[str, int]
