"""The figures of docs/results.md and docs/appendices: python studies/figures.py FOLDER

From the committed results: learning curves, what each rule gains at every batch size, the running mean of the ECE, and
the curves of the other experiments and of the ablations. From runs/analysis after `bemps report runs/analysis`, where
it is there: what is acquired of each region of the data map, the maps, and t-SNEs of the two pools; from
runs/analysis-sizes likewise a t-SNE with batches of 5, 10 and 50.
"""

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image
from pyarrow import parquet
from tables import METRIC, results_of

from bemps.results import METRICS, Curve, Results
from bemps.types import Array

ANALYSIS, SIZES = Path("runs/analysis"), Path("runs/analysis-sizes")
TEXTS = ("ag_news", "csabstruct", "imdb", "sst5")
MAPPED = ("csabstruct", "sst5")
REGIONS = ("easy", "medium", "hard", "impossible")
COLOURS = {
    "random": "#808080", "margin": "#56b4e9", "margin-km": "#0072b2", "badge": "#cc79a7", "bald": "#b09c00",
    "batchbald": "#6b5f00", "wmocu": "#999933", "alps": "#882255", "bert-km": "#661100", "coremse": "#009e73",
    "corelog": "#44aa99", "corelog-laplace": "#d55e00", "corelog-ties": "#e69f00", "entropy": "#bbbbbb",
    "mocu": "#88ccee", "smocu": "#332288",
}  # fmt: skip
SHOWN = ("random", "margin", "margin-km", "badge", "wmocu", "alps", "bert-km", "coremse", "corelog", "corelog-laplace", "corelog-ties")  # fmt: skip # noqa: E501
ON_MAP = ("random", "wmocu", "badge", "coremse", "corelog", "margin-km")


def place(results: Results, dataset: str, batch_size: int, model: str | None = None) -> dict[str, Curve]:
    """The curves of one setting."""
    return next(
        found
        for key, found in results.curves.items()
        if (key.dataset, key.batch_size) == (dataset, batch_size) and model in (None, key.model)
    )


def plot(axis: Any, curves: dict[str, Curve], metric: str, shown: tuple[str, ...] = tuple(COLOURS)) -> None:
    for name in shown:
        if name in curves:
            values = curves[name].values_of(metric).mean(0)
            axis.plot(curves[name].labels, values, color=COLOURS[name], label=name, lw=2 if name == "random" else 1.3)
    axis.grid(alpha=0.25)


def so_far(values: Array) -> Array:
    """Running means."""
    return values.cumsum() / np.arange(1, len(values) + 1)


def finish(figure: Any, path: Path) -> None:
    found = {name: line for axis in figure.axes for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=8, frameon=False, fontsize=9)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """As PNG with 128 colours that cover all there are, a third of the size; a median cut would merge thin lines."""
    figure.savefig(path, dpi=90)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def learning_curves(folder: Path) -> None:
    """Weighted F1 and accuracy at B = 50, ten seeds."""
    results = results_of("ten-seeds"), results_of("alps", "alps-ten")
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.5), layout="constrained", sharex=True)
    for column, dataset in enumerate(TEXTS):
        curves = place(results[0], dataset, 50) | place(results[1], dataset, 50)
        for row, metric in enumerate((METRIC, "accuracy")):
            plot(axes[row, column], curves, metric, SHOWN)
            axes[row, 0].set_ylabel(METRICS[metric].title)
        axes[0, column].set_title(dataset)
        axes[1, column].set_xlabel("labels")
    finish(figure, folder / "results-curves.png")


def batch_sizes(folder: Path) -> None:
    """What each rule gains over random, by batch size: running means, as differences jump from round to round."""
    results = results_of("tiny-batches", "small-batches", "main", "alps")
    figure, axes = plt.subplots(4, 4, figsize=(14, 11), layout="constrained", sharex=True, sharey="col")
    for row, size in enumerate((5, 10, 50, 100)):
        for column, dataset in enumerate(TEXTS):
            axis, curves = axes[row, column], place(results, dataset, size)
            base = curves["random"].values_of(METRIC).mean(0)
            for name in SHOWN:
                gaps = curves[name].values_of(METRIC).mean(0) - base
                axis.plot(curves[name].labels, so_far(gaps), color=COLOURS[name], label=name, lw=1.3)
            axis.grid(alpha=0.25)
            axes[0, column].set_title(dataset)
        axes[row, 0].set_ylabel(f"B = {size}: F1 over random")
    finish(figure, folder / "results-batches.png")


def running_ece(folder: Path) -> None:
    results = results_of("ten-seeds"), results_of("alps", "alps-ten")
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
    for axis, dataset in zip(axes, TEXTS, strict=True):
        curves = place(results[0], dataset, 50) | place(results[1], dataset, 50)
        for name in SHOWN:
            values = curves[name].values_of("ece").mean(0)
            axis.plot(curves[name].labels, so_far(values), color=COLOURS[name], label=name)
        axis.set(title=dataset, xlabel="labels")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("running mean of the ECE")
    finish(figure, folder / "results-ece.png")


def others(folder: Path) -> None:
    """One label at a time, ensembles and masks, fine-tuning, a network from scratch."""
    heads = results_of("heads", "heads-ten")
    panels = [
        ("one label at a time, sst5", place(results_of("single"), "sst5", 1)),
        ("five heads, csabstruct, B = 50", place(heads, "csabstruct", 50, "heads")),
        ("masks of a head, csabstruct, B = 50", place(heads, "csabstruct", 50, "heads-mc")),
        ("fine-tuned, csabstruct, B = 50", place(results_of("finetuned"), "csabstruct", 50)),
        ("fine-tuned, sst5, B = 50", place(results_of("finetuned"), "sst5", 50)),
        ("cifar10, VGG from scratch, B = 50", place(results_of("vgg"), "cifar10", 50)),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(14, 7.5), layout="constrained")
    for axis, (title, curves) in zip(axes.flat, panels, strict=True):
        plot(axis, curves, METRIC)
        axis.set_title(title, fontsize=10)
    for axis in axes[:, 0]:
        axis.set_ylabel("weighted F1")
    finish(figure, folder / "results-others.png")


def images(folder: Path) -> None:
    """CIFAR10 through EfficientNet's vectors and MNIST with the paper's network, by batch size."""
    runs = results_of("images-5", "images", "images-large"), results_of("bnn-5", "bnn", "bnn-large")
    figure, axes = plt.subplots(2, 4, figsize=(14, 7), layout="constrained", sharey="row")
    for row, results in zip(axes, runs, strict=True):
        places = sorted(results.curves, key=lambda place: place.batch_size)
        for axis, place in zip(row, places, strict=True):
            plot(axis, results.curves[place], METRIC)
            axis.set_title(f"{place.dataset}, B = {place.batch_size}", fontsize=10)
            axis.set_xlabel("labels")
        row[0].set_ylabel("weighted F1")
    finish(figure, folder / "results-images.png")


def ablations(folder: Path) -> None:
    """CoreMSE by batch size; batch rules; validation sets: the paper's three figures, on the sets that are mapped."""
    figure, axes = plt.subplots(2, 3, figsize=(14, 7.5), layout="constrained", sharey="row")
    sizes, rules = results_of("ablation-size"), results_of("ten-seeds", "topk")
    held, epochs = results_of("ablation-validation"), results_of("ablation-epochs")
    for row, dataset in zip(axes, MAPPED, strict=True):
        batches = place(rules, dataset, 50)
        trained = place(held, dataset, 50) | place(epochs, dataset, 50)
        panels = (
            {f"B = {size}": place(sizes, dataset, size)["coremse"] for size in (1, 5, 10, 50, 100)},
            {name: batches[name] for name in ("coremse", "coremse-topk", "corelog", "corelog-topk", "bert-km")},
            {name.removeprefix("coremse "): curve for name, curve in trained.items() if name.startswith("coremse ")},
        )
        for axis, curves in zip(row, panels, strict=True):
            for number, (name, curve) in enumerate(curves.items()):
                axis.plot(curve.labels, curve.values_of(METRIC).mean(0), color=f"C{number}", lw=1.3, label=name)
            axis.grid(alpha=0.25)
            axis.legend(frameon=False, fontsize=9)
        row[0].set_ylabel(f"{dataset}: weighted F1")
    for axis in axes[1]:
        axis.set_xlabel("labels")
    for axis, title in zip(axes[0], ("batch size, CoreMSE", "batch rule, B = 50", "validation, CoreMSE"), strict=True):
        axis.set_title(title)
    save(figure, folder / "results-ablations.png")


def read(run: Path, name: str) -> list[dict[str, str]]:
    """A table of the report of a run."""
    with (run / "report" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def acquired(folder: Path) -> None:
    """The share of each region in all that a rule acquired, as bars, beside its share of the pool; and as a table."""
    rows = parquet.read_table(ANALYSIS / "acquired.parquet").to_pylist()
    figure, axes = plt.subplots(2, 4, figsize=(14, 9), layout="constrained", sharey=True)
    for upper, dataset in zip(axes, MAPPED, strict=True):
        region = {row["id"]: row["region"] for row in read(ANALYSIS, f"data_map-{dataset}.csv")}
        pool = Counter(region.values())
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            if row["dataset"] == dataset and row["round"] > 0:
                counts[row["strategy"]][region[row["id"]]] += 1
        names = sorted(counts, reverse=True)
        for axis, kind in zip(upper, REGIONS, strict=True):
            axis.barh(names, [counts[name][kind] / counts[name].total() for name in names], color="#56b4e9")
            axis.axvline(pool[kind] / pool.total(), color="#333", ls="--")
            axis.set_title(f"{dataset}: {kind}", fontsize=10)
        for name in ("the pool", *sorted(counts)):
            found = pool if name == "the pool" else counts[name]
            shares = " | ".join(f"{found[kind] / found.total():.1%}" for kind in REGIONS)
            sys.stdout.write(f"| {dataset}, {name} | {shares} |\n")
    save(figure, folder / "results-acquired.png")


def data_maps(folder: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for axis, dataset in zip(axes, MAPPED, strict=True):
        rows = read(ANALYSIS, f"data_map-{dataset}.csv")
        for number, kind in enumerate(REGIONS):
            inside = [row for row in rows if row["region"] == kind]
            across = [float(row["variability"]) for row in inside]
            axis.scatter(
                across, [float(row["confidence"]) for row in inside], s=4, alpha=0.4, color=f"C{number}", label=kind
            )
        axis.set(title=dataset, xlabel="variability", ylabel="confidence")
    finish(figure, folder / "results-maps.png")


def projection(run: Path, column: str, shown: tuple[Any, ...], dataset: str, path: Path) -> None:
    """A t-SNE of a pool with what was acquired in one seed, a panel for each value of a column of the run."""
    items = {row["id"]: (float(row["x"]), float(row["y"]), row["label"]) for row in read(run, f"tsne-{dataset}.csv")}
    labels = sorted({label for *_, label in items.values()})
    rows = parquet.read_table(run / "acquired.parquet").to_pylist()
    figure, axes = plt.subplots(len(shown) // 3, 3, figsize=(13, 1.5 * len(shown)), layout="constrained")
    for axis, value in zip(axes.flat, shown, strict=True):
        for number, label in enumerate(labels):
            x, y = zip(*[(x, y) for x, y, own in items.values() if own == label], strict=True)
            axis.scatter(x, y, s=3, color=f"C{number}", alpha=0.35, label=label)
        own = [row for row in rows if (row["dataset"], row[column], row["seed"]) == (dataset, value, 0)]
        last = max(row["round"] for row in own)
        for title, mark, size, now in (("acquired before", ".", 9, False), ("the last batch", "x", 28, True)):
            places = [items[row["id"]] for row in own if (row["round"] == last) is now and row["id"] in items]
            axis.scatter(
                [x for x, *_ in places], [y for _, y, _ in places], s=size, color="black", marker=mark, label=title
            )
        axis.set(title=value if column == "strategy" else f"{column.replace('_', ' ')} {value}", xticks=[], yticks=[])
    finish(figure, path)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for draw in (learning_curves, batch_sizes, running_ece, others, images, ablations):
        draw(target)
    if (ANALYSIS / "report").is_dir():
        acquired(target)
        data_maps(target)
        for dataset in MAPPED:
            projection(ANALYSIS, "strategy", ON_MAP, dataset, target / f"results-tsne-{dataset}.png")
    if (SIZES / "report").is_dir():
        projection(SIZES, "batch_size", (5, 10, 50), "csabstruct", target / "results-tsne-sizes.png")
