r"""The acquisition functions that the paper compares with, and margin. Items with larger values are labelled first.

E members, N candidates, M estimation points, K classes, H features; q = sum_e w_e p_e.
"""

import numpy as np
from jaxtyping import Float, Int

from bemps.acquisition.batch_rules import spread_out
from bemps.gain import ranking
from bemps.gain.general import BlockedGain, GeneralKernel
from bemps.gain.member_posterior import map_items, mean_prediction, mutual_information
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array

Probs = Float[Array, "E N K"]
Weights = Float[Array, " E"]


def least_confidence(probs: Probs, weights: Weights) -> Float[Array, " N"]:
    """1 - max_y q(y|x)."""
    return map_items(lambda p: 1 - mean_prediction(p, weights).max(1), probs)


def margin(probs: Probs, weights: Weights) -> Float[Array, " N"]:
    """1 - (q of the first class - q of the second): breaking ties."""

    def closeness(p: Probs) -> Float[Array, " n"]:
        if p.shape[2] == 1:
            return np.zeros(p.shape[1])
        two = np.partition(mean_prediction(p, weights), -2, axis=1)[:, -2:]
        return 1 - (two[:, 1] - two[:, 0])

    return map_items(closeness, probs)


def entropy(probs: Probs, weights: Weights) -> Float[Array, " N"]:
    """H(q(.|x)), with 0 log 0 = 0."""

    def item_entropy(p: Probs) -> Float[Array, " n"]:
        q = mean_prediction(p, weights)
        return -(q * np.log(q, out=np.zeros_like(q), where=q > 0)).sum(1)

    return map_items(item_entropy, probs)


def bald(probs: Probs, weights: Weights) -> Float[Array, " N"]:
    """I(y; theta | x) = H(q) - sum_e w_e H(p_e)."""
    return mutual_information(probs, weights)


def wmocu_gain(
    probs: Probs,
    estimation: Float[Array, "E M K"],
    weights: Weights,
    estimation_weights: Float[Array, " M"],
    *,
    c: float = 1.0,
) -> BlockedGain:
    """Weighted MOCU: the expected fall of mean (1 - cK) K, K(x') = E_theta max_y p(y|theta,x') - max_y q(y|x').

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    estimation_weights : array of float (M,)
        Weights of the estimation points.
    c : float
        The weight of the square. 0 is MOCU.

    Returns
    -------
    BlockedGain
        The gain.

    Notes
    -----
    K(x') = min_y E_theta [max_y' p(y'|theta,x') - p(y|theta,x')], the least expected regret. It is linear in the
    weights of the members, which a hypothetical label updates, and no two nearly equal numbers are subtracted.
    """
    exact = estimation.astype(np.float64)
    regrets = exact.max(axis=2, keepdims=True) - exact  # (E, M, K)

    def value(expected: Float[Array, "*batch K"]) -> Float[Array, "*batch"]:
        least = expected.min(-1)
        return (c * least - 1) * least

    return BlockedGain(GeneralKernel(probs, regrets, value, weights), estimation_weights)


def badge(
    probs: Probs, weights: Weights, features: Float[Array, "N H"], n: int, rng: np.random.Generator
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """BADGE: k-means++ seeds of the gradient embeddings g = (onehot(yhat) - q) (x) h, which are never formed.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members.
    weights : array of float (E,)
        Weights of the members.
    features : array of float (N, H)
        Features h of the candidates.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of the seeds.

    Returns
    -------
    picks : array of int (n,)
        Positions of the batch. The first has the largest norm.
    distances : array of float (n,)
        Squared distance of each pick to those before it; for the first its squared norm.

    Notes
    -----
    |g_i - g_j|^2 = |a_i|^2 |h_i|^2 + |a_j|^2 |h_j|^2 - 2 (a_i . a_j)(h_i . h_j).
    """
    q = mean_prediction(probs, weights)
    a = -q
    a[np.arange(len(q)), q.argmax(1)] += 1
    h = features.astype(np.float64)
    squared = (a * a).sum(1) * (h * h).sum(1)

    def distance_to(i: int) -> Float[Array, " N"]:
        return np.maximum(squared + squared[i] - 2 * (a @ a[i]) * (h @ h[i]), 0.0)

    picks, distances = spread_out(distance_to, n, rng, first=ranking.first_largest(squared))
    distances[0] = squared[picks[0]]
    return picks, distances


def coreset(
    embeddings: Float[Array, "N H"],
    labelled: Float[Array, "L H"] | None,
    n: int,
    rng: np.random.Generator,
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """k-centre greedy: always the item farthest from everything labelled or picked (Sener and Savarese 2018).

    Parameters
    ----------
    embeddings : array of float (N, H)
        Embeddings of the candidates.
    labelled : array of float (L, H) or None
        Embeddings of the labelled items. With none, the first pick is the item nearest the mean.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    picks : array of int (n,)
        Positions of the batch.
    distances : array of float (n,)
        The distance of each pick when it was picked.
    """
    x = embeddings.astype(np.float64)
    norms = (x * x).sum(1)

    def distance_to(i: int) -> Float[Array, " N"]:
        return np.maximum(norms + norms[i] - 2 * (x @ x[i]), 0.0)

    if labelled is None or len(labelled) == 0:
        middle = ranking.first_largest(-((x - x.mean(0)) ** 2).sum(1))
        picks, squared = spread_out(distance_to, n, rng, first=middle, farthest=True)
        squared[0] = squared[1:].max(initial=0.0)  # nothing to be far from yet
    else:
        closest = _nearest_squared(x, labelled.astype(np.float64))
        picks, squared = spread_out(distance_to, n, rng, closest=closest, farthest=True)
    return picks, np.sqrt(squared)


def _nearest_squared(x: Float[Array, "N H"], anchors: Float[Array, "L H"]) -> Float[Array, " N"]:
    """Squared distance of each row to its nearest anchor."""
    anchor_norms = (anchors * anchors).sum(1)

    def part(block: slice) -> Float[Array, " n"]:
        rows = x[block]
        return (anchor_norms - 2 * rows @ anchors.T).min(1) + (rows * rows).sum(1)

    step = max(1, current_limits().memory // current_limits().threads // (32 * len(anchors) + 1))
    return np.maximum(np.concatenate(map_blocks(part, slices(len(x), step))), 0.0)
