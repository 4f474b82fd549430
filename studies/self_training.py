"""Do pseudo-labels of the unlabelled texts help? studies/self_training.py run|table --out FOLDER

run    random labels of the pools and test items of studies/adapted.py; the frozen learner (`bge-words` under
       `SpectralLogistic`) fits them, gives pseudo-labels to the rest of the pool and fits once more. One row for each
       set, seed, number of labels and rule; a cell that is there is not computed again. `--keep` copies the rows
       to studies/results/texts/self-training.parquet.
table  F1 of the learner and the paired difference of each rule, mean and standard error over the seeds, from
       studies/results/texts

HAST (arXiv 2406.09206): an item gets the class that the model gives it where the model is sure to more than 50 %, and
where more than half of its 14 nearest neighbours are given the same class. Pseudo-labels of rare classes count more
(the sigmoid weights of its authors' code), and all of them `weight` times as much as labels.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from adapted import SETS, Cell, drawn, f1, log_loss
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize

from bemps._utils.files import written_whole
from bemps._utils.numerics import softmax
from bemps.limits import limits
from bemps.models.content_models import BgeAndWords
from bemps.models.encoders.text_views import MEANING
from bemps.models.linear.spectral_classifiers import SpectralLogistic
from bemps.types import Array

RESULTS = Path(__file__).parent / "results" / "texts" / "self-training.parquet"
LABELS = (50, 100, 250)
NEIGHBOURS = 14
SURE = 0.5


@dataclass(frozen=True)
class Rule:
    """How pseudo-labels are taken and counted.

    Parameters
    ----------
    weight : float
        How much a pseudo-label counts beside a label, before classes are balanced.
    neighbours : bool
        Whether neighbours have to agree.
    total : bool
        Whether `weight` is that of all pseudo-labels together, beside all labels.
    """

    weight: float
    neighbours: bool = True
    total: bool = False


RULES = {
    "each as a label": Rule(1.0),
    "each a tenth": Rule(0.1),
    "all as all labels": Rule(1.0, total=True),
    "all a quarter of the labels": Rule(0.25, total=True),
    "all as all labels, no neighbours": Rule(1.0, neighbours=False, total=True),
}


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors of a pool and its test items, and the neighbours of each pool item."""

    pool: Float[Array, "N D"]
    test: Float[Array, "T D"]
    near: Int[Array, "N n"]


def vectors_of(dataset: str, seed: int, data: Path, cache: Path) -> tuple[Vectors, dict[str, int]]:
    """What all draws of a pool share, and the row of each text."""
    draw = drawn(Cell(dataset, 100 if seed >= 100 else 0, 0), data)
    encode = BgeAndWords(str(cache))
    encode.see_pool(draw.pool)
    pool = encode(draw.pool)
    unit = pool / np.linalg.norm(pool, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    near = np.argsort(-cosines, axis=1)[:, :NEIGHBOURS]
    return Vectors(pool, encode(draw.test), near), {text: row for row, text in enumerate(draw.pool)}


def agreed(classes: Int[Array, " N"], near: Int[Array, "N n"]) -> Bool[Array, " N"]:
    """Whether more than half of the neighbours of an item are given its class."""
    agree: Array = (classes[near] == classes[:, None]).mean(axis=1) > 0.5
    return agree


def class_weights(classes: Int[Array, " P"], K: int) -> Float[Array, " P"]:
    """The weights of HAST, scaled to mean one: 1 / (1 + exp(-(m - n) / n)), n items of the class, m in the mean."""
    counts = np.bincount(classes, minlength=K)
    expected = counts.sum() // K
    weights = 1 / (1 + np.exp(-(expected - counts[classes]) / counts[classes]))
    scaled: Array = weights / weights.mean()
    return scaled


def weighted_map(
    features: Float[Array, "n H"],
    labels: Int[Array, " n"],
    weights: Float[Array, " n"],
    start: Float[Array, "H K"],
) -> Float[Array, "H K"]:
    """The minimum of sum_i w_i log loss_i + |W|^2 / 2 over the columns of W of classes with a label."""
    H, K = start.shape
    seen = np.unique(labels)
    hit = np.eye(K)[labels][:, seen]
    # the root of the curvature at equal probabilities
    stretch = 1 / np.sqrt((weights @ features**2) / len(seen) + 1)[:, None]

    def loss(flat: Float[Array, " HC"]) -> tuple[float, Float[Array, " HC"]]:
        W = stretch * flat.reshape(H, len(seen))
        logits = features @ W
        logits -= logits.max(axis=1, keepdims=True)
        probs = np.exp(logits)
        total = probs.sum(axis=1, keepdims=True)
        value = weights @ (np.log(total)[:, 0] - (logits * hit).sum(axis=1)) + (W * W).sum() / 2
        gradient = features.T @ (weights[:, None] * (probs / total - hit)) + W
        return float(value), (stretch * gradient).ravel()

    first = (start[:, seen] / stretch).ravel()
    result = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-3, "ftol": 1e-9})
    if not result.success:
        raise RuntimeError(f"logistic regression: expected convergence; got: {result.message}")
    W = start.copy()
    W[:, seen] = stretch * result.x.reshape(H, len(seen))
    return W


def run_cell(cell: Cell, data: Path, vectors: Vectors, rows_of: dict[str, int], rules: Sequence[str]) -> pd.DataFrame:
    """The quality of the learner and of each rule, and of the pseudo-labels themselves."""
    draw = drawn(cell, data)
    order = np.array([rows_of[text] for text in draw.pool])
    pool, known, labels = vectors.pool[order], slice(cell.labels), draw.codes[: cell.labels]
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    near = back[vectors.near[order]]
    model = SpectralLogistic(pool, first_view=MEANING)
    model.fit(pool[known], labels, [str(code) for code in range(draw.K)], np.random.default_rng(cell.seed))
    features, start = model.features(pool), model.weights_
    assert start is not None
    probs, test = softmax(features @ start), model.features(vectors.test)
    classes, sure = probs.argmax(axis=1), probs.max(axis=1) > SURE
    given = np.where(np.arange(len(pool)) < cell.labels, np.r_[labels, classes[cell.labels :]], classes)
    rows = [_row("none", softmax(test @ start), draw.truth, 0, np.nan)]
    for name in rules:
        rule = RULES[name]
        taken = sure & agreed(given, near) if rule.neighbours else sure.copy()
        taken[known] = False
        new = np.flatnonzero(taken)
        W, right = start, np.nan
        if len(new):
            weight = rule.weight * (cell.labels / len(new) if rule.total else 1.0)
            weights = np.r_[np.ones(cell.labels), weight * class_weights(classes[new], draw.K)]
            W = weighted_map(features[np.r_[: cell.labels, new]], np.r_[labels, classes[new]], weights, start)
            right = float((classes[new] == draw.codes[new]).mean())
        rows.append(_row(name, softmax(test @ W), draw.truth, len(new), right))
    return pd.DataFrame([{"dataset": cell.dataset, "seed": cell.seed, "labels": cell.labels, **row} for row in rows])


def _row(rule: str, probs: Float[Array, "T K"], truth: Int[Array, " T"], taken: int, right: float) -> dict[str, object]:
    quality = {"f1": f1(probs, truth), "log_loss": log_loss(probs, truth)}
    return {"rule": rule, **quality, "pseudo_labels": taken, "right": right}


def table(rows: pd.DataFrame) -> str:
    """A line for each set and number of labels: F1 of the learner, and what each rule adds to it."""
    rules = [name for name in RULES if name in set(rows.rule)]
    lines = [
        f"| set, labels | draws | F1 without | pseudo-labels | right | {' | '.join(rules)} |",
        "|---|---|---|---|---|" + "---|" * len(rules),
    ]
    every: dict[str, list[pd.Series]] = {rule: [] for rule in rules}
    for (dataset, labels), part in rows.groupby(["dataset", "labels"]):
        by_rule = part.pivot_table(index="seed", columns="rule", values="f1")
        first = part[part.rule == rules[0]]
        cells = [f"{dataset}, {labels}", str(len(by_rule)), f"{by_rule['none'].mean():.3f}"]
        cells += [f"{first.pseudo_labels.mean():.0f}", f"{100 * first.right.mean():.0f} %"]
        for rule in rules:
            gains = by_rule[rule] - by_rule["none"]
            every[rule].append(gains)
            cells.append(f"{gains.mean():+.3f} ({gains.sem():.3f})")
        lines.append(f"| {' | '.join(cells)} |")
    means = [f"{np.mean([gains.mean() for gains in every[rule]]):+.4f}" for rule in rules]
    lines.append(f"| mean | | | | | {' | '.join(means)} |")
    return "\n".join(lines)


def cells_of(given: argparse.Namespace) -> Iterator[tuple[str, list[Cell]]]:
    for dataset in given.sets:
        yield dataset, [Cell(dataset, seed, labels) for seed in given.seeds for labels in given.labels]


def run(given: argparse.Namespace) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    for dataset, cells in cells_of(given):
        missing = [cell for cell in cells if not _path(given.out, cell).exists()]
        for fresh in (False, True):
            part = [cell for cell in missing if (cell.seed >= 100) == fresh]
            if not part:
                continue
            vectors, rows_of = vectors_of(dataset, part[0].seed, given.data, given.cache or given.out / "cache")
            for cell in part:
                rows = run_cell(cell, given.data, vectors, rows_of, given.rules)
                with written_whole(_path(given.out, cell)) as draft:
                    rows.to_parquet(draft)
            sys.stdout.write(f"{dataset}: {len(part)} cells\n")
            sys.stdout.flush()


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"self-{cell.dataset}-{cell.seed}-{cell.labels}.parquet"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--out", type=Path, help="the folder of a run; a table without it is that of studies/results")
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--cache", type=Path, help="the folder of vectors; that of studies/adapted.py can be used")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS))
    parser.add_argument("--rules", nargs="+", choices=tuple(RULES), default=list(RULES))
    parser.add_argument("--keep", action="store_true", help="write the rows to studies/results")
    given = parser.parse_args()
    if given.action == "run":
        with limits(threads=1):
            run(given)
    if given.out is None:
        rows = pd.read_parquet(RESULTS)
    else:
        rows = pd.concat([pd.read_parquet(path) for path in sorted(given.out.glob("self-*.parquet"))])
    if given.keep:
        rows.to_parquet(RESULTS, index=False)
    rows = rows[rows.seed.isin(given.seeds) & rows.dataset.isin(given.sets)]
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
