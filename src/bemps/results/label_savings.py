"""Labels needed for a score, and what share of random's labels that saves.

    needed(curve, goal)  the first number of labels at which the seed-averaged curve reaches the goal, with straight
                         lines between rounds
    saving               1 - needed(strategy) / needed(random), all labels counted, the initial ones too

The default goal is the value that random reaches at its end. The interval of the saving turns t intervals over seeds
round. The strategy's distance to the goal is taken seed by seed, so that the error of the goal is in it. The strategy
needs at least the labels at which the upper end of the interval of that distance reaches zero, and at most those at
which the lower end does. Random needs at least what its mean curve needs, and at most what the lower end of its own
interval does. studies/interval_coverage.py measures how often such an interval holds the truth.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.metrics import METRICS
from bemps.results.learning_curves import Curve, interval
from bemps.types import Array

ENOUGH_SEEDS = 10


@dataclass(frozen=True)
class Saving:
    """The labels that a strategy and a baseline need for a goal, and the share saved.

    Attributes
    ----------
    goal : float
        The value of the metric to reach.
    needed, baseline : float
        Labels that the strategy and the baseline need; infinite if the goal is not reached.
    share : float
        1 - needed / baseline; minus infinity if the strategy does not reach the goal.
    low, high : float
        Interval of the share; NaN with fewer than two seeds, minus infinity where the goal may never be reached.
    seeds : int
        Number of common seeds.
    needed_low, needed_high : float
        Interval of `needed`.
    """

    goal: float
    needed: float
    baseline: float
    share: float
    low: float
    high: float
    seeds: int
    needed_low: float
    needed_high: float

    @property
    def interval_note(self) -> str:
        """What the interval is made from, with a warning where the seeds are few."""
        few = f"only {self.seeds} seeds, use {ENOUGH_SEEDS} or more"
        return f"95 %, t over {few if self.seeds < ENOUGH_SEEDS else f'{self.seeds} seeds'}"


def labels_to_reach(labels: Int[Array, " R"], curve: Float[Array, " R"], goal: float, *, better: int = 1) -> float:
    """The first number of labels at which a curve reaches a goal.

    Parameters
    ----------
    labels : array of int (R,)
        Number of labels in each round.
    curve : array of float (R,)
        The metric in each round.
    goal : float
        The value to reach.
    better : {1, -1}
        1: larger is better; -1: smaller is better.

    Returns
    -------
    float
        The labels, on the straight line between rounds; infinite if the goal is never reached.
    """
    reached = better * (curve - goal) >= 0
    if not reached.any():
        return float("inf")
    after = int(reached.argmax())
    if after == 0:
        return float(labels[0])
    before, rise = after - 1, float(curve[after] - curve[after - 1])
    return float(labels[before] + (goal - curve[before]) / rise * (labels[after] - labels[before]))


def saving(
    curve: Curve, baseline: Curve, metric: str, *, goal: float | None = None, confidence: float = 0.95
) -> Saving | None:
    """The share of labels that a strategy saves against a baseline.

    Parameters
    ----------
    curve : Curve
        The strategy.
    baseline : Curve
        The baseline, usually random.
    metric : str
        Name of the metric.
    goal : float, optional
        The value to reach. The default is the baseline's value at its end.
    confidence : float
        Confidence of the interval.

    Returns
    -------
    Saving or None
        The saving over the common seeds; None if there is no common seed.
    """
    seeds = sorted(set(curve.seeds) & set(baseline.seeds))
    if not seeds:
        return None
    ours, theirs, better = curve.values_of(metric, seeds), baseline.values_of(metric, seeds), METRICS[metric].better
    goals = theirs[:, -1:] if goal is None else np.full((len(seeds), 1), goal)
    needed, earliest, latest = _labels_needed(curve.labels, better * (ours - goals), confidence)
    reference, _, last = _labels_needed(baseline.labels, better * (theirs - goals), confidence)
    share, low, high = _share(needed, reference), _share(latest, reference), _share(earliest, last)
    if np.isinf(reference):
        share = low = high = float("nan")
    return Saving(float(goals.mean()), needed, reference, share, low, high, len(seeds), earliest, latest)


def _labels_needed(
    labels: Int[Array, " R"], distances: Float[Array, "S R"], confidence: float
) -> tuple[float, float, float]:
    """Labels at which the mean distance to the goal, and the upper and the lower end of its interval, reach zero."""
    mean, low, high = interval(distances, confidence)
    needed = labels_to_reach(labels, mean, 0.0)
    if len(distances) < 2:
        return needed, float("nan"), float("nan")
    return needed, labels_to_reach(labels, high, 0.0), labels_to_reach(labels, low, 0.0)


def _share(needed: float, reference: float) -> float:
    """1 - needed / reference; minus infinity where the goal is not reached."""
    return float("-inf") if np.isinf(needed) else 1 - needed / reference
