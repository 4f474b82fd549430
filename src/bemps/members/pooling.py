"""How much each of two classifiers should count, from what they say of labels that they have not learnt from.

Cross-fitting: the labels are dealt into folds; both classifiers learn from all folds but one and answer for that one.
The pool of two answers p and q is log-linear, `softmax(a log p + b log q)`: of two linear classifiers it is again a
linear classifier, on the features of both side by side. The weights have the least log loss on the answers of all
folds, plus a prior around equal parts that decides while there are few labels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.members.logistic import softmax
from bemps.members.splits import Split
from bemps.types import Array

SHARES = np.linspace(0, 1, 11)  # of the second in the pool
SCALES = np.sqrt(2.0) ** np.arange(-3, 6)  # of both together
SHARE_SPREAD, SCALE_SPREAD, TEMPERATURE = 0.5, 0.5, 1.0
NEGLIGIBLE = 0.05
LEAST = 1e-9  # a probability below is taken for this: one sure mistake must not decide alone


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels, and what two classifiers say of their items without having learnt from them."""

    labels: Int[Array, " n"]
    first: Float[Array, "n K"]
    second: Float[Array, "n K"]


@dataclass(frozen=True)
class PoolWeights:
    """What the logarithms of two answers are multiplied by before they are added."""

    first: float
    second: float


def stratified_folds(labels: Int[Array, " L"], folds: int, rng: np.random.Generator) -> list[Split]:
    """Each label in one fold, those of a class dealt out evenly; the training part is all other folds."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % folds
    return [Split(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]


def enough(splits: Sequence[Split], labels: int) -> Iterator[Split]:
    """The first splits that together hold out so many labels, or all: more would cost more than they tell."""
    held_out = 0
    for split in splits:
        if held_out < labels:
            yield split
        held_out += len(split.valid)


def pool_weights(evidence: Evidence) -> PoolWeights:
    """The weights with the least log loss and prior, as a mean over the grid: where pairs are as good, a compromise."""
    losses = np.array([[_loss(evidence, share, scale) for scale in SCALES] for share in SHARES])
    prior = ((SHARES[:, None] - 0.5) / SHARE_SPREAD) ** 2 / 2 + (np.log(SCALES) / SCALE_SPREAD) ** 2 / 2
    likely = softmax(-(losses + prior).ravel() / TEMPERATURE).reshape(losses.shape)
    share = float(likely.sum(axis=1) @ SHARES)
    scale = float(np.exp(likely.sum(axis=0) @ np.log(SCALES)))
    return PoolWeights(scale, 0.0) if share < NEGLIGIBLE else PoolWeights(scale * (1 - share), scale * share)


def _loss(evidence: Evidence, share: float, scale: float) -> float:
    probs = pooled(evidence.first, evidence.second, PoolWeights(scale * (1 - share), scale * share))
    return float(-np.log(np.maximum(probs[np.arange(len(probs)), evidence.labels], LEAST)).sum())


def pooled(
    first: Float[Array, "*any K"], second: Float[Array, "*any K"], weights: PoolWeights
) -> Float[Array, "*any K"]:
    """softmax(a log p + b log q)."""
    return softmax(weights.first * _log(first) + weights.second * _log(second))


def _log(probs: Float[Array, "*any K"]) -> Float[Array, "*any K"]:
    logs: Array = np.log(np.maximum(probs, LEAST))
    return logs
