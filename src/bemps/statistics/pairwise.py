"""The paper's pairwise comparison matrix: how often does one contestant beat another?

For a pair and a setting, d_1..d_5 are the differences of the seed-averaged curves at five maximally spaced numbers of
acquired labels, the last at the end and none at the start, where all are equal. With t = sqrt(5) mean(d) / sd(d),
t > 2.776 (two-sided p < .05 at four degrees of freedom) is a win of the first, t < -2.776 one of the second.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from bemps.statistics.curves import Curve, Results, Setting
from bemps.statistics.metrics import METRICS
from bemps.types import Array

POINTS = 5
CRITICAL = 2.776


@dataclass(frozen=True, eq=False)
class Pairwise:
    """wins[i, j]: settings in which contestant i beats j; compared[i, j]: settings in which they could be compared."""

    names: tuple[str, ...]
    wins: Int[Array, "C C"]
    compared: Int[Array, "C C"]
    notes: tuple[str, ...] = ()

    @property
    def totals(self) -> Int[Array, " C"]:
        """Wins of each against all others: the paper's last column."""
        return self.wins.sum(1)

    def ranked(self) -> "Pairwise":
        """The same with the most wins first."""
        order = np.argsort(-self.totals, kind="stable")
        square = np.ix_(order, order)
        return Pairwise(
            tuple(self.names[i] for i in order.tolist()), self.wins[square], self.compared[square], self.notes
        )


def pairwise_matrix(results: Results, metric: str, settings: Iterable[Setting] | None = None) -> Pairwise:
    """The counts over these settings, over all without. Give those of one batch size for a matrix of its own."""
    names = results.contestants
    wins = np.zeros((len(names), len(names)), dtype=np.int64)
    compared, notes = np.zeros_like(wins), []
    for place in results.curves if settings is None else settings:
        curves = results.with_metric(place, metric)
        for (i, first), (j, second) in combinations(enumerate(names), 2):
            if first not in curves or second not in curves:
                continue
            t = t_score(*averaged(curves[first], curves[second], metric)) * METRICS[metric].better
            if np.isnan(t):
                notes.append(f"{first} and {second} on {place}: no {POINTS} common rounds or no common seed.")
                continue
            compared[[i, j], [j, i]] += 1
            wins[i, j] += t > CRITICAL
            wins[j, i] += t < -CRITICAL
    return Pairwise(names, wins, compared, tuple(notes))


def averaged(first: Curve, second: Curve, metric: str) -> tuple[Float[Array, " R"], Float[Array, " R"]]:
    """Both curves over the seeds they share, as far as both go."""
    seeds = sorted(set(first.seeds) & set(second.seeds))
    rounds = min(len(first.labels), len(second.labels)) if seeds else 0
    if not rounds:
        return np.empty(0), np.empty(0)
    return first.of(metric, seeds)[:, :rounds].mean(0), second.of(metric, seeds)[:, :rounds].mean(0)


def spaced(rounds: int) -> Int[Array, " P"]:
    """Positions of five maximally spaced rounds after the first; none where there are fewer than five."""
    if rounds - 1 < POINTS:
        return np.empty(0, dtype=np.int64)
    return np.floor(np.arange(1, POINTS + 1) * (rounds - 1) / POINTS + 0.5).astype(np.int64)


def t_score(first: Float[Array, " R"], second: Float[Array, " R"]) -> float:
    """t of the five differences; infinite for a constant difference, 0 for none, NaN where there are not five."""
    places = spaced(len(first))
    if not len(places):
        return float("nan")
    difference = first[places] - second[places]
    return paired_t(difference)


def paired_t(difference: Float[Array, " n"]) -> float:
    """sqrt(n) mean / sd; a spread that is only rounding counts as none."""
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    rounding = 1e-12
    if abs(mean) <= rounding and spread <= rounding:
        return 0.0
    if spread <= rounding * max(1.0, abs(mean)):
        return float(np.copysign(np.inf, mean))
    return float(np.sqrt(len(difference)) * mean / spread)
