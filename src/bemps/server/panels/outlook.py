"""What a project lacks at this moment: labels of items, audit items for an accuracy, classes for a first model."""

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from bemps.project.accuracy import FEWEST_AUDITED
from bemps.server.engine import Engine
from bemps.store import Answer
from bemps.store.events import SKIP, SOURCE, UNSURE

LARGEST_SHARE = 90  # percent of the items that are drawn to measure accuracy
LARGEST_ADVISED = 50  # percent that are worth an earlier accuracy: the model does not learn from them
LATE = 0.5  # an accuracy that takes more than this share of what is left comes late
WAITS, UNREADABLE = "not answered", "unreadable"
REASONS = {WAITS: "not answered yet", UNREADABLE: "cannot be read", SKIP: "skipped", UNSURE: "unsure"}


def without_label(engine: Engine, answers: Mapping[str, Answer]) -> dict[str, int]:
    """Return the number of items without a label, by the reason."""
    kinds = Counter({WAITS: engine.schedule.left})
    kinds.update(answer.kind for answer in answers.values() if answer.kind in REASONS)
    for name in _unreadable(engine, answers):
        kinds[answers[name].kind if name in answers and answers[name].kind in REASONS else WAITS] -= 1
        kinds[UNREADABLE] += 1
    return {reason: kinds[reason] for reason in REASONS if kinds[reason]}


def _unreadable(engine: Engine, answers: Mapping[str, Answer]) -> list[str]:
    """The items without a label whose image the model could not decode."""
    broken = set(engine.model_status.last.get("broken") or ())
    if not broken:
        return []
    bare = [name for name in engine.schedule.ids if name not in answers or answers[name].label is None]
    return [item.id for item in engine.store.items(bare) if item.content in broken]


def in_words(counts: Mapping[str, int]) -> str:
    """Return the items without a label in a sentence; it is empty if every item has a label."""
    parts = ", ".join(f"{number:,} {REASONS[reason]}" for reason, number in counts.items())
    return f"Without a label: {parts}." if parts else ""


def audit_shortage(engine: Engine, answers: Mapping[str, Answer]) -> dict[str, Any] | None:
    """Why an accuracy can never come as things are; None where it can.

    drawn   items set aside to measure it
    needed  labelled ones that it takes
    share   percent of items drawn at random that bring them; None where the project has too few items
    again   whether that share is enough for this project, or a new one is needed
    given   labels that came with the items, where these are why there are too few: such items are never set aside
    """
    schedule = engine.schedule
    waiting = sum(name not in schedule.answered for name in schedule.audit)
    lacking = FEWEST_AUDITED - waiting - sum(name in schedule.labelled for name in schedule.audit)
    if engine.settings.no_model or lacking <= 0:
        return None
    again = schedule.left - waiting >= lacking
    source_labels = sum(answer.annotator == SOURCE and answer.label is not None for answer in answers.values())
    is_first = again and not schedule.audit
    asked = schedule.left if is_first else len(schedule.ids) - source_labels  # as `draw_audit` counts
    share = _share(len(schedule.audit) + lacking if again else FEWEST_AUDITED, asked)
    is_why = share is None and _share(FEWEST_AUDITED, len(schedule.ids)) is not None
    shortage = {"drawn": len(schedule.audit), "needed": FEWEST_AUDITED, "share": share, "again": again}
    return shortage | {"given": source_labels if is_why else 0}


def late_accuracy(engine: Engine) -> dict[str, Any] | None:
    """After how many further answers an accuracy comes, where they are most of what is left; None where they are few.

    asks    answers that it takes, as audit items come at their share
    left    items that nobody has answered
    share   percent of items drawn at random that bring it with about half of them; None where that is too much
    """
    schedule = engine.schedule
    lacking = FEWEST_AUDITED - sum(name in schedule.labelled for name in schedule.audit)
    if engine.settings.no_model or lacking <= 0 or not schedule.audit_share:
        return None
    asks, half = ceil(lacking / schedule.audit_share), LATE * schedule.left
    if asks <= half:
        return None
    share = _share(lacking, int(half))
    return {
        "asks": min(asks, schedule.left),
        "left": schedule.left,
        "share": share if share is not None and share <= LARGEST_ADVISED else None,
    }


def _share(needed: int, items: int) -> int | None:
    """The percentage that draws so many items; None where there is none."""
    share = ceil(100 * needed / items) if items else 100
    return share if share <= LARGEST_SHARE else None


def can_learn(engine: Engine, answers: Mapping[str, Answer]) -> bool:
    """Whether two classes have labels that a model learns from: those of audit items only measure it."""
    learnt = [answer for answer in answers.values() if engine.settings.learns_from(answer)]
    return len({answer.label for answer in learnt if answer.item not in engine.schedule.reserved}) >= 2
