"""Labels needed for a score, and what share of random's labels that saves.

    needed(curve, goal)  the first number of labels at which the seed-averaged curve reaches the goal, with straight
                         lines between rounds
    saving               1 - needed(strategy) / needed(random), all labels counted, the initial ones too

The goal, unless given, is what random reaches at its end. The interval resamples seeds (the same for both), and with
them the goal. With few seeds such an interval is too short: three, five and ten seeds drawn from twenty of AG NEWS,
IMDB and csabstruct had the saving of all twenty inside in the shares of COVERAGE, where 95 of 100 was the aim.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.statistics.curves import Curve
from bemps.statistics.metrics import METRICS
from bemps.types import Array

ENOUGH_SEEDS = 10
COVERAGE = {3: (60, 79), 5: (75, 87), 10: (83, 91)}  # seeds: least and most of 100 intervals that hold the truth


@dataclass(frozen=True)
class Saving:
    """Labels of both for the goal (infinite: not reached) and the share saved with its bootstrap interval.

    A saving of minus infinity says that the goal was not reached; low and high are NaN with fewer than two seeds.
    """

    goal: float
    needed: float
    baseline: float
    share: float
    low: float
    high: float
    seeds: int

    @property
    def interval_note(self) -> str:
        """What the interval is worth, for people."""
        least, most = COVERAGE[max((n for n in COVERAGE if n <= self.seeds), default=min(COVERAGE))]
        share = f"about {least} to {most}" if self.seeds <= ENOUGH_SEEDS else f"{least} or more"
        only = "only " if self.seeds < ENOUGH_SEEDS else ""
        return f"bootstrap over {only}{self.seeds} seeds, meant for 95 of 100 cases, true in {share}"


def labels_to_reach(labels: Int[Array, " R"], curve: Float[Array, " R"], goal: float, *, better: int = 1) -> float:
    """The first number of labels at which the curve is at the goal or beyond it; infinite if it never is."""
    return float(_needed(labels, curve[None], np.array([goal]), better)[0])


def saving(
    curve: Curve,
    baseline: Curve,
    metric: str,
    rng: np.random.Generator,
    *,
    goal: float | None = None,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Saving | None:
    """What `curve` saves against `baseline` over the seeds they share; None if they share none."""
    seeds = sorted(set(curve.seeds) & set(baseline.seeds))
    if not seeds:
        return None
    drawn = rng.multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), size=draws)
    weights = np.vstack([np.ones(len(seeds)), drawn]) / len(seeds)  # the seeds as they are, then the resamples
    ours, theirs = weights @ curve.of(metric, seeds), weights @ baseline.of(metric, seeds)
    goals = theirs[:, -1] if goal is None else np.full(len(weights), goal)
    better = METRICS[metric].better
    needed, reference = _needed(curve.labels, ours, goals, better), _needed(baseline.labels, theirs, goals, better)
    shares = _share(needed, reference)
    low, high = _quantiles(shares[1:], confidence) if len(seeds) > 1 else (float("nan"), float("nan"))
    aim, ours_needed, theirs_needed, share = (float(found[0]) for found in (goals, needed, reference, shares))
    return Saving(aim, ours_needed, theirs_needed, share, low, high, len(seeds))


def _needed(
    labels: Int[Array, " R"], curves: Float[Array, "D R"], goals: Float[Array, " D"], better: int
) -> Float[Array, " D"]:
    """Labels at the first crossing of each curve, on the straight line from the round before."""
    there = better * (curves - goals[:, None]) >= 0
    after = there.argmax(1)
    before = np.maximum(after - 1, 0)
    rows = np.arange(len(curves))
    low, high = curves[rows, before], curves[rows, after]
    part = np.divide(goals - low, high - low, out=np.ones(len(curves)), where=(after > 0) & (high != low))
    found = labels[before] + part * (labels[after] - labels[before])
    return np.where(there.any(1), found, np.inf)


def _share(needed: Float[Array, " D"], reference: Float[Array, " D"]) -> Float[Array, " D"]:
    """1 - needed / reference; NaN where the baseline itself never reaches the goal (possible with a given goal)."""
    return 1 - np.divide(needed, reference, out=np.full(len(needed), np.nan), where=np.isfinite(reference))


def _quantiles(shares: Float[Array, " n"], confidence: float) -> tuple[float, float]:
    """Ends of the percentile interval without interpolation, so that minus infinity stays what it is."""
    known = shares[~np.isnan(shares)]
    if not len(known):
        return float("nan"), float("nan")
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)
