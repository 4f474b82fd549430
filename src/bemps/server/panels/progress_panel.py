"""Where one is, for the progress panel: counts, speed, how often the model is right, what more labels bring."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import ceil, floor
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bemps.project.accuracy import FEWEST_AUDITED
from bemps.project.history import AHEAD
from bemps.server.engine import Engine
from bemps.server.panels.outlook import audit_shortage, can_learn, in_words, late_accuracy
from bemps.server.queue.class_search import SIZE
from bemps.store import Answer

WIDTH, HEIGHT, LEFT, BOTTOM = 350.0, 130.0, 44.0, 20.0
MODEL = 4  # of a point of the curve: the kind of model
FEW = 10  # labels of a class
ROUGH = 0.15  # with an interval wider than this the accuracy is told in tenths
UNCLEAR = "It is too early to say whether to go on."
MISSED = "It is not clear whether to go on."
SLOWER = "The last labels changed little."
LITTLE = "What is left is expected to help little."
ROUNDS = "the advice to stop comes only after three rounds of 20 labels that say so"


def progress_of(
    engine: Engine, annotator: str, answers: dict[str, Answer], unlabelled: Mapping[str, int], copies: int
) -> dict[str, Any]:
    """Return everything that the progress panel shows.

    Parameters
    ----------
    engine : Engine
        The project.
    annotator : str
        The person whose speed is shown.
    answers : dict of str to Answer
        The present answers by item.
    unlabelled : mapping of str to int
        The number of items without a label, by the reason.
    copies : int
        The number of items that are copies of others.

    Returns
    -------
    dict
        The values for the template.
    """
    last = engine.model_status.last
    audit = last.get("audit")
    return counts_of(engine, answers) | {
        "measuring": sum(answers[name].label is not None for name in engine.schedule.audit if name in answers),
        "empty_rows": sum(map(len, (engine.settings.empty_rows or {}).values())),
        "copies": copies,
        "is_folder": any(Path(source).is_dir() for source in engine.settings.sources[-1:]),
        "left_aside": sum(_is_left_aside(engine, answer) for answer in answers.values()),
        "speed": engine.queue_of(annotator).pace,
        "team_speed": sum(queue.pace for queue in engine.queues.values()),
        "people": sum(queue.pace > 0 for queue in engine.queues.values()),
        "curve": curve(last.get("curve") or []),
        "audit": audit,
        "enough": FEWEST_AUDITED,
        "times_right": times_right(audit["accuracy"]) if audit and "accuracy" in audit else None,
        "audit_share": engine.schedule.audit_share,
        "shortage": audit_shortage(engine, answers),
        "late": late_accuracy(engine),
        "advice": advice_of(last, unlabelled),
        "outcomes": [outcome_words(outcome) for outcome in last.get("outcomes") or []],
        "can_learn": can_learn(engine, answers),
        "before_model": engine.model_state,
        "model": engine.model_status.model,
        "state": engine.model_status.as_json(engine.labels)["words"],
        "seconds": engine.model_status.seconds,
        "few": few_labels(answers, [known.name for known in engine.class_view.visible]),
        "offered": [known.name for known in engine.class_view.visible],
        "search_size": SIZE,
    }


def _is_left_aside(engine: Engine, answer: Answer) -> bool:
    """Whether an answer has a label that the model would learn from, were it not an accepted suggestion."""
    is_label = answer.label is not None and answer.item not in engine.schedule.reserved
    return is_label and not engine.settings.learns_from(answer)


def few_labels(answers: Mapping[str, Answer], names: Sequence[str]) -> list[str]:
    """Return the classes that have too few labels to be learnt well, once there are labels to compare with."""
    counts = Counter(answer.label for answer in answers.values() if answer.label is not None)
    return [name for name in names if counts[name] < FEW] if counts.total() >= FEW * len(names) else []


def counts_of(engine: Engine, answers: dict[str, Answer]) -> dict[str, Any]:
    """Return the number of labels, in all and of each class."""
    counts = Counter(answer.label for answer in answers.values() if answer.label is not None)
    kinds = Counter(answer.kind for answer in answers.values())
    most = max(counts.values(), default=0)
    return {
        "labels": engine.labels,
        "total": len(engine.schedule.ids),
        "classes": [
            (label_class.name, counts[label_class.name], counts[label_class.name] / most if most else 0.0)
            for label_class in engine.classes
        ],
        "skipped": kinds["skip"],
        "unsure": kinds["unsure"],
    }


def times_right(accuracy: dict[str, float]) -> dict[str, str]:
    """Return how often the model is right in words, rounded to what is known, with the interval rounded outward."""
    base = 10 if accuracy["high"] - accuracy["low"] > ROUGH else 100
    low, high = floor(100 * accuracy["low"] + 1e-9), ceil(100 * accuracy["high"] - 1e-9)
    return {"value": f"{base * accuracy['value']:.0f} in {base}", "range": f"{low} to {high} in 100"}


def advice_of(last: dict[str, Any], unlabelled: Mapping[str, int] = MappingProxyType({})) -> dict[str, Any] | None:
    """Return the advice to stop or to go on, in plain words with the numbers.

    Parameters
    ----------
    last : dict
        The last message of the model.
    unlabelled : mapping of str to int
        The number of items without a label, by the reason (`bemps.server.panels.outlook.without_label`).

    Returns
    -------
    dict or None
        The advice. None while the model has no opinion.
    """
    if not last.get("ready"):
        return None
    if not last["waiting"]:
        verdict = "Nothing is left for the model to choose." if unlabelled else "Everything is labelled."
        return {"stop": True, "verdict": verdict, "numbers": in_words(unlabelled), "reasons": []}
    advice, forecast = last["advice"], last.get("forecast")
    numbers = forecast_words(forecast, last.get("outcomes") or [])
    if advice["stop"]:
        return {"stop": True} | _stop_words(advice, numbers)
    if forecast is not None and not advice["rises"] and forecast["size"] < AHEAD:
        return {"stop": False, "verdict": LITTLE, "numbers": numbers, "reasons": []}
    if forecast is None or not advice["rises"]:
        verdict = SLOWER if forecast else MISSED if last.get("outcomes") else UNCLEAR
        return {"stop": False, "verdict": verdict, "numbers": numbers, "reasons": [ROUNDS] if forecast else []}
    return {"stop": False, "verdict": "Worth going on.", "numbers": numbers, "reasons": []}


def _stop_words(advice: dict[str, Any], numbers: str) -> dict[str, Any]:
    """Why one may stop; that little is to come is said once: by the forecast, or by three rounds where it says more."""
    reasons = list(advice["reasons"])
    if advice["little"]:
        numbers, reasons = ("", reasons) if advice["rises"] else (numbers, reasons[1:])
    return {"verdict": f"You may stop: {stop_reason(advice)}.", "numbers": numbers, "reasons": reasons}


def stop_reason(advice: Mapping[str, Any]) -> str:
    """Return why one may stop: for what three rounds expect, else for what they measured."""
    return "more labels are expected to help little" if advice["little"] else "the predictions hardly change any more"


def forecast_words(forecast: dict[str, Any] | None, outcomes: list[dict[str, Any]]) -> str:
    """Return what the next labels will bring in words, or why that is not known."""
    if forecast is None and outcomes:
        return "It is not known what more labels will bring: the last forecast was wrong here."
    if forecast is None:
        return "It is not yet known what more labels will bring: that takes the predictions of two rounds of 20 labels."
    about = 100 * forecast["mean"]
    middle = "fewer than 1 more" if about < 1 else f"about {about:.0f} more"
    size = forecast["size"]
    which = f"The next {size} labels are" if size >= AHEAD else f"The {size} labels that it can still learn from are"
    if size == 1:
        which = "The one label that it can still learn from is"
    return (
        f"{which} expected to make {middle} of 100 items right. "
        f"The likely range is {_change(forecast['low'], forecast['high'])}. Such ranges hold 9 times in 10."
    )


def outcome_words(outcome: dict[str, Any]) -> dict[str, str | bool]:
    """Return a row of the track record: the labels, the forecast, and the change on the audit items."""
    came = f"{100 * outcome['came']:+.0f} ({100 * outcome['came_low']:+.0f} to {100 * outcome['came_high']:+.0f})"
    return {
        "labels": f"{outcome['first']} to {outcome['last']}",
        "forecast": f"{_signed(floor(100 * outcome['low']))} to {_signed(ceil(100 * outcome['high']))}",
        "came": came.replace("-", "−"),
        "wrong": outcome["wrong"],
    }


def curve(points: list[list[Any]]) -> dict[str, Any] | None:
    """Accuracy over the labels with its interval, as coordinates of a small drawing; None before there is a line.

    A line ends where another kind of model took over.
    """
    if len(points) < 2:
        return None
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1)

    def point(labels: float, share: float) -> str:
        x = LEFT + (WIDTH - LEFT - 8) * (labels - first) / span
        return f"{x:.1f},{8 + (HEIGHT - BOTTOM - 8) * (1 - share):.1f}"

    parts = []
    for _, part in groupby(points, key=lambda p: p[MODEL] if len(p) > MODEL else ""):
        own = list(part)
        low, high = [point(p[0], p[2]) for p in own], [point(p[0], p[3]) for p in own]
        parts.append({"line": " ".join(point(p[0], p[1]) for p in own), "area": " ".join([*high, *reversed(low)])})
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "parts": parts,
        "end": tuple(point(points[-1][0], points[-1][1]).split(",")),
        "left": LEFT,
        "base": HEIGHT - BOTTOM,
        "now": f"{100 * points[-1][1]:.0f} %",
        "first": int(first),
        "last": int(last),
    }


def _change(low: float, high: float) -> str:
    """An interval of a change in words, rounded outward to whole items of 100."""
    least, most = floor(100 * low), ceil(100 * high)
    if least >= 0:
        return f"{least} to {most} more"
    return f"{-least} fewer to {most} more"


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−")
