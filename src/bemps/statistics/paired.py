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

from bemps.statistics.area import area_under_curve
from bemps.statistics.curves import Curve, Results, Setting, interval
from bemps.statistics.metrics import METRICS
from bemps.statistics.pairwise import paired_t
from bemps.types import Array


@dataclass(frozen=True)
class PairTest:
    """How much better `first` is than `second` (in the direction that is better), over `seeds` seeds.

    difference, low, high   mean over seeds of the difference in area under the curve, and its 95 % interval
    p, corrected            of the two-sided paired t test, and after Holm's correction over all pairs
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
    """One test for each pair that shares two seeds in some setting, most certain first."""
    places = list(results.curves if settings is None else settings)
    found = [
        test
        for first, second in combinations(results.contestants, 2)
        if (test := _test(results, metric, places, first, second)) is not None
    ]
    corrected = holm(np.array([test.p for test in found]))
    tests = [replace(test, corrected=float(p)) for test, p in zip(found, corrected, strict=True)]
    return sorted(tests, key=lambda test: (test.corrected, test.p))


def holm(p: Float[Array, " n"]) -> Float[Array, " n"]:
    """Holm (1979): the i-th smallest of n times n - i + 1, made monotone, at most 1."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _test(results: Results, metric: str, places: list[Setting], first: str, second: str) -> PairTest | None:
    pairs = []
    for place in places:
        curves = results.with_metric(place, metric)
        if first in curves and second in curves:
            pairs.append((curves[first], curves[second]))
    seeds = sorted(set.intersection(*(set(a.seeds) & set(b.seeds) for a, b in pairs))) if pairs else []
    if len(seeds) < 2:
        return None
    by_seed = METRICS[metric].better * np.mean([_areas(a, b, metric, seeds) for a, b in pairs], axis=0)
    mean, low, high = interval(by_seed)
    return PairTest(
        first, second, len(seeds), len(pairs), float(mean), float(low), float(high), two_sided(by_seed), np.nan
    )


def _areas(first: Curve, second: Curve, metric: str, seeds: list[int]) -> Float[Array, " S"]:
    """Difference of the areas, seed by seed, as far as both curves go."""
    rounds = min(len(first.labels), len(second.labels))
    one, other = (
        area_under_curve(curve.labels[:rounds], curve.of(metric, seeds)[:, :rounds]) for curve in (first, second)
    )
    return one - other


def two_sided(difference: Float[Array, " n"]) -> float:
    """The p-value of a mean other than zero: 1 for no difference at all, 0 for the same one at every seed."""
    from scipy.stats import t

    return float(2 * t.sf(abs(paired_t(difference)), len(difference) - 1))
