"""Edits of classes, as events. The number of a class never changes: a new name also counts for old labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from bemps._utils.class_names import clash_key, class_name, known_name
from bemps.errors import InputError, unknown_name
from bemps.store import validation
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
from bemps.store.state import State
from bemps.store.transaction import LogTransaction

LONGEST_KEY = 20
LONGEST_DESCRIPTION = 2_000
MOST_EXAMPLES = 20
KeyChooser = Callable[[Sequence[Class]], Mapping[str, str]]  # from all classes to the keys of those without one


def add(transaction: LogTransaction, new: NewClass, annotator: str) -> Class:
    """Add a class after the others.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    new : NewClass
        The class.
    annotator : str
        Who adds it.

    Returns
    -------
    Class
        The class.
    """
    name = class_name(validation.name(new.name, "class"))
    validation.name(annotator, "annotator")
    _refuse_taken(transaction, name)
    _refuse_key(transaction, new.key, None)
    number = transaction.state.classes.count
    transaction.add_event(annotator, ADD_CLASS, class_id=number, label=name, note=new.key)
    return change(transaction, name, annotator, description=new.description or None, colour=new.colour)


def rename(transaction: LogTransaction, old: str, new: str, annotator: str) -> Class:
    """Rename a class, also for the labels so far.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    old : str
        The present name.
    new : str
        The new name.
    annotator : str
        Who renames it.

    Returns
    -------
    Class
        The class.
    """
    new = class_name(validation.name(new, "class"))
    validation.name(annotator, "annotator")
    known = _find(transaction, old)
    if new != known.name:
        _refuse_taken(transaction, new, known.id)
        transaction.add_event(annotator, RENAME_CLASS, class_id=known.id, label=new, previous=known.name)
    return _find(transaction, new)


def set_key(transaction: LogTransaction, name: str, key: str | None, annotator: str) -> Class:
    """Set the key that answers a class.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The name of the class.
    key : str or None
        The key, or several with a space between them.
    annotator : str
        Who sets it.

    Returns
    -------
    Class
        The class.
    """
    validation.name(annotator, "annotator")
    known = _find(transaction, name)
    if known.key != key:
        _refuse_key(transaction, key, known.id)
        transaction.add_event(annotator, SET_KEY, class_id=known.id, label=known.name, note=key)
    return _find(transaction, name)


def give_keys(transaction: LogTransaction, choose: KeyChooser, annotator: str) -> None:
    """Record keys for the classes that have none. The keys of merged classes stay free for their return.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    choose : callable
        From all classes to the keys of those without one, by name.
    annotator : str
        In whose name they are recorded.
    """
    validation.name(annotator, "annotator")
    table = transaction.state.classes
    for name, key in choose((*table, *(gone for gone, _ in table.merged()))).items():
        if (number := table.find(name)) is not None and table[number].key is None and key:
            set_key(transaction, name, key, annotator)


def change(
    transaction: LogTransaction,
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
    transaction : LogTransaction
        The open transaction.
    name : str
        The name of the class.
    annotator : str
        Who changes it.
    description, colour : str, optional
        The new text and colour; "" removes them.
    is_hidden : bool, optional
        Whether the page offers it no more.
    position : int, optional
        The new position in the order, from 0.

    Returns
    -------
    Class
        The class.
    """
    validation.name(annotator, "annotator")
    known = _find(transaction, name)
    if description is not None and (text := _description(description)) != known.description:
        transaction.add_event(annotator, DESCRIBE_CLASS, class_id=known.id, label=known.name, note=text or None)
    if colour is not None and (_colour(colour) or None) != known.colour:
        transaction.add_event(annotator, COLOUR_CLASS, class_id=known.id, label=known.name, note=colour or None)
    if is_hidden is not None and is_hidden != known.is_hidden:
        kind = HIDE_CLASS if is_hidden else SHOW_CLASS
        transaction.add_event(annotator, kind, class_id=known.id, label=known.name)
    if position is not None and (row := _position(transaction.state, position)) != known.position:
        transaction.add_event(annotator, MOVE_CLASS, class_id=known.id, label=known.name, target=row)
    return _find(transaction, name)


def add_example(transaction: LogTransaction, name: str, example: Example, annotator: str) -> Class:
    """Add an example to a class.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The name of the class.
    example : Example
        An item that exists, or a line of text.
    annotator : str
        Who adds it.

    Returns
    -------
    Class
        The class.
    """
    validation.name(annotator, "annotator")
    known = _find(transaction, name)
    if (example.item is None) == (example.text is None):
        raise InputError("example", expected="an item or a text", got="both or none", fix="Give one of them.")
    if example.text is not None:
        example = Example(text=_description(example.text))
        if not example.text:
            raise InputError("example", expected="a text", got="none", fix="Type one.")
    if example in known.examples:
        return known
    if len(known.examples) >= MOST_EXAMPLES:
        got = f"{len(known.examples) + 1}"
        raise InputError("examples", expected=f"at most {MOST_EXAMPLES}", got=got, fix="Remove one first.")
    about = {"class_id": known.id, "label": known.name}
    transaction.add_event(annotator, ADD_EXAMPLE, item=example.item, note=example.text, **about)  # type: ignore[arg-type]
    return _find(transaction, name)


def remove_example(transaction: LogTransaction, name: str, example: Example, annotator: str) -> Class:
    """Remove an example from a class. The log keeps it.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The name of the class.
    example : Example
        The example.
    annotator : str
        Who removes it.

    Returns
    -------
    Class
        The class.
    """
    validation.name(annotator, "annotator")
    known = _find(transaction, name)
    if example in known.examples:
        about = {"class_id": known.id, "label": known.name}
        transaction.add_event(annotator, REMOVE_EXAMPLE, item=example.item, note=example.text, **about)  # type: ignore[arg-type]
    return _find(transaction, name)


def delete(transaction: LogTransaction, name: str, annotator: str) -> None:
    """Delete a class that no answer uses, not even one that undo or redo could bring back.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The name of the class.
    annotator : str
        Who deletes it.
    """
    validation.name(annotator, "annotator")
    known = _find(transaction, name)
    if known.id in used_classes(transaction.state):
        got = f"{known.name!r}, which answers use, or answers that undo could bring back"
        fix = "Hide it, or merge it into another class."
        raise InputError("class to delete", expected="one that no answer uses", got=got, fix=fix)
    if any(into.id == known.id for _, into in transaction.state.classes.merged()):
        got = f"{known.name!r}, which others were merged into"
        raise InputError("class to delete", expected="one by itself", got=got, fix="Split them off first.")
    transaction.add_event(annotator, DELETE_CLASS, class_id=known.id, previous=known.name)


def used_classes(state: State) -> frozenset[int]:
    """The numbers of the classes that an answer has, also one that undo or redo could bring back."""
    stored = {answer.class_id for stack in state.slots.values() for answer in stack}
    undone = {answer.class_id for steps in state.undone.values() for _, _, answer in steps}
    return frozenset(number for number in stored | undone if number is not None)


def merge(transaction: LogTransaction, name: str, into: str, annotator: str) -> Class:
    """Merge a class into another: its labels count as the other's until it is split off again.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The class that goes.
    into : str
        The class that stays.
    annotator : str
        Who merges them.

    Returns
    -------
    Class
        The class that stays.
    """
    validation.name(annotator, "annotator")
    gone, stays = _find(transaction, name), _find(transaction, into)
    if gone.id == stays.id:
        raise InputError("class to merge into", expected="another class", got=repr(into), fix="Choose another.")
    about = {"class_id": gone.id, "target": stays.id, "previous": gone.name, "label": stays.name}
    transaction.add_event(annotator, MERGE_CLASS, **about)  # type: ignore[arg-type]
    return _find(transaction, into)


def split(transaction: LogTransaction, name: str, annotator: str) -> Class:
    """Take a merge back: the labels of the class count as its own again. A key that another class has now is lost.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    name : str
        The class that was merged.
    annotator : str
        Who splits it off.

    Returns
    -------
    Class
        The class.
    """
    validation.name(annotator, "annotator")
    merged = {gone.name: gone for gone, _ in transaction.state.classes.merged()}
    known = merged.get(known_name(name, merged))
    if known is None:
        raise unknown_name("merged class", name, merged)
    transaction.add_event(annotator, SPLIT_CLASS, class_id=known.id, label=known.name)
    used = {key for other in transaction.state.classes if other.id != known.id for key in (other.key or "").split()}
    if {*(known.key or "").split()} & used:
        transaction.add_event(annotator, SET_KEY, class_id=known.id, label=known.name, note=None)
    return _find(transaction, known.name)


def take_over(transaction: LogTransaction, entries: Iterable[NewClass], annotator: str) -> None:
    """Bring keys, descriptions and colours of a class file to the classes that are there.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    entries : iterable of NewClass
        The classes of the file. What the file leaves empty stays as it is.
    annotator : str
        In whose name they are recorded.
    """
    keyed = [entry for entry in entries if entry.key is not None]
    for entry in keyed:  # first none of them, so that two classes can change keys
        if _find(transaction, entry.name).key != entry.key:
            set_key(transaction, entry.name, None, annotator)
    for entry in entries:
        if entry.key is not None:
            set_key(transaction, entry.name, entry.key, annotator)
        change(transaction, entry.name, annotator, description=entry.description or None, colour=entry.colour)


def _find(transaction: LogTransaction, name: str) -> Class:
    """The class of a name, in its present position."""
    number = transaction.state.classes.find(name)
    classes = tuple(transaction.state.classes)
    if number is None:
        raise unknown_name("class", name, [known.name for known in classes])
    return next(known for known in classes if known.id == number)


def _position(state: State, position: int) -> int:
    return min(max(position, 0), len(state.classes) - 1)


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


def _refuse_taken(transaction: LogTransaction, name: str, own: int | None = None) -> None:
    """Refuse a name that another class has, also in other case: people would confuse them."""
    for known in transaction.state.classes:
        if clash_key(known.name) == clash_key(name) and known.id != own:
            got = f"{name!r}, which is there already" if known.name == name else f"{name!r} beside {known.name!r}"
            raise InputError("class", expected="a name that no other class has", got=got, fix="Choose another.")
    for gone, into in transaction.state.classes.merged():
        if clash_key(gone.name) == clash_key(name):
            got = f"{gone.name!r}, which was merged into {into.name!r}"
            fix = "Choose another, or split it off again."
            raise InputError("class", expected="a name that no other class has", got=got, fix=fix)


def _refuse_key(transaction: LogTransaction, key: str | None, own: int | None) -> None:
    if key is None:
        return
    if len(validation.name(key, "key")) > LONGEST_KEY:
        raise InputError("key", expected="the name of one key", got=repr(key), fix="Give a letter or digit.")
    for known in transaction.state.classes:
        shared = {*key.split()} & {*(known.key or "").split()}
        if shared and known.id != own:
            got = f"{min(shared)!r}, the key of {known.name!r}"
            raise InputError("key", expected="one that no other class has", got=got, fix="Choose another key.")
