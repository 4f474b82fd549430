"""A paired test over seeds, corrected for the number of pairs.

The counting of the paper takes five points of one averaged curve for five independent observations, which they are
not. Seeds are independent: for each seed the difference of the areas under the two curves, averaged over the settings,
is one observation; a two-sided t test over seeds, and Holm's correction over all pairs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float

from bemps.metrics import METRICS
from bemps.results.area import area_under_curve
from bemps.results.learning_curves import Curve, Results, Setting, interval
from bemps.results.win_matrix import paired_t
from bemps.types import Array


@dataclass(frozen=True)
class PairTest:
    """A paired t test over seeds of two contestants.

    Attributes
    ----------
    first, second : str
        The contestants.
    seeds, settings : int
        How many seeds and settings both have.
    difference, low, high : float
        Mean over seeds of the difference in area under the curve, and its 95 % interval. Positive: `first` is better.
    p, corrected : float
        The two-sided p-value, and the same after Holm's correction over all pairs.

    Notes
    -----
    Where every seed has the same difference, other than zero, the spread over seeds is not known: on small test sets
    measures are steps of a coarse scale. Then the ends and both p-values are NaN.
    """

    first: str
    second: str
    seeds: int
    settings: int
    difference: float
    low: float
    high: float
    p: float
    corrected: float


def paired_tests(results: Results, metric: str, settings: Iterable[Setting] | None = None) -> list[PairTest]:
    """Test every pair of contestants that share two seeds in some setting.

    Parameters
    ----------
    results : Results
        The curves of a run.
    metric : str
        Name of the metric.
    settings : iterable of Setting, optional
        The settings to average over. The default is all.

    Returns
    -------
    list of PairTest
        The tests, smallest p-value first.
    """
    compared_settings = list(results.curves if settings is None else settings)
    uncorrected = [
        test
        for first, second in combinations(results.contestants, 2)
        if (test := _test(results, metric, compared_settings, first, second)) is not None
    ]
    corrected = holm(np.array([test.p for test in uncorrected]))
    tests = [replace(test, corrected=float(p)) for test, p in zip(uncorrected, corrected, strict=True)]
    return sorted(tests, key=lambda test: (np.isnan(test.p), test.corrected, test.p))


def holm(p: Float[Array, " n"]) -> Float[Array, " n"]:
    """Correct p-values for multiple tests by Holm's method (1979).

    Parameters
    ----------
    p : array of float (n,)
        The p-values. NaN where there was no test.

    Returns
    -------
    array of float (n,)
        The i-th smallest of n times n - i + 1, made monotone, at most 1; n counts the tests. NaN stays.
    """
    order = np.argsort(p, kind="stable")[: np.isfinite(p).sum()]  # NaN comes last
    stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _test(results: Results, metric: str, settings: list[Setting], first: str, second: str) -> PairTest | None:
    pairs = []
    for setting in settings:
        curves = results.with_metric(setting, metric)
        if first in curves and second in curves:
            pairs.append((curves[first], curves[second]))
    seeds = sorted(set.intersection(*(set(a.seeds) & set(b.seeds) for a, b in pairs))) if pairs else []
    if len(seeds) < 2:
        return None
    by_seed = METRICS[metric].better * np.mean([_areas(a, b, metric, seeds) for a, b in pairs], axis=0)
    mean, low, high = interval(by_seed)
    p = two_sided_p(by_seed)
    if np.isnan(p):
        low, high = low * np.nan, high * np.nan
    return PairTest(first, second, len(seeds), len(pairs), float(mean), float(low), float(high), p, np.nan)


def _areas(first: Curve, second: Curve, metric: str, seeds: list[int]) -> Float[Array, " S"]:
    """The difference of the areas for each seed, over the rounds that both curves have."""
    rounds = min(len(first.labels), len(second.labels))
    first_areas, second_areas = (
        area_under_curve(curve.labels[:rounds], curve.values_of(metric, seeds)[:, :rounds]) for curve in (first, second)
    )
    return first_areas - second_areas


def two_sided_p(difference: Float[Array, " n"]) -> float:
    """The two-sided p-value of a mean of zero: 1 if all are zero, NaN if all are the same other number."""
    from scipy.stats import t

    statistic = paired_t(difference)
    return float(2 * t.sf(abs(statistic), len(difference) - 1)) if np.isfinite(statistic) else np.nan
