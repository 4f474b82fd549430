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

from bemps.metrics import METRICS
from bemps.results.learning_curves import Curve, Results, Setting
from bemps.types import Array

COMPARED_POINTS = 5
CRITICAL_T = 2.776


@dataclass(frozen=True, eq=False)
class Pairwise:
    """The paper's matrix of wins.

    Attributes
    ----------
    names : tuple of str
        The contestants.
    wins : array of int (C, C)
        wins[i, j]: settings in which contestant i beats contestant j.
    compared : array of int (C, C)
        Settings in which the two could be compared.
    notes : tuple of str
        Pairs that could not be compared, and why.
    """

    names: tuple[str, ...]
    wins: Int[Array, "C C"]
    compared: Int[Array, "C C"]
    notes: tuple[str, ...] = ()

    @property
    def totals(self) -> Int[Array, " C"]:
        """The wins of each contestant against all others: the paper's last column."""
        return self.wins.sum(1)

    def ranked(self) -> "Pairwise":
        """The same matrix with the contestants sorted by wins.

        Returns
        -------
        Pairwise
            The contestant with the most wins first.
        """
        order = np.argsort(-self.totals, kind="stable")
        square = np.ix_(order, order)
        return Pairwise(
            tuple(self.names[i] for i in order.tolist()), self.wins[square], self.compared[square], self.notes
        )


def pairwise_matrix(results: Results, metric: str, settings: Iterable[Setting] | None = None) -> Pairwise:
    """Count the wins of every contestant against every other.

    Parameters
    ----------
    results : Results
        The curves of a run.
    metric : str
        Name of the metric.
    settings : iterable of Setting, optional
        The settings to count. The default is all. For a matrix of one batch size, pass its settings.

    Returns
    -------
    Pairwise
        The matrix of wins.
    """
    names = results.contestants
    wins = np.zeros((len(names), len(names)), dtype=np.int64)
    compared, notes = np.zeros_like(wins), []
    for setting in results.curves if settings is None else settings:
        curves = results.with_metric(setting, metric)
        for (i, first), (j, second) in combinations(enumerate(names), 2):
            if first not in curves or second not in curves:
                continue
            t = t_score(*common_means(curves[first], curves[second], metric)) * METRICS[metric].better
            if np.isnan(t):
                notes.append(
                    f"{first} and {second} on {setting}: no {COMPARED_POINTS} common rounds or no common seed."
                )
                continue
            compared[[i, j], [j, i]] += 1
            wins[i, j] += t > CRITICAL_T
            wins[j, i] += t < -CRITICAL_T
    return Pairwise(names, wins, compared, tuple(notes))


def common_means(first: Curve, second: Curve, metric: str) -> tuple[Float[Array, " R"], Float[Array, " R"]]:
    """Average two curves over their common seeds, for the rounds that both have.

    Parameters
    ----------
    first : Curve
        A curve.
    second : Curve
        Another curve.
    metric : str
        Name of the metric.

    Returns
    -------
    tuple of arrays of float (R,)
        Both means.
    """
    seeds = sorted(set(first.seeds) & set(second.seeds))
    rounds = min(len(first.labels), len(second.labels)) if seeds else 0
    if not rounds:
        return np.empty(0), np.empty(0)
    return first.values_of(metric, seeds)[:, :rounds].mean(0), second.values_of(metric, seeds)[:, :rounds].mean(0)


def spaced_rounds(rounds: int) -> Int[Array, " P"]:
    """Positions of five maximally spaced rounds after the first; empty if there are fewer than five."""
    if rounds - 1 < COMPARED_POINTS:
        return np.empty(0, dtype=np.int64)
    return np.floor(np.arange(1, COMPARED_POINTS + 1) * (rounds - 1) / COMPARED_POINTS + 0.5).astype(np.int64)


def t_score(first: Float[Array, " R"], second: Float[Array, " R"]) -> float:
    """t of the five differences: infinite for a constant difference, 0 for none, NaN for fewer than five."""
    rounds = spaced_rounds(len(first))
    if not len(rounds):
        return float("nan")
    difference = first[rounds] - second[rounds]
    return paired_t(difference)


def paired_t(difference: Float[Array, " n"]) -> float:
    """sqrt(n) mean / sd; a standard deviation within rounding counts as zero."""
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    rounding = 1e-12
    if abs(mean) <= rounding and spread <= rounding:
        return 0.0
    if spread <= rounding * max(1.0, abs(mean)):
        return float(np.copysign(np.inf, mean))
    return float(np.sqrt(len(difference)) * mean / spread)
