"""Batches of 1 to 100 on the way to the same labels: python studies/batch_sizes.py

The mean weighted F1 between 26 and 226 labels (the area under the curve, by trapezoids, as curves have different
rounds), and the paired difference to one label at a time with its standard error over seeds; from ablation-size.

A mean over the rounds of a curve would be another for each batch size, as the initial labels, which all have, are one
round of a few or of many. So `at_common_labels` looks only where every size has a round; appendix_tables.py writes it.
"""

import sys
from collections.abc import Sequence
from functools import reduce

import numpy as np
from jaxtyping import Int
from table_parts import Study, markdown, title_of
from tables import METRIC, results_of, with_error

from bemps.results import Curve, area_under_curve
from bemps.types import Array


def areas(curve: Curve) -> Array:
    """Of each seed, as the mean height of its curve."""
    return area_under_curve(curve.labels, curve.values_of(METRIC, sorted(curve.seeds)))


def gains(curves: Sequence[dict[str, Curve]], rule: str, labels: Int[Array, " P"], seeds: list[int]) -> Array:
    """The gain over random of each seed: the mean over sets and over these numbers of labels."""

    def height(curve: Curve) -> Array:
        return curve.values_of(METRIC, seeds)[:, np.isin(curve.labels, labels)].mean(1)

    return np.mean([height(found[rule]) - height(found["random"]) for found in curves], 0)


def at_common_labels(studies: dict[int, Study], rules: Sequence[str]) -> str:
    """How much more each batch size gains over random than the largest, where all have a round; mean over the sets."""
    by_size = {size: study.by_set for size, study in sorted(studies.items())}
    sets = sorted(set.intersection(*map(set, by_size.values())))
    found = {size: [by_set[name] for name in sets] for size, by_set in by_size.items()}
    labels = reduce(np.intersect1d, [curves["random"].labels for several in found.values() for curves in several])
    *smaller, largest = found
    rows = []
    for rule in rules:
        cells = []
        for size in smaller:
            pairs = [(curves[rule], curves["random"]) for curves in (*found[size], *found[largest])]
            seeds = sorted(set.intersection(*(set(curve.seeds) for pair in pairs for curve in pair)))
            ahead = gains(found[size], rule, labels, seeds) - gains(found[largest], rule, labels, seeds)
            cells.append(with_error(ahead.tolist()))
        rows.append([title_of(rule), *cells])
    return markdown([f"gain over random, minus that of B = {largest}", *(f"B = {size}" for size in smaller)], rows)


def main() -> None:
    found = {(key.dataset, key.batch_size): curves for key, curves in results_of("ablation-size").curves.items()}
    sizes = sorted({size for _, size in found})
    lines = ["| | " + " | ".join(f"B = {size}" for size in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for dataset in sorted({dataset for dataset, _ in found}):
        for name in found[dataset, sizes[0]]:
            single = areas(found[dataset, sizes[0]][name])
            cells = [f"{single.mean():.4f}".removeprefix("0")]
            for size in sizes[1:]:
                cells.append(with_error((areas(found[dataset, size][name]) - single).tolist()))
            lines.append(f"| {dataset}, {name} | " + " | ".join(cells) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
