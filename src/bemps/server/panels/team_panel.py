"""Who labelled how much, how far they agree, and on what they differ."""

from collections import Counter
from typing import Any

from bemps._utils.class_names import clash_key
from bemps.project import Project
from bemps.store import Answer, Disagreement, Store
from bemps.store.events import ADJUDICATE, LABEL, SOURCE
from bemps.store.project_settings import ProjectSettings

SHOWN = 20


def team_of(store: Store) -> dict[str, Any]:
    """Everything that the team panel shows."""
    answers = [answer for answer in store.answers() if answer.kind == LABEL and answer.annotator != SOURCE]
    counts = Counter(answer.annotator for answer in answers)
    differ = store.disagreements()
    decided = sorted(
        (answer for answer in store.current().values() if answer.kind == ADJUDICATE),
        key=lambda answer: answer.time,
        reverse=True,
    )
    shown = [disagreement.item for disagreement in differ[:SHOWN]] + [answer.item for answer in decided[:SHOWN]]
    items = {item.id: item for item in store.items(shown)}
    return {
        "people": counts.most_common(),
        "agreement": _agreement(store) if len(counts) > 1 else None,
        "differ": [(disagreement, items[disagreement.item], _votes(disagreement)) for disagreement in differ[:SHOWN]],
        "differing": len(differ),
        "decided": [(answer, items[answer.item], _opinions(store, answer.item)) for answer in decided[:SHOWN]],
        "decisions": len(decided),
    }


def shares_of(store: Store, settings: ProjectSettings) -> dict[str, Any]:
    """Who gets which items: the column that decides, the columns to choose from, and a row for each value.

    A row has the value, the number of its items, how many of these nobody has answered, the names of the people,
    and those names that nobody has used here yet.
    """
    columns = [name for name, _, _ in settings.columns or ()]
    assignment = store.assignment()
    if assignment is None:
        return {"column": "", "columns": columns, "shares": []}
    answered = store.current()
    sizes = Counter(assignment.values.values())
    left = Counter(value for item, value in assignment.values.items() if item not in answered)
    known = {clash_key(name) for name in store.annotators()}
    rows = []
    for value in sorted(sizes):
        people = assignment.people(value)
        new = [name for name in people if clash_key(name) not in known]
        rows.append((value, sizes[value], left[value], people, new))
    return {"column": assignment.column, "columns": columns, "shares": rows}


def _opinions(store: Store, item: str) -> list[Answer]:
    """What people said of an item, without the decision."""
    return [answer for answer in store.answers_of(item) if answer.kind != ADJUDICATE]


def _votes(disagreement: Disagreement) -> list[tuple[str, int]]:
    """Every label that somebody gave, once, and how many people gave it, the most first."""
    return Counter(answer.label for answer in disagreement.answers if answer.label is not None).most_common()


def _agreement(store: Store) -> dict[str, Any] | None:
    agreement = Project(store).agreement()
    if not agreement.items:
        return None
    return {"shared": agreement.items, "alpha": agreement.alpha, "kappa": sorted(agreement.kappa.items())[:SHOWN]}
