"""Classes are events too: added, renamed, given a key. Their numbers never change, so renaming renames history."""

from collections.abc import Callable, Mapping, Sequence

from bemps.errors import InputError, unknown_name
from bemps.store import checked
from bemps.store.decision import Decision
from bemps.store.log import Log
from bemps.store.words import ADD_CLASS, RENAME_CLASS, SET_KEY, Class

LONGEST_KEY = 20
KeyChooser = Callable[[Sequence[Class]], Mapping[str, str]]  # from all classes to the keys of those without one


def add(log: Log, name: str, annotator: str, key: str | None) -> Class:
    """One more class, after the others."""
    with log.deciding() as decision:
        return add_in(decision, name, annotator, key)


def add_in(decision: Decision, name: str, annotator: str, key: str | None) -> Class:
    """Add a class within a transaction of the caller."""
    checked.name(name, "class")
    checked.name(annotator, "annotator")
    _refuse_taken(decision, name)
    _refuse_key(decision, key, None)
    place = len(decision.state.classes)
    decision.say(annotator, ADD_CLASS, class_id=place, label=name, note=key)
    return Class(name, key, place)


def rename(log: Log, old: str, new: str, annotator: str) -> Class:
    """Another name for a class and for all that was labelled with it."""
    checked.name(new, "class")
    checked.name(annotator, "annotator")
    with log.deciding() as decision:
        place, known = _find(decision, old)
        if new != old:
            _refuse_taken(decision, new, place)
            decision.say(annotator, RENAME_CLASS, class_id=place, label=new, previous=old)
    return Class(new, known.key, place)


def set_key(log: Log, name: str, key: str | None, annotator: str) -> Class:
    """The key that answers a class; several are separated by a space."""
    checked.name(annotator, "annotator")
    with log.deciding() as decision:
        place, known = _find(decision, name)
        if known.key != key:
            _refuse_key(decision, key, place)
            decision.say(annotator, SET_KEY, class_id=place, label=name, note=key)
    return Class(name, key, place)


def give_keys(log: Log, choose: KeyChooser, annotator: str) -> None:
    """Keys for the classes that have none, chosen and recorded in one step, so that two servers cannot clash."""
    checked.name(annotator, "annotator")
    with log.deciding() as decision:
        for name, key in choose(tuple(decision.state.classes)).items():
            class_id, known = _find(decision, name)
            if known.key is None and key:
                _refuse_key(decision, key, class_id)
                decision.say(annotator, SET_KEY, class_id=class_id, label=name, note=key)


def _find(decision: Decision, name: str) -> tuple[int, Class]:
    place = decision.state.class_id(name)
    if place is None:
        raise unknown_name("class", name, [known.name for known in decision.state.classes])
    return place, decision.state.classes[place]


def _refuse_taken(decision: Decision, name: str, own: int | None = None) -> None:
    """Names that differ only in case would be mistaken for each other on the page and in files."""
    for known in decision.state.classes:
        if known.name.casefold() == name.casefold() and known.position != own:
            got = f"{name!r}, which is there already" if known.name == name else f"{name!r} beside {known.name!r}"
            raise InputError("class", expected="a name that no other class has", got=got, fix="Choose another.")


def _refuse_key(decision: Decision, key: str | None, own: int | None) -> None:
    if key is None:
        return
    if len(checked.name(key, "key")) > LONGEST_KEY:
        raise InputError("key", expected="the name of one key", got=repr(key), fix="Give a letter or digit.")
    for known in decision.state.classes:
        shared = {*key.split()} & {*(known.key or "").split()}
        if shared and known.position != own:
            got = f"{min(shared)!r}, the key of {known.name!r}"
            raise InputError("key", expected="one that no other class has", got=got, fix="Choose another key.")
