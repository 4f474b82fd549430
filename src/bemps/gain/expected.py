r"""The expected gain of a label and the remaining gain of all labels, for every proper score.

DeltaQ(x|L,x') = E_{y ~ q(.|x)} [G(p(.|L,(x,y),x'))] - G(p(.|L,x'))         Eq (DQS) of the paper, one x'
DeltaQ(x|L)    = E_{x'} DeltaQ(x|L,x')                                      Eq (DQS)
Q_S(L)         = E_{x'} [ sum_e w_e G(p_e(.|x')) - G(q(.|x')) ]             Eq (QS)
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bemps import checks
from bemps.gain.general import BlockedGain, GeneralKernel
from bemps.gain.logarithmic import LogKernel
from bemps.gain.member_posterior import mean_prediction, mutual_information
from bemps.gain.quadratic import QuadraticGain, member_form, quadratic_gain
from bemps.limits import current_limits, map_blocks, slices
from bemps.scores import Custom, Log, Score, ScoreLike, check_convexity, quadratic_root
from bemps.scores import score as find_score
from bemps.types import Array

CONVEXITY_PAIRS = 1_000  # at which a user's own score is checked before its gains are computed
Gain = QuadraticGain | BlockedGain
"""The expected gain of every candidate: `.scores`, `.standard_error`, `.matrix()`, `.vectors`, `.rows(indices)`.

Each is computed at its first use."""


def expected_gain(
    probs: ArrayLike,
    estimation: ArrayLike | None = None,
    *,
    score: ScoreLike = "brier",
    weights: ArrayLike | None = None,
    estimation_weights: ArrayLike | None = None,
) -> Gain:
    """The expected gain in a score from labelling each candidate (Algorithms 1 and 2 of the paper).

    Parameters
    ----------
    probs : array_like (E, N, K)
        Probabilities of E members, N candidates and K classes.
    estimation : array_like (E, M, K), optional
        Probabilities of the same members at the M points of the estimation pool. The default is the candidates.
    score : str, object or callable
        A name of `bemps.scores.SCORES`, an object with a convex method G(p), or a convex function of p.
    weights : array_like (E,), optional
        Posterior weights p(theta|L) of the members. The default is uniform.
    estimation_weights : array_like (M,), optional
        Importance of each estimation point, for a target distribution other than that of the pool.

    Returns
    -------
    Gain
        `.scores` (N,), `.standard_error` (N,), `.matrix()` (N, M), `.vectors` and `.rows(indices)`.

    Raises
    ------
    InputError
        The probabilities or weights are not valid, or a user's own score is not convex.

    Notes
    -----
    A gain is how far the members' predictions would move. It is exactly 0 for a single member, and for members that
    agree.
    """
    candidates = checks.probabilities(probs)
    points = candidates if estimation is None else checks.probabilities(estimation, "estimation")
    checks.same_members_and_classes(candidates, points, "estimation")
    v = checks.distribution(estimation_weights, points.shape[1], "estimation_weights")
    w, (candidates, points) = checks.weighted_members(weights, candidates, points)
    return gain_of_valid_arrays(candidates, points, score, w, v)


def gain_of_valid_arrays(
    candidates: Float[Array, "E N K"],
    points: Float[Array, "E M K"],
    score: ScoreLike,
    weights: Float[Array, " E"],
    estimation_weights: Float[Array, " M"],
) -> Gain:
    """The expected gain for arrays that are known to be valid. `expected_gain` checks its arguments and calls this.

    Parameters
    ----------
    candidates : array of float (E, N, K)
        Probabilities of the members for the candidates.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    score : str, object or callable
        As in `expected_gain`.
    weights : array of float (E,)
        Weights of the members, with sum one.
    estimation_weights : array of float (M,)
        Weights of the estimation points, with sum one.

    Returns
    -------
    Gain
        As `expected_gain` returns it.
    """
    rule = find_score(score)
    root = quadratic_root(rule, points.shape[2])
    if root is not None:
        return quadratic_gain(candidates, points, root, weights, estimation_weights)
    if isinstance(rule, Log):
        return BlockedGain(LogKernel(candidates, points, weights), estimation_weights)
    if isinstance(rule, Custom):
        check_convexity(rule, points.shape[2], pairs=CONVEXITY_PAIRS)
    return BlockedGain(GeneralKernel(candidates, points, rule.G, weights), estimation_weights)


def core_mse(probs: ArrayLike, estimation: ArrayLike | None = None, weights: ArrayLike | None = None) -> Gain:
    """CoreMSE: the expected gain in the Brier score.

    Parameters
    ----------
    probs : array_like (E, N, K)
        Probabilities of E members, N candidates and K classes.
    estimation : array_like (E, M, K), optional
        Probabilities at the estimation pool. The default is the candidates.
    weights : array_like (E,), optional
        Weights of the members. The default is uniform.

    Returns
    -------
    Gain
        As `expected_gain` returns it.
    """
    return expected_gain(probs, estimation, score="brier", weights=weights)


def core_log(probs: ArrayLike, estimation: ArrayLike | None = None, weights: ArrayLike | None = None) -> Gain:
    """CoreLog: the expected gain in the log score. It equals EPIG (Bickford Smith et al. 2023).

    Parameters
    ----------
    probs : array_like (E, N, K)
        Probabilities of E members, N candidates and K classes.
    estimation : array_like (E, M, K), optional
        Probabilities at the estimation pool. The default is the candidates.
    weights : array_like (E,), optional
        Weights of the members. The default is uniform.

    Returns
    -------
    Gain
        As `expected_gain` returns it.
    """
    return expected_gain(probs, estimation, score="log", weights=weights)


def remaining_gain(
    estimation: ArrayLike,
    *,
    score: ScoreLike = "brier",
    weights: ArrayLike | None = None,
    estimation_weights: ArrayLike | None = None,
) -> float:
    """Q_S(L): the gain if the true member were known. No batch can gain more on the same pool.

    Parameters
    ----------
    estimation : array_like (E, M, K)
        Probabilities of E members, M estimation points and K classes.
    score : str, object or callable
        A name of `bemps.scores.SCORES`, an object with a convex method G(p), or a convex function of p.
    weights : array_like (E,), optional
        Weights of the members. The default is uniform.
    estimation_weights : array_like (M,), optional
        Importance of each estimation point.

    Returns
    -------
    float
        The remaining gain, at least 0.

    Notes
    -----
    It is exactly 0 for a single member, and for members that agree. That says nothing about the truth.
    """
    points = checks.probabilities(estimation, "estimation")
    w, (points,) = checks.weighted_members(weights, points)
    v = checks.distribution(estimation_weights, points.shape[1], "estimation_weights")
    rule = find_score(score)
    root = quadratic_root(rule, points.shape[2])
    if root is not None:
        return float(w @ np.diag(member_form(points, root, w, v)))
    E, M, K = points.shape
    blocks = slices(M, max(1, min(current_limits().memory // 8, 2**24) // (64 * E * K)))
    return float(np.concatenate(map_blocks(lambda s: _excess(points[:, s], rule, w), blocks)) @ v)


def _excess(points: Float[Array, "E m K"], rule: Score, weights: Float[Array, " E"]) -> Float[Array, " m"]:
    """sum_e w_e G(p_e) - G(q) at each point."""
    if isinstance(rule, Log):
        return mutual_information(points, weights)
    exact = points.astype(np.float64)
    return weights @ rule.G(exact) - rule.G(mean_prediction(exact, weights))
