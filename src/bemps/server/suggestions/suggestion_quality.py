"""How good suggestions are: measured on the audit items, which are answered without seeing one."""

from collections.abc import Mapping
from typing import Any

from bemps.errors import InputError
from bemps.metrics import wilson
from bemps.project.accuracy import FEWEST_AUDITED
from bemps.server.engine import Engine
from bemps.server.suggestions.suggestion_sources import suggester_name
from bemps.store import Answer
from bemps.store.events import LABEL, SUGGESTED
from bemps.store.project_settings import BY_MODEL


def check_accepted(item: str, kind: str, engine: Engine) -> None:
    """Refuse an accepted suggestion where there was none: audit items show none, and only labels are suggested.

    Parameters
    ----------
    item : str
        The id of the item.
    kind : str
        The kind of the answer.
    engine : Engine
        The project.
    """
    if kind != LABEL or item in engine.schedule.reserved:
        got = "an item that measures accuracy" if kind == LABEL else kind
        raise InputError("accepted suggestion", expected="a label that was suggested", got=got, fix="Reload the page.")


def quality_of(engine: Engine, answers: Mapping[str, Answer]) -> dict[str, Any] | None:
    """Return how often suggestions are right, as an annotator's answers would be measured; None if nothing suggests.

    Parameters
    ----------
    engine : Engine
        The project.
    answers : mapping of str to Answer
        The present answers by item.

    Returns
    -------
    dict or None
        `name`, `right`, `size` (audit items with a label and a suggestion), `without` (audit items with a label and no
        suggestion), `needed`, `accuracy` (a share with its interval; None with too few), `accepted` and
        `labels` (that hold, one for each item), `by_all` (accepted suggestions of everybody, as in the labels file).
    """
    settings = engine.settings
    if not settings.suggest:
        return None
    right, size, without = _on_audit(engine, answers)
    return {
        "name": suggester_name(settings),
        "right": right,
        "size": size,
        "without": without,
        "needed": FEWEST_AUDITED,
        "accuracy": wilson(right, size) if size >= FEWEST_AUDITED else None,
        "accepted": sum(answer.method == SUGGESTED for answer in answers.values()),
        "by_all": sum(answer.method == SUGGESTED for answer in engine.store.answers()),
        "labels": sum(answer.label is not None for answer in answers.values()),
    }


def _on_audit(engine: Engine, answers: Mapping[str, Answer]) -> tuple[int, int, int]:
    truth = {name: answers[name].label for name in engine.schedule.audit if name in answers}
    truth = {name: label for name, label in truth.items() if label is not None}
    if engine.settings.suggest == BY_MODEL:
        audit = engine.model_status.last.get("audit") or {}
        return audit.get("right", 0), audit.get("size", 0) if "right" in audit else 0, 0
    opinions = {item.id: engine.suggester.opinion(item) for item in engine.store.items(truth)}
    suggested = {name: opinion for name, opinion in opinions.items() if opinion is not None}
    right = sum(truth[name] == opinion for name, opinion in suggested.items())
    return right, len(suggested), len(truth) - len(suggested)
