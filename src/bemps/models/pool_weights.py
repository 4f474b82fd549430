"""The weights of two classifiers in a pool, from their predictions of labels that they have not learnt from.

Cross-fitting: the labels are dealt into folds; both classifiers learn from all folds but one and answer for that one.
The pool of two answers p and q is ((1 - w) p^a + w q^b)^c, each power scaled to sum one. The powers a and b calibrate.
One below one softens an answer that is too sure, as that of a fine-tuned network often is. One above one sharpens an
answer that is too modest, as that of a frozen model with few labels often is. Without them the surer one gets the
larger share and the louder voice, right or wrong. The power c takes back what a and b sharpened in the mean, as
held-out labels may be easier than the rest of the pool (only classes that were seen are among them).

Powers, then the share w, are means over a grid under the likelihood of the held-out labels: where shares are equally
good, a compromise is better than either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.numerics import softmax
from bemps.metrics import log_losses
from bemps.models.validation_splits import Split
from bemps.types import Array

SHARES = np.linspace(0, 1, 21)
POWERS = np.sqrt(2.0) ** np.arange(-6, 5)
NEGLIGIBLE = 0.05  # a share below is not worth the second classifier
LEAST = 1e-9  # a probability below is taken for this: one sure mistake must not decide alone


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels, and the predictions of two classifiers that have not learnt from them.

    Parameters
    ----------
    labels : array (n,) of int
        The codes of the items.
    first : array (n, K)
        The predictions of the first classifier.
    second : array (n, K)
        The predictions of the second classifier.
    """

    labels: Int[Array, " n"]
    first: Float[Array, "n K"]
    second: Float[Array, "n K"]


@dataclass(frozen=True)
class PoolWeights:
    """The weights of two classifiers in a pool.

    Parameters
    ----------
    share : float
        The share of the second; 0 is the first as it is.
    first_power : float, optional
        The power that calibrates the first.
    second_power : float, optional
        The power that calibrates the second.
    power : float, optional
        The power of the mean, which takes back what the other two sharpened.
    """

    share: float
    first_power: float = 1.0
    second_power: float = 1.0
    power: float = 1.0


FIRST_ALONE = PoolWeights(0.0)


def stratified_folds(labels: Int[Array, " L"], folds: int, rng: np.random.Generator) -> list[Split]:
    """Each label in one fold, those of a class dealt out evenly; the training part is all other folds.

    Parameters
    ----------
    labels : array (L,) of int
        The codes of the items.
    folds : int
        The number of folds.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    list of Split
        One split for each fold.
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % folds
    return [Split(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]


def enough(splits: Sequence[Split], labels: int) -> Iterator[Split]:
    """The first splits that together hold out so many labels, or all splits."""
    held_out = 0
    for split in splits:
        if held_out < labels:
            yield split
        held_out += len(split.valid)


def pool_weights(evidence: Evidence) -> PoolWeights:
    """The weights that suit the held-out labels."""
    powers = _power(evidence.first, evidence.labels), _power(evidence.second, evidence.labels)
    pools = (pooled(evidence.first, evidence.second, PoolWeights(float(share), *powers)) for share in SHARES)
    share = float(_likelihoods([total_log_loss(pool, evidence.labels) for pool in pools]) @ SHARES)
    sharpened = powers[0] ** (1 - share) * powers[1] ** share
    return FIRST_ALONE if share < NEGLIGIBLE else PoolWeights(share, *powers, 1 / max(1.0, sharpened))


def pooled(
    first: Float[Array, "*any K"], second: Float[Array, "*any K"], weights: PoolWeights
) -> Float[Array, "*any K"]:
    """((1 - w) p^a + w q^b)^c, each of sum one.

    Parameters
    ----------
    first : array (..., K)
        p, the probabilities of the first classifier.
    second : array (..., K)
        q, those of the second.
    weights : PoolWeights
        w, a, b and c.

    Returns
    -------
    array (..., K)
        The probabilities of the pool.
    """
    share = weights.share
    mean = (1 - share) * raised(first, weights.first_power) + share * raised(second, weights.second_power)
    return raised(mean, weights.power)


def raised(probs: Float[Array, "*any K"], power: float) -> Float[Array, "*any K"]:
    """The power of probabilities, scaled to sum one."""
    return softmax(power * np.log(np.maximum(probs, LEAST)))


def total_log_loss(probs: Float[Array, "n K"], labels: Int[Array, " n"]) -> float:
    """The sum over all labels."""
    return float(log_losses(probs, labels, LEAST).sum())


def _power(probs: Float[Array, "n K"], labels: Int[Array, " n"]) -> float:
    losses = [total_log_loss(raised(probs, float(power)), labels) for power in POWERS]
    return float(np.exp(_likelihoods(losses) @ np.log(POWERS)))


def _likelihoods(losses: Sequence[float]) -> Float[Array, " G"]:
    """The likelihood of the labels at each point of a grid, of sum one."""
    return softmax(-np.array(losses))
