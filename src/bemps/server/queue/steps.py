"""Steps of undo and redo: what was taken back or restored."""

from collections.abc import Sequence
from dataclasses import dataclass

from bemps.store import Event, Store


@dataclass(frozen=True)
class Step:
    """One step of undo or redo.

    Attributes
    ----------
    events : tuple of Event
        The events of the log: one, or one for each answer of an action.
    kind : str
        The kind of what was taken back or restored: label, skip, unsure, later, note or adjudicate.
    label : str or None
        The present name of its class; None if it has none.
    """

    events: tuple[Event, ...]
    kind: str
    label: str | None


def step_of(store: Store, events: Sequence[Event]) -> Step:
    """Return the step that these events of undo or redo make."""
    number = events[0].target
    assert number is not None, "an event of undo or redo"
    target = store.event(number)
    classes = (*store.classes(), *(merged for merged, _ in store.merged_classes()))
    names = {known.id: known.name for known in classes}
    label = None if target.class_id is None else names.get(target.class_id, target.label)
    return Step(tuple(events), target.kind, label)
