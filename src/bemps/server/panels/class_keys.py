"""The keys of a project's classes: those in the log, and those to record for classes that have none."""

from collections.abc import Mapping, Sequence

from bemps.server.panels.earlier_keys import earlier_keys
from bemps.server.panels.keys import assign, own_digits
from bemps.store import Class, Store
from bemps.store.project_settings import ProjectSettings


def keys_of(classes: Sequence[Class]) -> dict[str, tuple[str, ...]]:
    """The recorded keys of every class, the one to show first."""
    return {known.name: tuple((known.key or "").split()) for known in classes}


def new_keys(classes: Sequence[Class]) -> dict[str, str]:
    """Return the keys to record for the classes that have none."""
    return _missing(classes, assign([known.name for known in classes], _recorded(classes)))


def present_keys(classes: Sequence[Class]) -> dict[str, str]:
    """The keys that a project showed before any were recorded; those of digits were wrong and are not taken over."""
    names = [known.name for known in classes]
    if own_digits(names):
        return new_keys(classes)
    return _missing(classes, earlier_keys(names, _recorded(classes)))


def record_keys(store: Store) -> None:
    """Record keys for the classes that have none."""
    if any(known.key is None for known in store.classes()):
        store.give_keys(new_keys)


def record_first_keys(store: Store, settings: ProjectSettings) -> None:
    """Record keys at the first start; a project that was labelled before keeps those that people know."""
    if not settings.keys_recorded:
        store.give_keys(present_keys if store.current() else new_keys)
        store.set("keys_recorded", True)
    record_keys(store)


def _recorded(classes: Sequence[Class]) -> dict[str, str]:
    return {known.name: known.key for known in classes if known.key}


def _missing(classes: Sequence[Class], keys: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {known.name: " ".join(keys[known.name]) for known in classes if not known.key and any(keys[known.name])}
