"""Edits of classes, as events. The number of a class never changes: a new name also counts for old labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from bemps._utils.class_names import clash_key, class_name, known_name
from bemps.errors import InputError, unknown_name
from bemps.store import validation
from bemps.store.class_log.class_table import ClassTable
from bemps.store.events import (
    ADD_CLASS,
    ADD_EXAMPLE,
    COLOUR_CLASS,
    COLOURS,
    DELETE_CLASS,
    DESCRIBE_CLASS,
    HIDE_CLASS,
    MERGE_CLASS,
    MOVE_CLASS,
    REMOVE_EXAMPLE,
    RENAME_CLASS,
    SET_KEY,
    SHOW_CLASS,
    SPLIT_CLASS,
    Class,
    Example,
    NewClass,
)
from bemps.store.keywords import with_renamed_class
from bemps.store.stored_settings import read_settings, write_settings
from bemps.store.transaction import LogTransaction

LONGEST_KEY = 20
LONGEST_DESCRIPTION = 2_000
MOST_EXAMPLES = 20
KEYWORDS = "keywords"  # the setting whose lines name classes
KeyChooser = Callable[[Sequence[Class]], Mapping[str, str]]  # from all classes to the keys of those without one


class ClassEdits:
    """Edits of the classes of a project.

    An edit names the class as it is called now, and the annotator who edits it. It returns the class as it is then.
    What changes nothing is not recorded.

    Parameters
    ----------
    transaction : callable
        Opens the transaction of an edit, or returns the open one that all edits are a part of.
    original_of : callable
        From the id of an item to that of its original. It refuses an unknown id.
    """

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[LogTransaction]], original_of: Callable[[str], str]
    ) -> None:
        self._transaction, self._original_of = transaction, original_of

    @contextmanager
    def _editing(self, annotator: str) -> Iterator["_Edit"]:
        with self._transaction() as transaction:
            yield _Edit(transaction, validation.name(annotator, "annotator"))

    def add(self, name: str, annotator: str, key: str | None = None) -> Class:
        """Add a class after the others. A name or key that another class has is refused.

        Parameters
        ----------
        name : str
            The name.
        annotator : str
            Who says so.
        key : str, optional
            The key that answers it.

        Returns
        -------
        Class
            The class as it is now.
        """
        return self.add_entry(NewClass(name, key), annotator)

    def add_entry(self, new: NewClass, annotator: str) -> Class:
        """Add a class after the others, as a class file has it."""
        name = class_name(validation.name(new.name, "class"))
        with self._editing(annotator) as edit:
            edit.refuse_taken(name)
            edit.refuse_key(new.key)
            edit.transaction.add_event(annotator, ADD_CLASS, class_id=edit.table.count, label=name, note=new.key)
            edit.change(name, description=new.description or None, colour=new.colour)
            return edit.add_examples(name, map(_text_example, new.examples))

    def take_over(self, entries: Sequence[NewClass], annotator: str) -> None:
        """Bring what a class file says of classes to them. What it leaves empty, and other examples, stay."""
        keyed = [entry for entry in entries if entry.key is not None]
        with self._editing(annotator) as edit:
            for entry in keyed:  # first none of them, so that two classes can change keys
                if edit.find(entry.name).key != entry.key:
                    edit.set_key(entry.name, None)
            for entry in entries:
                if entry.key is not None:
                    edit.set_key(entry.name, entry.key)
                edit.change(entry.name, description=entry.description or None, colour=entry.colour)
                edit.add_examples(entry.name, map(_text_example, entry.examples))

    def rename(self, old: str, new: str, annotator: str) -> Class:
        """Rename a class, also for the labels so far and in the words to highlight. A name in use is refused.

        Parameters
        ----------
        old, new : str
            The name so far, and the new one.
        annotator : str
            Who says so.
        """
        new = class_name(validation.name(new, "class"))
        with self._editing(annotator) as edit:
            known = edit.find(old)
            if new != known.name:
                edit.refuse_taken(new, known.id)
                edit.record(RENAME_CLASS, known, label=new, previous=known.name)
                edit.rename_in_keywords(known.name, new)
            return edit.find(new)

    def set_key(self, name: str, key: str | None, annotator: str) -> Class:
        """Set the keys that answer a class. No two classes share a key.

        Parameters
        ----------
        name : str
            The name of the class.
        key : str or None
            A key, or several with a space between them; None for no key.
        annotator : str
            Who says so.
        """
        with self._editing(annotator) as edit:
            return edit.set_key(name, key)

    def give_keys(self, choose: KeyChooser, annotator: str = "bemps") -> None:
        """Record keys for the classes that have none, in one transaction, because two servers may do so at once.

        `choose` gets all classes, also merged ones, whose keys stay free for their return. It returns the new keys by
        name.
        """
        with self._editing(annotator) as edit:
            for name, key in choose((*edit.table, *(gone for gone, _ in edit.table.merged()))).items():
                if (number := edit.table.find(name)) is not None and edit.table[number].key is None and key:
                    edit.set_key(name, key)

    def change(
        self,
        name: str,
        annotator: str,
        *,
        description: str | None = None,
        colour: str | None = None,
        is_hidden: bool | None = None,
        position: int | None = None,
    ) -> Class:
        """Change what is said of a class and where it stands. None leaves a part as it is.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who changes it.
        description : str, optional
            What belongs to the class; "" removes it.
        colour : str, optional
            One of `bemps.store.COLOURS`; "" removes it.
        is_hidden : bool, optional
            Whether the page offers the class no more. Labels of it stay.
        position : int, optional
            The new position in the order, from 0.

        Returns
        -------
        Class
            The class.
        """
        with self._editing(annotator) as edit:
            return edit.change(name, description=description, colour=colour, is_hidden=is_hidden, position=position)

    def add_example(self, name: str, annotator: str, *, item: str | None = None, text: str | None = None) -> Class:
        """Add an example to a class: an item, or a line of text.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who says so.
        item : str, optional
            The id of an item.
        text : str, optional
            A line of text.
        """
        example = Example(None if item is None else self._original_of(item), text)
        with self._editing(annotator) as edit:
            return edit.add_examples(name, [_checked(example)])

    def remove_example(self, name: str, annotator: str, *, item: str | None = None, text: str | None = None) -> Class:
        """Remove an example from a class. The log keeps it.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who says so.
        item : str, optional
            The id of the item that is an example.
        text : str, optional
            The line of text that is an example.
        """
        with self._editing(annotator) as edit:
            known = edit.find(name)
            if Example(item, text) in known.examples:
                edit.record(REMOVE_EXAMPLE, known, item=item, note=text)
            return edit.find(name)

    def delete(self, name: str, annotator: str) -> None:
        """Delete a class. The log keeps that it was there.

        Raises
        ------
        InputError
            An answer uses it, undo or redo could bring one back, or another class was merged into it.
        """
        with self._editing(annotator) as edit:
            known = edit.find(name)
            if known.id in edit.transaction.state.used_classes():
                got = f"{known.name!r}, which answers use, or answers that undo could bring back"
                fix = "Hide it, or merge it into another class."
                raise InputError("class to delete", expected="one that no answer uses", got=got, fix=fix)
            if any(into.id == known.id for _, into in edit.table.merged()):
                got = f"{known.name!r}, which others were merged into"
                raise InputError("class to delete", expected="one by itself", got=got, fix="Split them off first.")
            edit.record(DELETE_CLASS, known, label=None, previous=known.name)

    def merge(self, name: str, into: str, annotator: str) -> Class:
        """Merge a class into another. Its labels count as the other's until it is split off.

        Parameters
        ----------
        name : str
            The class that goes.
        into : str
            The class that stays.
        annotator : str
            Who says so.

        Returns
        -------
        Class
            The class that stays.
        """
        with self._editing(annotator) as edit:
            gone, stays = edit.find(name), edit.find(into)
            if gone.id == stays.id:
                raise InputError("class to merge into", expected="another class", got=repr(into), fix="Choose another.")
            edit.record(MERGE_CLASS, gone, target=stays.id, previous=gone.name, label=stays.name)
            return edit.find(into)

    def split(self, name: str, annotator: str) -> Class:
        """Take a merge back: the labels of the class count as its own again. A key that another has now is lost."""
        with self._editing(annotator) as edit:
            merged = {gone.name: gone for gone, _ in edit.table.merged()}
            known = merged.get(known_name(name, merged))
            if known is None:
                raise unknown_name("merged class", name, merged)
            edit.record(SPLIT_CLASS, known)
            used = {key for other in edit.table if other.id != known.id for key in (other.key or "").split()}
            if {*(known.key or "").split()} & used:
                edit.record(SET_KEY, known, note=None)
            return edit.find(known.name)


class _Edit:
    """An open edit: its transaction, and who edits."""

    def __init__(self, transaction: LogTransaction, annotator: str) -> None:
        self.transaction, self.annotator = transaction, annotator

    @property
    def table(self) -> ClassTable:
        return self.transaction.state.classes

    def find(self, name: str) -> Class:
        """The class of a name, in its present position."""
        number = self.table.find(name)
        classes = tuple(self.table)
        if number is None:
            raise unknown_name("class", name, [known.name for known in classes])
        return next(known for known in classes if known.id == number)

    def record(self, kind: str, known: Class, **about: Any) -> None:
        """Add an event of a class; its label is the name of the class, unless `about` says otherwise."""
        self.transaction.add_event(self.annotator, kind, class_id=known.id, **{"label": known.name} | about)

    def set_key(self, name: str, key: str | None) -> Class:
        known = self.find(name)
        if known.key != key:
            self.refuse_key(key, known.id)
            self.record(SET_KEY, known, note=key)
        return self.find(name)

    def change(
        self,
        name: str,
        *,
        description: str | None = None,
        colour: str | None = None,
        is_hidden: bool | None = None,
        position: int | None = None,
    ) -> Class:
        known = self.find(name)
        if description is not None and (text := _description(description)) != known.description:
            self.record(DESCRIBE_CLASS, known, note=text or None)
        if colour is not None and (_colour(colour) or None) != known.colour:
            self.record(COLOUR_CLASS, known, note=colour or None)
        if is_hidden is not None and is_hidden != known.is_hidden:
            self.record(HIDE_CLASS if is_hidden else SHOW_CLASS, known)
        if position is not None and (row := min(max(position, 0), len(self.table) - 1)) != known.position:
            self.record(MOVE_CLASS, known, target=row)
        return self.find(name)

    def add_examples(self, name: str, examples: Iterable[Example]) -> Class:
        """Add those that the class does not have yet."""
        for example in examples:
            known = self.find(name)
            if example in known.examples:
                continue
            if len(known.examples) >= MOST_EXAMPLES:
                what, got = f"examples of {known.name!r}", f"{len(known.examples) + 1}"
                raise InputError(what, expected=f"at most {MOST_EXAMPLES}", got=got, fix="Remove one first.")
            self.record(ADD_EXAMPLE, known, item=example.item, note=example.text)
        return self.find(name)

    def rename_in_keywords(self, old: str, new: str) -> None:
        lines = read_settings(self.transaction.connection, [KEYWORDS]).keywords
        renamed = [with_renamed_class(line, old, new) for line in lines]
        if renamed != list(lines):
            write_settings(self.transaction.connection, {KEYWORDS: renamed})

    def refuse_taken(self, name: str, own: int | None = None) -> None:
        """Refuse a name that another class has, also in other case: people would confuse them."""
        for known in self.table:
            if clash_key(known.name) == clash_key(name) and known.id != own:
                got = f"{name!r}, which is there already" if known.name == name else f"{name!r} beside {known.name!r}"
                raise InputError("class", expected="a name that no other class has", got=got, fix="Choose another.")
        for gone, into in self.table.merged():
            if clash_key(gone.name) == clash_key(name):
                got = f"{gone.name!r}, which was merged into {into.name!r}"
                fix = "Choose another, or split it off again."
                raise InputError("class", expected="a name that no other class has", got=got, fix=fix)

    def refuse_key(self, key: str | None, own: int | None = None) -> None:
        """Refuse a key that is too long, or that another class has."""
        if key is None:
            return
        if len(validation.name(key, "key")) > LONGEST_KEY:
            raise InputError("key", expected="the name of one key", got=repr(key), fix="Give a letter or digit.")
        for known in self.table:
            shared = {*key.split()} & {*(known.key or "").split()}
            if shared and known.id != own:
                got = f"{min(shared)!r}, the key of {known.name!r}"
                raise InputError("key", expected="one that no other class has", got=got, fix="Choose another key.")


def _checked(example: Example) -> Example:
    """An example that is either an item or a text that is not empty."""
    if (example.item is None) == (example.text is None):
        raise InputError("example", expected="an item or a text", got="both or none", fix="Give one of them.")
    return example if example.text is None else _text_example(example.text)


def _text_example(value: str) -> Example:
    text = _description(value)
    if not text:
        raise InputError("example", expected="a text", got="none", fix="Type one.")
    return Example(text=text)


def _description(value: str) -> str:
    text = validation.text(value, "description of a class").strip()
    if len(text) > LONGEST_DESCRIPTION:
        expected, got = f"at most {LONGEST_DESCRIPTION:,} characters", f"{len(text):,}"
        raise InputError("description of a class", expected=expected, got=got, fix="Put more into the guidelines.")
    return text


def _colour(value: str) -> str:
    if value and value not in COLOURS:
        raise unknown_name("colour", value, COLOURS)
    return value
