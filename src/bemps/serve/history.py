"""The rounds of a project: what was forecast after each, and what its model said of the audit items.

Every model is judged by the same audit items, also by those that got their label later: its predictions for the whole
slice are kept. So a curve of accuracy never compares different items, and a forecast is held against what came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from bemps.learner.forecast_calibration import ROUND
from bemps.statistics.audit import Share, wilson

AHEAD = 100  # labels that a forecast is about
MOST_ITEMS = 300  # audit items whose predictions are kept
MOST_ROUNDS = 200
Z = 1.959964


@dataclass(frozen=True)
class Round:
    """labels that were learnt from; the forecast of the next AHEAD, if any; codes of the classes, by audit item."""

    labels: int
    changed: float | None
    forecast: tuple[float, float, float] | None  # mean, low, high
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """A forecast and what came: the change in accuracy on `size` audit items, with its 95 % interval."""

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
        """What was measured, with its own error, lies outside of what was forecast."""
        return self.came_high < self.low or self.came_low > self.high


class History:
    """Rounds, oldest first; `items` names the audit items that the codes belong to."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.items: list[str] = list(saved.get("items", []))
        self.rounds = [
            Round(one["labels"], one["changed"], one["forecast"] and tuple(one["forecast"]), tuple(one["codes"]))
            for one in saved.get("rounds", [])
        ]

    def as_json(self) -> dict[str, Any]:
        return {"items": self.items, "rounds": [vars(one) for one in self.rounds]}

    def is_due(self, labels: int) -> bool:
        """A round has passed since the last, or labels were taken back beyond it."""
        self.rounds = [one for one in self.rounds if one.labels <= labels]
        return not self.rounds or labels >= self.rounds[-1].labels + ROUND

    def name_items(self, audit: Sequence[str]) -> list[str]:
        """The audit items to predict, in an order that stays; new ones come after those that are there."""
        known = set(self.items)
        self.items += [name for name in audit if name not in known][: MOST_ITEMS - len(self.items)]
        return self.items

    def add(self, new: Round) -> None:
        self.rounds.append(new)
        if len(self.rounds) > MOST_ROUNDS:
            self.rounds = [*self.rounds[: -MOST_ROUNDS // 2 : 2], *self.rounds[-MOST_ROUNDS // 2 :]]

    def changes(self, rounds: int) -> list[float]:
        """Shares of predictions that changed, of the last rounds where that is known: not right after a start."""
        return [one.changed for one in self.rounds if one.changed is not None][-rounds:]

    def accuracies(self, truth: Mapping[str, int]) -> list[tuple[int, Share, int]]:
        """Labels, accuracy and the number of items, of every round whose model saw all items that have a label now."""
        found = []
        for one in self.rounds:
            right = self._right(one, truth)
            if len(right) == self._labelled(truth) and right:
                found.append((one.labels, wilson(sum(right.values()), len(right)), len(right)))
        return found

    def outcomes(self, truth: Mapping[str, int]) -> list[Outcome]:
        """Forecasts whose labels have come since, one after the other, none overlapping."""
        found: list[Outcome] = []
        start = 0
        for end, last in enumerate(self.rounds):
            first = self.rounds[start]
            if first.forecast is None:
                start = end
            elif last.labels >= first.labels + AHEAD:
                found += self._outcome(first, last, truth)
                start = end
        return found

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

    def _right(self, one: Round, truth: Mapping[str, int]) -> dict[str, bool]:
        guesses = zip(self.items, one.codes, strict=False)
        return {name: truth[name] == code for name, code in guesses if name in truth}

    def _labelled(self, truth: Mapping[str, int]) -> int:
        return sum(name in truth for name in self.items)


def paired_change(better: int, worse: int, n: int) -> tuple[float, float, float]:
    """The change of a share on the same n items, and its 95 % interval.

    By Agresti and Min (2005): half an item is added to each cell, so that it holds also where nothing has changed.
    """
    total, up, down = n + 2, better + 0.5, worse + 0.5
    middle = (up - down) / total
    half = Z * sqrt(up + down - (up - down) ** 2 / total) / total
    return (better - worse) / n, max(-1.0, middle - half), min(1.0, middle + half)
