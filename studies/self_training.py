"""Do pseudo-labels of the unlabelled texts help? studies/self_training.py run|table --out FOLDER

run    random labels of the pools and test items of studies/adapted.py; the learner fits them, gives pseudo-labels to
       the rest of the pool and fits once more. One row for each set, seed, number of labels and rule; a cell that is
       there is not computed again. `--keep` copies the rows to studies/results/texts/self-training.parquet, those of
       the other learner stay there.
table  F1 of the learner and the paired difference of each rule, mean and standard error over the seeds, from
       studies/results/texts

`--learner frozen` is `bge-words` under `SpectralLogistic`. `--learner adapted` is MiniLM, fine-tuned on the labels: the
pseudo-labels enter a second fine-tuning from the pretrained weights and the head on it, with the same weights in both,
and neighbours are those of the first fine-tuned network.

HAST (arXiv 2406.09206): an item gets the class that the model gives it where the model is sure to more than 50 %, and
where more than half of its 14 nearest neighbours are given the same class. Pseudo-labels of rare classes count more
(the sigmoid weights of its authors' code), and all of them `weight` times as much as labels.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from adapted import SETS, Cell, drawn, f1, log_loss
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from weighted_tuning import fine_tuned

from bemps._utils.files import written_whole
from bemps._utils.numerics import softmax
from bemps.limits import limits
from bemps.models.content_models import BgeAndWords
from bemps.models.encoders.text_views import MEANING
from bemps.models.linear.spectral_classifiers import SpectralLogistic
from bemps.models.text.adapted_vectors import HEAD
from bemps.models.text.finetuned_laplace import CENTRE, FineTunedLaplace
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
RULES_OF = {"frozen": tuple(RULES), "adapted": ("each a tenth", "all as all labels, no neighbours")}


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
    return Vectors(pool, encode(draw.test), nearest(pool)), {text: row for row, text in enumerate(draw.pool)}


def nearest(vectors: Float[Array, "N D"]) -> Int[Array, "N n"]:
    """The neighbours of each item, by the cosine."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    near: Array = np.argsort(-cosines, axis=1)[:, :NEIGHBOURS]
    return near


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


@dataclass(frozen=True, eq=False)
class PseudoLabels:
    """Positions in the pool, the class that each is given, and how much it counts."""

    items: Int[Array, " P"]
    classes: Int[Array, " P"]
    weights: Float[Array, " P"]

    def right(self, truth: Int[Array, " N"]) -> float:
        """The share of them that is right."""
        return float((self.classes == truth[self.items]).mean()) if len(self.items) else np.nan


def pseudo_labels(
    probs: Float[Array, "N K"], labels: Int[Array, " L"], near: Int[Array, "N n"], rule: Rule
) -> PseudoLabels:
    """Those that a rule takes; the labelled items are the first of the pool, and are neighbours too."""
    L, classes = len(labels), probs.argmax(axis=1)
    taken = probs.max(axis=1) > SURE
    if rule.neighbours:
        taken &= agreed(np.r_[labels, classes[L:]], near)
    taken[:L] = False
    new = np.flatnonzero(taken)
    if not len(new):
        return PseudoLabels(new, new, np.zeros(0))
    weight = rule.weight * (L / len(new) if rule.total else 1.0)
    return PseudoLabels(new, classes[new], weight * class_weights(classes[new], probs.shape[1]))


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
    rows = [_row("none", softmax(test @ start), draw.truth, 0, np.nan)]
    for name in rules:
        new, W = pseudo_labels(probs, labels, near, RULES[name]), start
        if len(new.items):
            weights = np.r_[np.ones(cell.labels), new.weights]
            W = weighted_map(features[np.r_[: cell.labels, new.items]], np.r_[labels, new.classes], weights, start)
        rows.append(_row(name, softmax(test @ W), draw.truth, len(new.items), new.right(draw.codes)))
    return _table_of(cell, "frozen", rows)


def run_adapted_cell(cell: Cell, data: Path, rules: Sequence[str]) -> pd.DataFrame:
    """The same of a fine-tuned encoder, which reads pseudo-labels as it reads labels."""
    draw = drawn(cell, data)
    known, labels = draw.pool[: cell.labels], draw.codes[: cell.labels]
    model = fine_tuned(known, labels, np.ones(cell.labels), draw.K, cell.seed)
    head = head_of(model, draw.pool, labels, draw.K)
    probs, near = head.predict_map(draw.pool), nearest(model.last_layer(draw.pool))
    first = head.predict_map(draw.test)
    rows = [_row("none", first, draw.truth, 0, np.nan)]
    for name in rules:
        new, answer = pseudo_labels(probs, labels, near, RULES[name]), first
        if len(new.items):
            items, codes = [*known, *(draw.pool[i] for i in new.items)], np.r_[labels, new.classes]
            weights = np.r_[np.ones(cell.labels), new.weights]
            head = head_of(fine_tuned(items, codes, weights, draw.K, cell.seed), draw.pool, labels, draw.K)
            assert head.weights_ is not None
            W = weighted_map(head.features(items), codes, weights, head.weights_)
            answer = softmax(head.features(draw.test) @ W)
        rows.append(_row(name, answer, draw.truth, len(new.items), new.right(draw.codes)))
    return _table_of(cell, "adapted", rows)


def head_of(model: FineTunedLaplace, pool: Sequence[str], labels: Int[Array, " L"], K: int) -> SpectralLogistic:
    """The head of `FineTunedLaplace`, on the labels of the first items of a pool."""
    head = SpectralLogistic(pool[-CENTRE:], encode=model.last_layer, recipe=HEAD)
    return head.fit(pool[: len(labels)], labels, [str(code) for code in range(K)], np.random.default_rng(0))


def _table_of(cell: Cell, learner: str, rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    key = {"learner": learner, "dataset": cell.dataset, "seed": cell.seed, "labels": cell.labels}
    return pd.DataFrame([{**key, **row} for row in rows])


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
            gains = (by_rule[rule] - by_rule["none"]).dropna() if rule in by_rule else pd.Series(dtype=float)
            every[rule] += [gains] if len(gains) else []
            error = f" ({gains.sem():.3f})" if len(gains) > 1 else ""
            cells.append(f"{gains.mean():+.3f}{error}" if len(gains) else "-")
        lines.append(f"| {' | '.join(cells)} |")
    means = [f"{np.mean([gains.mean() for gains in every[rule]]):+.4f}" for rule in rules]
    lines.append(f"| mean | | | | | {' | '.join(means)} |")
    return "\n".join(lines)


def run(given: argparse.Namespace) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    cache, rules = given.cache or given.out / "cache", given.rules or RULES_OF[given.learner]
    if given.learner == "adapted":
        for cell in cells_of(given):  # seed by seed, so that a run that is stopped early has something of each set
            _make(given, cell, partial(run_adapted_cell, cell, given.data, rules))
        return
    for dataset in given.sets:
        for fresh in (False, True):
            part = [cell for cell in cells_of(given) if cell.dataset == dataset and (cell.seed >= 100) == fresh]
            if all(_path(given, cell).exists() for cell in part):
                continue
            vectors, rows_of = vectors_of(dataset, part[0].seed, given.data, cache)
            for cell in part:
                _make(given, cell, partial(run_cell, cell, given.data, vectors, rows_of, rules))


def cells_of(given: argparse.Namespace) -> list[Cell]:
    return [Cell(name, seed, labels) for seed in given.seeds for labels in given.labels for name in given.sets]


def _make(given: argparse.Namespace, cell: Cell, rows: Callable[[], pd.DataFrame]) -> None:
    """Write a cell whole, unless it is there."""
    if _path(given, cell).exists():
        return
    table = rows()
    with written_whole(_path(given, cell)) as draft:
        table.to_parquet(draft)
    sys.stdout.write(f"{cell}\n")
    sys.stdout.flush()


def _path(given: argparse.Namespace, cell: Cell) -> Path:
    prefix = "self" if given.learner == "frozen" else f"self-{given.learner}"
    return Path(given.out) / f"{prefix}-{cell.dataset}-{cell.seed}-{cell.labels}.parquet"


def kept() -> pd.DataFrame:
    """The committed rows; those without a learner are of the frozen one."""
    rows = pd.read_parquet(RESULTS)
    return rows if "learner" in rows else rows.assign(learner="frozen")


def rows_of(given: argparse.Namespace) -> pd.DataFrame:
    """The rows of one learner: of a run, else the committed ones."""
    if given.out is None:
        rows = kept()
        return rows[rows.learner == given.learner]
    paths = [path for cell in cells_of(given) if (path := _path(given, cell)).exists()]
    return pd.concat([pd.read_parquet(path) for path in paths]).assign(learner=given.learner)


def keep(rows: pd.DataFrame) -> None:
    """Put rows into the committed file in the place of those of the same cells."""
    every = pd.concat([rows, kept()]).drop_duplicates(["learner", "dataset", "seed", "labels", "rule"])
    with written_whole(RESULTS) as draft:
        every.sort_values(["learner", "dataset", "labels", "seed"], kind="stable").to_parquet(draft, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--out", type=Path, help="the folder of a run; a table without it is that of studies/results")
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--cache", type=Path, help="the folder of vectors; that of studies/adapted.py can be used")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS))
    parser.add_argument("--learner", choices=tuple(RULES_OF), default="frozen")
    parser.add_argument("--rules", nargs="+", choices=tuple(RULES), help="default: all, or two of the adapted learner")
    parser.add_argument("--keep", action="store_true", help="write the rows to studies/results")
    given = parser.parse_args()
    if given.action == "run":
        with limits(threads=1):
            run(given)
    rows = rows_of(given)
    if given.keep:
        keep(rows)
    rows = rows[rows.seed.isin(given.seeds) & rows.dataset.isin(given.sets)]
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
