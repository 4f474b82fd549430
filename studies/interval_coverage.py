"""How often the interval of labels saved holds the truth: python studies/interval_coverage.py [--draws 300]

The truth is the saving of the mean curves of twenty seeds (words-ten and words-fresh). Three, five, ten and twenty
seeds are drawn from these with replacement, and each draw gives an interval: by turning t intervals round, as
`bemps.results.saving` does, and by the percentile bootstrap over seeds that it used before. Of 100 intervals 95 should
hold the truth.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Int
from tables import METRIC, percent, results_of

from bemps.results import Curve, saving
from bemps.types import Array

SEEDS = (3, 5, 10, 20)
STRATEGIES = ("corelog-ties", "margin-km")
RESAMPLES = 300
Method = Callable[[Curve, Curve, np.random.Generator], tuple[float, float]]


def by_t(curve: Curve, random: Curve, rng: np.random.Generator) -> tuple[float, float]:
    result = saving(curve, random, METRIC)
    assert result is not None
    return result.low, result.high


def by_bootstrap(curve: Curve, random: Curve, rng: np.random.Generator) -> tuple[float, float]:
    count = len(curve.seeds)
    shares = np.array([share(*(drawn(c, rows) for c in (curve, random))) for rows in resamples(rng, count)])
    low, high = np.quantile(shares[~np.isnan(shares)], [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def resamples(rng: np.random.Generator, count: int) -> Int[Array, "D S"]:
    return rng.integers(0, count, size=(RESAMPLES, count))


def drawn(curve: Curve, rows: Int[Array, " S"]) -> Curve:
    """The curve of these seeds, where one may stand several times, under numbers of their own."""
    values = {METRIC: curve.values_of(METRIC)[rows]}
    return replace(curve, seeds=tuple(range(len(rows))), values=values)


def share(curve: Curve, random: Curve) -> float:
    means = [
        replace(c, seeds=(0,), values={METRIC: c.values_of(METRIC).mean(0, keepdims=True)}) for c in (curve, random)
    ]
    result = saving(*means, METRIC)
    assert result is not None
    return result.share


def coverage(curve: Curve, random: Curve, count: int, draws: int, method: Method) -> tuple[float, float, float]:
    """The share of the intervals that hold the truth, and the median of both ends."""
    rng, truth = np.random.default_rng([count, draws]), share(curve, random)
    sets = [rng.integers(0, len(curve.seeds), count) for _ in range(draws)]
    ends = np.array([method(drawn(curve, rows), drawn(random, rows), rng) for rows in sets])
    low, high = np.quantile(ends, 0.5, axis=0, method="inverted_cdf")
    return float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))), float(low), float(high)


def table(draws: int) -> str:
    head = " | ".join(f"{count} seeds" for count in SEEDS)
    lines = [f"| labels saved, truth | interval | {head} |", "|---|---|" + "---|" * len(SEEDS)]
    methods: dict[str, Method] = {"t, turned round": by_t, "bootstrap": by_bootstrap}
    for place, curves in results_of("words-ten", "words-fresh").curves.items():
        for name in STRATEGIES:
            curve, random = curves[name], curves["random"]
            for title, method in methods.items():
                cells = [coverage(curve, random, count, draws, method) for count in SEEDS]
                shown = " | ".join(f"{percent(hits)} ({percent(low)} to {percent(high)})" for hits, low, high in cells)
                truth = percent(share(curve, random))
                lines.append(f"| {place.dataset}, {name}, {truth} | {title} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    sys.stdout.write(table(parser.parse_args().draws) + "\n")
