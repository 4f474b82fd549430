"""How much each of two classifiers should count, from what they say of labels that they have not learnt from.

Cross-fitting: the labels are dealt into folds; both classifiers learn from all folds but one and answer for that one.
The pool of two answers p and q is (1 - w) p^a + w q^b, each power scaled to sum one. A power below one softens an
answer that is too sure, as that of a fine-tuned network often is; none is above one, as held-out labels may be easier
than the rest of the pool (only classes that were seen are among them). Powers, then the share w, are means over a grid
under the likelihood of the held-out labels: where shares are equally good, a compromise is better than either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.members.logistic import softmax
from bemps.members.splits import Split
from bemps.types import Array

SHARES = np.linspace(0, 1, 21)
POWERS = np.sqrt(2.0) ** np.arange(-6, 1)
NEGLIGIBLE = 0.05  # a share below is not worth the second classifier
LEAST = 1e-9  # a probability below is taken for this: one sure mistake must not decide alone


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels, and what two classifiers say of their items without having learnt from them."""

    labels: Int[Array, " n"]
    first: Float[Array, "n K"]
    second: Float[Array, "n K"]


@dataclass(frozen=True)
class PoolWeights:
    """The share of the second of two classifiers, and the power that softens each; a share of 0: the first as it is."""

    share: float
    first_power: float = 1.0
    second_power: float = 1.0


FIRST_ALONE = PoolWeights(0.0)


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
    """The weights that suit the held-out labels."""
    powers = [_power(probs, evidence.labels) for probs in (evidence.first, evidence.second)]
    pools = (pooled(evidence.first, evidence.second, PoolWeights(float(share), *powers)) for share in SHARES)
    share = float(_likelihoods([log_loss(pool, evidence.labels) for pool in pools]) @ SHARES)
    return FIRST_ALONE if share < NEGLIGIBLE else PoolWeights(share, *powers)


def pooled(
    first: Float[Array, "*any K"], second: Float[Array, "*any K"], weights: PoolWeights
) -> Float[Array, "*any K"]:
    """(1 - w) p^a + w q^b, each of sum one."""
    share = weights.share
    pool: Array = (1 - share) * softened(first, weights.first_power) + share * softened(second, weights.second_power)
    return pool


def softened(probs: Float[Array, "*any K"], power: float) -> Float[Array, "*any K"]:
    """The power of probabilities, scaled to sum one."""
    return softmax(power * np.log(np.maximum(probs, LEAST)))


def log_loss(probs: Float[Array, "n K"], labels: Int[Array, " n"]) -> float:
    """The sum over all labels."""
    return float(-np.log(np.maximum(probs[np.arange(len(labels)), labels], LEAST)).sum())


def _power(probs: Float[Array, "n K"], labels: Int[Array, " n"]) -> float:
    losses = [log_loss(softened(probs, float(power)), labels) for power in POWERS]
    return float(np.exp(_likelihoods(losses) @ np.log(POWERS)))


def _likelihoods(losses: Sequence[float]) -> Float[Array, " G"]:
    """The likelihood of the labels at each point of a grid, of sum one."""
    return softmax(-np.array(losses))
