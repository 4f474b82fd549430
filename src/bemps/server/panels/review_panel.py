"""What to look at again: labels that the model contradicts, near-duplicates, what was passed over, own answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bemps.server.engine import Engine
from bemps.store import Answer, Item

SHOWN = 30
DOUBTS, PAIRS, SKIPPED, UNSURE, LATER, OWN = "doubts", "pairs", "skipped", "unsure", "later", "own"
KINDS = {
    DOUBTS: "labels that the model doubts",
    PAIRS: "near-duplicates with different labels",
    SKIPPED: "skipped items",
    UNSURE: "items left as unsure",
    LATER: "items that I put off",
    OWN: "my own last answers",
}
WITHOUT_LABEL = (SKIPPED, UNSURE, LATER)


@dataclass(frozen=True)
class ReviewRow:
    """An item to look at again.

    Attributes
    ----------
    item : Item
        The item.
    answer : Answer or None
        The present answer.
    reason : str
        Why the item is in the list.
    """

    item: Item
    answer: Answer | None
    reason: str


def review_rows(
    engine: Engine, kind: str, annotator: str, answer: Mapping[str, Any] | None
) -> tuple[list[ReviewRow], int]:
    """Return the first rows of a list of items to look at again, and the number of all rows.

    Parameters
    ----------
    engine : Engine
        The project.
    kind : str
        One of `KINDS`.
    annotator : str
        The person whose own answers are listed.
    answer : mapping or None
        The answer of the model to the task `review`. None before that.

    Returns
    -------
    rows : list of ReviewRow
        The first rows.
    total : int
        The number of all rows.
    """
    if kind == LATER:
        return _put_off(engine, annotator)
    if kind in (SKIPPED, UNSURE, OWN):
        return _answered(engine, kind, annotator)
    reasons = _doubts(engine, answer or {}) if kind == DOUBTS else _pairs(engine, answer or {})
    current = engine.store.current()
    items = {item.id: item for item in engine.store.items(list(reasons)[:SHOWN])}
    rows = [ReviewRow(items[name], current.get(name), why) for name, why in reasons.items() if name in items]
    return rows, len(reasons)


def _put_off(engine: Engine, annotator: str) -> tuple[list[ReviewRow], int]:
    """What this person wanted to be asked later and nobody has to answer instead, the last first."""
    own = engine.store.postponed(annotator).get(annotator, {})
    open_items = [name for name in reversed(own) if engine.schedule.is_open(name, annotator)]
    return [ReviewRow(item, None, "") for item in engine.store.items(open_items[:SHOWN])], len(open_items)


def _answered(engine: Engine, kind: str, annotator: str) -> tuple[list[ReviewRow], int]:
    filters: dict[str, Any] = {"annotator": annotator} if kind == OWN else {"state": kind}
    page = engine.store.search(**filters, order="latest", limit=SHOWN)
    return [ReviewRow(row.item, row.answer, "") for row in page.rows], page.total


def _doubts(engine: Engine, answer: Mapping[str, Any]) -> dict[str, str]:
    """Why each label is doubted; not those that were confirmed, or changed since."""
    confirmed, current = engine.store.confirmed(), engine.store.current()
    reasons = {}
    for name, guess, _, probability in answer.get("doubts", ()):
        label = current[name].label if name in current else None
        if name not in confirmed and label is not None and label != guess:
            reasons[name] = f"without this label the model says {guess} ({100 * probability:.0f} %)"
    return reasons


def _pairs(engine: Engine, answer: Mapping[str, Any]) -> dict[str, str]:
    """Both items of every pair whose labels still differ; not those that were both confirmed."""
    confirmed, current = engine.store.confirmed(), engine.store.current()
    reasons: dict[str, str] = {}
    for first, second, like in answer.get("pairs", ()):
        labels = [current[name].label if name in current else None for name in (first, second)]
        if None in labels or labels[0] == labels[1] or {first, second} <= confirmed:
            continue
        for name, other in ((first, labels[1]), (second, labels[0])):
            reasons.setdefault(name, f"one that is {100 * like:.0f} % like it is labelled {other}")
    return reasons
