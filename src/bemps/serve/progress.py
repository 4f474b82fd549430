"""Where one is, for the progress panel: counts, speed, how often the model is right, what more labels bring."""

from collections import Counter
from math import ceil, floor
from typing import Any

from bemps.serve.engine import Engine
from bemps.store import Answer

WIDTH, HEIGHT, LEFT, BOTTOM = 350.0, 130.0, 44.0, 20.0
ROUGH = 0.15  # with an interval wider than this the accuracy is told in tenths


def progress_of(engine: Engine, annotator: str, answers: dict[str, Answer]) -> dict[str, Any]:
    """Everything that the panel shows."""
    last = engine.insight.last
    audit = last.get("audit")
    return counts_of(engine, answers) | {
        "measuring": sum(answers[name].label is not None for name in engine.board.audit if name in answers),
        "speed": 60 * engine.desk(annotator).speed,
        "team_speed": 60 * sum(desk.speed for desk in engine.desks.values()),
        "people": sum(desk.speed > 0 for desk in engine.desks.values()),
        "curve": curve(last.get("curve") or []),
        "audit": audit,
        "times_right": times_right(audit["accuracy"]) if audit and "accuracy" in audit else None,
        "audit_share": engine.board.audit_share,
        "advice": advice_of(last),
        "outcomes": [outcome_words(one) for one in last.get("outcomes") or []],
        "before_model": engine.model_state,
        "model": engine.insight.model,
        "state": engine.insight.told(engine.labels)["words"],
        "seconds": engine.insight.seconds,
    }


def counts_of(engine: Engine, answers: dict[str, Answer]) -> dict[str, Any]:
    """How many labels there are, in all and of each class."""
    counts = Counter(answer.label for answer in answers.values() if answer.label is not None)
    kinds = Counter(answer.kind for answer in answers.values())
    most = max(counts.values(), default=0)
    return {
        "labels": engine.labels,
        "total": len(engine.board.ids),
        "classes": [(one.name, counts[one.name], counts[one.name] / most if most else 0.0) for one in engine.classes],
        "skipped": kinds["skip"],
        "unsure": kinds["unsure"],
    }


def times_right(accuracy: dict[str, float]) -> dict[str, str]:
    """How often the model is right, as people say it: no finer than it is known; the interval rounded outward."""
    base = 10 if accuracy["high"] - accuracy["low"] > ROUGH else 100
    low, high = floor(100 * accuracy["low"] + 1e-9), ceil(100 * accuracy["high"] - 1e-9)
    return {"value": f"{base * accuracy['value']:.0f} in {base}", "range": f"{low} to {high} in 100"}


def advice_of(last: dict[str, Any]) -> dict[str, Any] | None:
    """Stop or go on, in plain words with the numbers; None while the model has no opinion."""
    if not last.get("ready"):
        return None
    if not last["waiting"]:
        return {"stop": True, "verdict": "Everything is labelled.", "numbers": "", "reasons": []}
    stop = last["advice"]["stop"]
    verdict = "You may stop: more labels would change little." if stop else "Worth going on."
    numbers, reasons = forecast_words(last.get("forecast"), last.get("outcomes") or []), last["advice"]["reasons"]
    return {"stop": stop, "verdict": verdict, "numbers": numbers, "reasons": list(reasons)}


def forecast_words(forecast: dict[str, Any] | None, outcomes: list[dict[str, Any]]) -> str:
    """What the next labels bring, or why that is not known."""
    if forecast is None and outcomes:
        return "What more labels will bring is not known: the last forecast was wrong here."
    if forecast is None:
        return (
            "What more labels will bring is not yet known: the predictions have to be compared over two rounds of 20."
        )
    about = 100 * forecast["mean"]
    middle = "fewer than 1 more" if about < 1 else f"about {about:.0f} more"
    return (
        f"The next {forecast['size']} labels are expected to make {middle} of 100 items right "
        f"(9 times in 10: {_change(forecast['low'], forecast['high'])})."
    )


def outcome_words(outcome: dict[str, Any]) -> dict[str, str | bool]:
    """A row of the track record: which labels, the forecast, what came on the audit items."""
    came = f"{100 * outcome['came']:+.0f} ({100 * outcome['came_low']:+.0f} to {100 * outcome['came_high']:+.0f})"
    return {
        "labels": f"{outcome['first']} to {outcome['last']}",
        "forecast": f"{_signed(floor(100 * outcome['low']))} to {_signed(ceil(100 * outcome['high']))}",
        "came": came.replace("-", "−"),
        "wrong": outcome["wrong"],
    }


def curve(points: list[list[float]]) -> dict[str, Any] | None:
    """Accuracy over the labels with its interval, as coordinates of a small drawing; None before there is a line."""
    if len(points) < 2:
        return None
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1)

    def place(labels: float, share: float) -> str:
        x = LEFT + (WIDTH - LEFT - 8) * (labels - first) / span
        return f"{x:.1f},{8 + (HEIGHT - BOTTOM - 8) * (1 - share):.1f}"

    low, high = [place(p[0], p[2]) for p in points], [place(p[0], p[3]) for p in points]
    line = [place(p[0], p[1]) for p in points]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "line": " ".join(line),
        "area": " ".join([*high, *reversed(low)]),
        "end": tuple(line[-1].split(",")),
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
