"""Where one is, in one sentence for the header: how often the model is right, whether to go on, and how long."""

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from bemps.server.engine import Engine
from bemps.server.panels.progress_panel import ROUGH, stop_reason

EXACT = 1e-9


def summary_of(engine: Engine) -> dict[str, Any]:
    """Return the summary sentence, and whether one may stop; the sentence is empty before anything is known."""
    last = engine.model_status.last
    audit = last.get("audit") or {}
    if "size" in audit and "accuracy" not in audit:  # the log knows at once, the model with its next order
        last = last | {"audit": audit | {"size": len(engine.schedule.reserved & engine.schedule.labelled)}}
    speed, people = engine.lending.speed()
    return {"words": summary_words(last, speed, people), "stop": bool(_advice(last).get("stop"))}


def summary_words(last: Mapping[str, Any], speed: float = 0.0, people: int = 1) -> str:
    """Return the summary of a project in one sentence.

    Parameters
    ----------
    last : mapping
        The fields of the last `Ranking`.
    speed : float
        The labels a second of all people who label now.
    people : int
        The number of these people.

    Returns
    -------
    str
        The sentence.
    """
    if not last.get("ready"):
        return ""
    audit = last.get("audit") or {}
    right = right_words(audit["accuracy"]) if "accuracy" in audit else _not_yet(audit)
    return " ".join(part for part in (right, _advised(last, speed, people)) if part)


def right_words(accuracy: Mapping[str, float]) -> str:
    """Return how often the model is right in words, rounded to what is known, with the interval rounded outward."""
    base = 10 if accuracy["high"] - accuracy["low"] > ROUGH else 100
    low, high = floor(base * accuracy["low"] + EXACT), ceil(base * accuracy["high"] - EXACT)
    return f"Right about {base * accuracy['value']:.0f} times in {base} ({low} to {high})."


def _not_yet(audit: Mapping[str, Any]) -> str:
    needed, size = audit.get("needed", 0), audit.get("size", 0)
    if audit.get("drawn", 0) < needed:
        return ""
    return f"How often it is right is not known yet ({size} of {needed} items that measure it)."


def _advice(last: Mapping[str, Any]) -> Mapping[str, Any]:
    return (last.get("advice") or {}) if last.get("ready") else {}


def _advised(last: Mapping[str, Any], speed: float, people: int) -> str:
    advice, forecast = _advice(last), last.get("forecast") or {}
    if last.get("waiting") == 0:
        return ""
    if advice.get("stop"):
        reason = stop_reason(advice)
        return f"{reason[0].upper()}{reason[1:]}. You may stop."
    if not advice.get("rises"):
        return ""
    if forecast.get("goal"):
        return _goal_words(forecast["goal"], speed, people)
    return "More labels help."


def _goal_words(goal: list[float], speed: float, people: int) -> str:
    """How many more labels, and how long at the speed of those who label now."""
    share, labels = goal
    base = 10 if round(10 * share, 6) == round(10 * share) else 100
    time = f", {_duration(labels / speed)} at {'your' if people == 1 else 'your common'} speed," if speed else ""
    return f"About {labels:.0f} more labels{time} for {base * share:.0f} in {base}."


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return f"{minutes} minute{'s' if minutes > 1 else ''}"
    return f"{minutes / 60:.0f} hours"
