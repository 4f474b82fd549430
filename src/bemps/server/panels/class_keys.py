"""The keys of a project's classes: those in the log, and those to record for classes that have none."""

from collections.abc import Mapping, Sequence

from bemps.server.panels.earlier_keys import earlier_keys
from bemps.server.panels.keys import assign, own_digits
from bemps.store import Class


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


def _recorded(classes: Sequence[Class]) -> dict[str, str]:
    return {known.name: known.key for known in classes if known.key}


def _missing(classes: Sequence[Class], keys: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {known.name: " ".join(keys[known.name]) for known in classes if not known.key and any(keys[known.name])}
