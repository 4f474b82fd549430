r"""BatchBALD (Kirsch et al. 2019): the batch whose labels have the largest mutual information with the members.

E members, N candidates, K classes, C label configurations of the picks so far.

    I(y_S; theta) grows by  I(y; theta | y_S) = E_{y_S} [ H(sum_e r_e p_e) - sum_e r_e H(p_e) ],  r = p(theta | y_S)

Exact while K^|S| <= samples, then over sampled configurations. A pick's increment never exceeds its BALD score, nor
its increment at an earlier exact step, so only candidates whose bound reaches the best increment are computed.
"""

import numpy as np
from jaxtyping import Float, Int

from bemps.gain import ranking
from bemps.gain.configurations import Configurations
from bemps.gain.member_posterior import mutual_information
from bemps.limits import map_blocks, slices
from bemps.types import Array

CHUNK = 32  # candidates computed between two checks of the bound


def batchbald(
    probs: Float[Array, "E N K"],
    weights: Float[Array, " E"],
    n: int,
    rng: np.random.Generator,
    *,
    samples: int = 10_000,
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """The greedy batch and the increment of each pick.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members.
    weights : array of float (E,)
        Weights of the members.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of sampled configurations.
    samples : int
        The largest number of label configurations. Beyond it, configurations are sampled.

    Returns
    -------
    picks : array of int (n,)
        Positions of the batch.
    increments : array of float (n,)
        Their sum is the mutual information of the batch with theta.

    Notes
    -----
    Exact increments are computed in float64, sampled ones in float32, whose error is far below that of sampling.
    """
    exact = probs.astype(np.float64)
    single = probs.astype(np.float32)
    entropies = -np.einsum("enk,enk->en", exact, np.log(exact, out=np.zeros_like(exact), where=exact > 0))
    bound = mutual_information(exact, weights)
    state = Configurations.before_any_label(weights)
    picks: list[int] = []
    values: list[float] = []
    for _ in range(n):
        bound[picks] = -np.inf
        best, value, seen = _best(exact if state.exact else single, entropies, state, bound)
        if state.exact:
            bound = np.where(np.isnan(seen), bound, seen)
        picks.append(best)
        values.append(value)
        state = state.with_item(probs[:, best], samples, rng)
    return np.array(picks), np.array(values)


def _best(
    probs: Float[Array, "E N K"], entropies: Float[Array, "E N"], state: Configurations, bound: Float[Array, " N"]
) -> tuple[int, float, Float[Array, " N"]]:
    """The candidate with the largest increment, its increment, and all increments (NaN: not computed)."""
    posteriors = state.posteriors.astype(probs.dtype)
    # a label may be impossible, or so improbable that its product with a posterior is no number: an infinite logarithm
    zeros = bool(probs.min() < np.sqrt(np.finfo(probs.dtype).tiny))
    order = np.argsort(-bound, kind="stable")
    order = order[bound[order] > -np.inf]
    seen = np.full(len(bound), np.nan)
    tie = ranking.TIE if probs.dtype == np.float64 else ranking.TIE_SINGLE
    margin, value = ranking.tolerance(float(bound[order[0]]), tie), -np.inf
    for block in slices(len(order), CHUNK):
        rows = order[block]
        if bound[rows[0]] < value - margin:
            break
        expected = (state.chances @ state.posteriors) @ entropies[:, rows]
        seen[rows] = np.maximum(_entropy(probs[:, rows], posteriors, state.chances, zeros) - expected, 0.0)
        value = max(value, float(seen[rows].max()))
    best = int((seen >= value - margin).argmax())  # NaN, not computed, is never at least that
    return best, float(seen[best]), seen


def _entropy(
    probs: Float[Array, "E n K"], posteriors: Float[Array, "C E"], chances: Float[Array, " C"], zeros: bool
) -> Float[Array, " n"]:
    """E_{y_S} H(r . p) of each candidate."""
    E, n, K = probs.shape
    flat = np.ascontiguousarray(probs).reshape(E, n * K)

    def part(block: slice) -> Float[Array, " nK"]:
        predictive = posteriors[block] @ flat
        logarithm = np.log(np.maximum(predictive, np.finfo(predictive.dtype).tiny) if zeros else predictive)
        logarithm *= predictive
        return chances[block].astype(logarithm.dtype) @ logarithm

    parts = map_blocks(part, slices(len(chances), max(1, 2**16 // (n * K))))
    return -np.sum(parts, axis=0, dtype=np.float64).reshape(n, K).sum(1)
