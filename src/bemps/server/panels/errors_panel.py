"""Where the model errs, on the items that measure it: class by class, and which class it takes for which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bemps.project.confusion import ClassQuality, class_qualities, confusion_counts
from bemps.server.panels.progress_panel import curve

WIDEST = 8  # classes whose table fits into the panel
MOST_CONFUSIONS = 20


def errors_of(last: Mapping[str, Any], classes: Sequence[str]) -> dict[str, Any] | None:
    """Return everything that the panel shows, or None before the accuracy is measured."""
    guesses = (last.get("audit") or {}).get("guesses")
    if not guesses or max(map(max, guesses.values())) >= len(classes):
        return None
    truth, guess = np.array(list(guesses.values())).T
    counts = confusion_counts(truth, guess, len(classes))
    return {
        "size": len(truth),
        "qualities": sorted(class_qualities(counts, classes), key=_worst_first),
        "table": counts.tolist() if len(classes) <= WIDEST else None,
        "confusions": _confusions(counts.tolist(), classes),
        "classes": list(classes),
        "curve": curve(last.get("curve") or []),
    }


def with_positions(last: Mapping[str, Any], positions: Mapping[int, int]) -> dict[str, Any]:
    """The last report of the model, with the numbers of classes as positions in the present order."""
    audit = dict(last.get("audit") or {})
    if "guesses" in audit:
        rows = {item: [positions.get(number) for number in pair] for item, pair in audit["guesses"].items()}
        audit["guesses"] = {item: pair for item, pair in rows.items() if None not in pair}
    return {**last, "audit": audit}


def _worst_first(quality: ClassQuality) -> tuple[float, str]:
    """By how many of the class are missed, and of those found are wrong; classes without items last."""
    shares = [share.value for share in (quality.recall, quality.precision) if share is not None]
    return (min(shares) if shares else 2.0), quality.name


def _confusions(counts: list[list[int]], classes: Sequence[str]) -> list[tuple[str, str, int]]:
    """What it takes for what, the most frequent first."""
    wrong = [
        (classes[row], classes[column], count)
        for row, line in enumerate(counts)
        for column, count in enumerate(line)
        if count and row != column
    ]
    return sorted(wrong, key=lambda entry: -entry[2])[:MOST_CONFUSIONS]


def items_in_cell(last: Mapping[str, Any], classes: Sequence[str], truth: str, guess: str) -> list[str]:
    """Return the audit items in one cell of the confusion matrix.

    Parameters
    ----------
    last : mapping
        The last report of the model.
    classes : sequence of str
        The names of the classes, in order.
    truth : str
        The class that people gave.
    guess : str
        The class that the model gave.

    Returns
    -------
    list of str
        The ids of the items; none if a class is unknown.
    """
    if truth not in classes or guess not in classes:
        return []
    cell = [classes.index(truth), classes.index(guess)]
    guesses = (last.get("audit") or {}).get("guesses") or {}
    return [name for name, codes in guesses.items() if codes == cell]
