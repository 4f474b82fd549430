"""Where one is, for the progress panel: counts, speed, what is left to gain, honest accuracy, and whether to stop."""

import math
from collections import Counter
from typing import Any

from bemps.serve.engine import Engine
from bemps.store import Answer

WIDTH, HEIGHT, LEFT, BOTTOM = 350.0, 130.0, 44.0, 20.0


def progress_of(engine: Engine, annotator: str, answers: dict[str, Answer]) -> dict[str, Any]:
    """Everything that the panel shows."""
    return counts_of(engine, answers) | {
        "speed": 60 * engine.desk(annotator).speed,
        "team_speed": 60 * sum(desk.speed for desk in engine.desks.values()),
        "people": sum(desk.speed > 0 for desk in engine.desks.values()),
        "curve": curve(engine.insight.curve),
        "audit": engine.insight.last.get("audit"),
        "audit_share": engine.board.audit_share,
        "advice": advice_of(engine.insight.last),
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


def advice_of(last: dict[str, Any]) -> dict[str, Any] | None:
    """Stop or go on, in plain words with the numbers; None while the model has no opinion."""
    if not last.get("ready"):
        return None
    told = last.get("forecast")
    if told is None:
        return {"stop": True, "verdict": "Everything is labelled.", "numbers": "", "reasons": []}
    digits = max(4, math.ceil(-math.log10(max(told["error"], 1e-8))))
    numbers = (
        f"The next {told['size']} labels are expected to improve the Brier score by "
        f"{told['gain']:.{digits}f} ± {told['error']:.{digits}f}, of {last['remaining']:.4f} that is left to gain."
    )
    stop = last["advice"]["stop"]
    verdict = "You may stop: little is left to gain." if stop else "Worth going on."
    return {"stop": stop, "verdict": verdict, "numbers": numbers, "reasons": list(last["advice"]["reasons"])}


def curve(points: list[list[float]]) -> dict[str, Any] | None:
    """The remaining gain over the labels, as coordinates of a small drawing; None before there is a line."""
    if len(points) < 2:
        return None
    first, last = points[0][0], max(point[0] for point in points)
    top = max(point[1] for point in points) or 1.0
    span = max(last - first, 1)
    across = [LEFT + (WIDTH - LEFT - 8) * (labels - first) / span for labels, _ in points]
    up = [8 + (HEIGHT - BOTTOM - 8) * (1 - gain / top) for _, gain in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))
    base = HEIGHT - BOTTOM
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "line": line,
        "area": f"{across[0]:.1f},{base} {line} {across[-1]:.1f},{base}",
        "end": (round(across[-1], 1), round(up[-1], 1)),
        "left": LEFT,
        "base": base,
        "top": f"{top:.3f}",
        "now": f"{points[-1][1]:.4f}",
        "first": int(first),
        "last": int(last),
    }
