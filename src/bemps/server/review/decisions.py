"""Decisions on disagreements: one that was made meanwhile is not replaced unseen."""

from bemps.errors import InputError
from bemps.store import Answer, Event, NewAnswer, Store
from bemps.store.events import ADJUDICATE


def decision_of(store: Store, item: str) -> Answer | None:
    """Return the decision that holds for an item; None if there is none."""
    return next((answer for answer in store.answers_of(item) if answer.kind == ADJUDICATE), None)


def decide(store: Store, answer: NewAnswer, instead_of: int | None) -> Event:
    """Record a decision.

    Parameters
    ----------
    store : Store
        The database of the project.
    answer : NewAnswer
        The item, the label and who decides.
    instead_of : int or None
        The number of the decision that this person saw. None if they saw none.

    Returns
    -------
    Event
        The event in the log.
    """
    present = decision_of(store, answer.item)
    if present is not None and present.seq != instead_of and present.label != _present_name(store, answer):
        got = f"{present.label!r}, which {present.annotator} has decided meanwhile"
        raise InputError(
            "Decision", expected="the one that you saw", got=got, fix="Open Team again to see it, and to change it."
        )
    return store.record([answer])[0]


def _present_name(store: Store, answer: NewAnswer) -> str | None:
    """What the class of an answer is called now, or the class that it was merged into."""
    names = {known.id: known.name for known in store.classes()}
    names |= {known.id: into.name for known, into in store.merged_classes()}
    return answer.label if answer.class_id is None else names.get(answer.class_id, answer.label)
