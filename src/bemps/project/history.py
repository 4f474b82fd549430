"""The rounds of a project: what was forecast after each, and what its model said of the audit items.

Every model is judged by the same audit items, also by those that got their label later: its predictions for the whole
slice are kept. So a curve of accuracy never compares different items, and a forecast is held against what came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import sqrt
from typing import Any

from bemps.learner.forecast_calibration import ROUND
from bemps.metrics import Share, wilson

AHEAD = 100  # labels that a forecast is about
MOST_ITEMS = 300  # audit items whose predictions are kept
MOST_ROUNDS = 200
Z = 1.959964


@dataclass(frozen=True)
class Round:
    """One round of learning.

    Attributes
    ----------
    labels : int
        The number of labels that the model learnt from.
    changed : float or None
        The share of the predictions that changed since the round before. None if it is not known.
    forecast : tuple of float or None
        The forecast for the next AHEAD labels: mean, low, high.
    codes : tuple of int
        The number of the predicted class of each audit item, which never changes.
    model : str
        The kind of the model. Rounds of different kinds are not compared.
    """

    labels: int
    changed: float | None
    forecast: tuple[float, float, float] | None  # mean, low, high
    codes: tuple[int, ...]
    model: str = ""


@dataclass(frozen=True)
class Outcome:
    """A forecast, and the change in accuracy that followed.

    Attributes
    ----------
    first, last : int
        The numbers of labels between which the change is measured.
    low, high : float
        The interval of the forecast.
    came : float
        The change that was measured.
    came_low, came_high : float
        The 95 % interval of that change.
    size : int
        The number of audit items that it was measured on.
    """

    first: int
    last: int
    low: float
    high: float
    came: float
    came_low: float
    came_high: float
    size: int

    @property
    def wrong(self) -> bool:
        """Whether the measured change, with its own error, lies outside the forecast."""
        return self.came_high < self.low or self.came_low > self.high


class History:
    """Rounds, oldest first; `items` names the audit items that the codes belong to."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.items: list[str] = list(saved.get("items", []))
        self.counted: Mapping[int, int] = {}  # the number of a class to that of the class which it counts as now
        self.rounds = [
            Round(
                row["labels"],
                row["changed"],
                row["forecast"] and tuple(row["forecast"]),
                tuple(row["codes"]),
                row.get("model", ""),
            )
            for row in saved.get("rounds", [])
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the history as values for JSON."""
        return {"items": self.items, "rounds": [vars(round_) for round_ in self.rounds]}

    def is_due(self, labels: int, model: str = "") -> bool:
        """Return whether a round is due: enough labels came, labels were taken back, or the kind of model changed."""
        self.rounds = [round_ for round_ in self.rounds if round_.labels <= labels]
        return not self._rounds_of(model) or labels >= self.rounds[-1].labels + ROUND

    def name_items(self, audit: Sequence[str]) -> list[str]:
        """Add new audit items after the known ones, and return all items to predict in this order."""
        known = set(self.items)
        self.items += [name for name in audit if name not in known][: MOST_ITEMS - len(self.items)]
        return self.items

    def add(self, new: Round) -> None:
        """Add a round; if there are too many, every second of the older rounds is dropped."""
        self.rounds.append(new)
        if len(self.rounds) > MOST_ROUNDS:
            self.rounds = [*self.rounds[: -MOST_ROUNDS // 2 : 2], *self.rounds[-MOST_ROUNDS // 2 :]]

    def changes(self, rounds: int, model: str = "") -> list[float]:
        """Shares of predictions that changed, of the last rounds where that is known: not right after a start."""
        return [round_.changed for round_ in self._rounds_of(model) if round_.changed is not None][-rounds:]

    def accuracies(self, truth: Mapping[str, int]) -> list[tuple[Round, Share, int]]:
        """Round, accuracy and the number of items, where the model of the round saw all items that have a label now."""
        points = []
        for round_ in self.rounds:
            right = self._right(round_, truth)
            if len(right) == self._labelled(truth) and right:
                points.append((round_, wilson(sum(right.values()), len(right)), len(right)))
        return points

    def outcomes(self, truth: Mapping[str, int]) -> list[Outcome]:
        """Forecasts whose labels have come since, one after the other, none overlapping, none across a change."""
        outcomes: list[Outcome] = []
        start = 0
        for end, last in enumerate(self.rounds):
            first = self.rounds[start]
            if first.forecast is None or first.model != last.model:
                start = end
            elif last.labels >= first.labels + AHEAD:
                outcomes += self._outcome(first, last, truth)
                start = end
        return outcomes

    def _outcome(self, first: Round, last: Round, truth: Mapping[str, int]) -> list[Outcome]:
        before, after = self._right(first, truth), self._right(last, truth)
        both = before.keys() & after.keys()
        if first.forecast is None or not both:
            return []
        better = sum(after[name] and not before[name] for name in both)
        worse = sum(before[name] and not after[name] for name in both)
        came, low, high = paired_change(better, worse, len(both))
        _, least, most = first.forecast
        return [Outcome(first.labels, last.labels, least, most, came, low, high, len(both))]

    def _rounds_of(self, model: str) -> list[Round]:
        """The last rounds, back to a change of the model."""
        own = list(takewhile(lambda round_: round_.model == model, reversed(self.rounds)))
        return own[::-1]

    def _right(self, round_: Round, truth: Mapping[str, int]) -> dict[str, bool]:
        guesses = zip(self.items, round_.codes, strict=False)
        return {name: truth[name] == self.counted.get(code, code) for name, code in guesses if name in truth}

    def _labelled(self, truth: Mapping[str, int]) -> int:
        return sum(name in truth for name in self.items)


def paired_change(better: int, worse: int, n: int) -> tuple[float, float, float]:
    """Return the change of a share on the same n items, and its 95 % interval.

    By Agresti and Min (2005): half an item is added to each cell, so that it holds also where nothing has changed.

    Parameters
    ----------
    better : int
        The number of items that became right.
    worse : int
        The number of items that became wrong.
    n : int
        The number of items.

    Returns
    -------
    tuple of float
        The change, and the two ends of its interval.
    """
    total, up, down = n + 2, better + 0.5, worse + 0.5
    middle = (up - down) / total
    half = Z * sqrt(up + down - (up - down) ** 2 / total) / total
    return (better - worse) / n, max(-1.0, middle - half), min(1.0, middle + half)
