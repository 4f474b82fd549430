"""Who labelled how much, how far they agree, and on what they differ."""

from collections import Counter
from typing import Any

from bemps.project import Project
from bemps.store import Store
from bemps.store.words import LABEL, SOURCE

SHOWN = 20


def team_of(store: Store) -> dict[str, Any]:
    """Everything that the team panel shows."""
    answers = [answer for answer in store.answers() if answer.kind == LABEL and answer.annotator != SOURCE]
    counts = Counter(answer.annotator for answer in answers)
    differ = store.disagreements()
    items = {item.id: item for item in store.items([one.item for one in differ[:SHOWN]])}
    return {
        "people": counts.most_common(),
        "agreement": _agreement(store) if len(counts) > 1 else None,
        "differ": [(one, items[one.item]) for one in differ[:SHOWN]],
        "differing": len(differ),
    }


def _agreement(store: Store) -> dict[str, Any] | None:
    found = Project(store).agreement()
    if not found.items:
        return None
    return {"shared": found.items, "alpha": found.alpha, "kappa": sorted(found.kappa.items())[:SHOWN]}
