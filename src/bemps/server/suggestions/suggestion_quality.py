"""How good suggestions are: measured on the audit items, which are answered without seeing one."""

from collections.abc import Mapping
from typing import Any

from bemps.errors import InputError
from bemps.project.accuracy import FEWEST_AUDITED
from bemps.project.suggestions.suggestion_accuracy import suggestion_accuracy
from bemps.server.engine import Engine
from bemps.store import Answer
from bemps.store.events import LABEL, SUGGESTED


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
    audit = engine.model_status.last.get("audit") or {}
    model = (audit["right"], audit["size"]) if "right" in audit else (0, 0)
    measured = suggestion_accuracy(engine.store, engine.settings, answers, engine.suggester.opinion, model)
    if measured is None:
        return None
    return {
        "name": measured.name,
        "right": measured.right,
        "size": measured.size,
        "without": measured.without,
        "needed": FEWEST_AUDITED,
        "accuracy": measured.accuracy,
        "accepted": sum(answer.method == SUGGESTED for answer in answers.values()),
        "by_all": sum(answer.method == SUGGESTED for answer in engine.store.answers()),
        "labels": sum(answer.label is not None for answer in answers.values()),
    }
