"""Batches of 1 to 100 on the way to the same labels: python studies/batch_sizes.py

The mean weighted F1 between 26 and 226 labels (the area under the curve, by trapezoids, as curves have different
rounds), and the paired difference to one label at a time with its standard error over seeds; from ablation-size.
"""

import sys

from tables import METRIC, results_of, with_error

from bemps.results import Curve, area_under_curve
from bemps.types import Array


def areas(curve: Curve) -> Array:
    """Of each seed, as the mean height of its curve."""
    return area_under_curve(curve.labels, curve.values_of(METRIC, sorted(curve.seeds)))


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
