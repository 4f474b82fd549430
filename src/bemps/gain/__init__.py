r"""What a label is worth: expected gain and remaining gain, for every proper score.

DeltaQ(x|L,x') = E_{y ~ q(.|x)} [G(p(.|L,(x,y),x'))] - G(p(.|L,x'))         Eq (DQS) of the paper, one x'
DeltaQ(x|L)    = E_{x'} DeltaQ(x|L,x')                                      Eq (DQS)
Q_S(L)         = E_{x'} [ sum_e w_e G(p_e(.|x')) - G(q(.|x')) ]             Eq (QS)
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bemps import checks
from bemps.gain.blocked import BlockedGain, GeneralKernel
from bemps.gain.logarithmic import LogKernel
from bemps.gain.posterior import mean_prediction, mutual_information
from bemps.gain.quadratic import QuadraticGain, member_form, quadratic_gain
from bemps.limits import current_limits, map_blocks, slices
from bemps.scores import Custom, Log, Score, ScoreLike, check_convexity, quadratic_root
from bemps.scores import score as find_score
from bemps.types import Array

CONVEXITY_PAIRS = 1_000  # at which a score of the user's own is looked at before its gains are computed
Gain = QuadraticGain | BlockedGain
"""The expected gain of every candidate: `.scores`, `.standard_error`, `.matrix()`, `.vectors`, `.rows(indices)`.

Everything is computed when first asked for."""


def expected_gain(
    probs: ArrayLike,
    estimation: ArrayLike | None = None,
    *,
    score: ScoreLike = "brier",
    weights: ArrayLike | None = None,
    estimation_weights: ArrayLike | None = None,
) -> Gain:
    """The expected gain in `score` from labelling each candidate (Algorithms 1 and 2 of the paper).

    probs               (E, N, K) probabilities of the members at the candidates
    estimation          (E, M, K) of the same members at the estimation pool X; the candidates themselves if None
    score               a name (`bemps.scores.SCORES`), an object with a convex G(p), or such a function
    weights             (E,) p(theta|L), uniform if None
    estimation_weights  (M,) importance of each estimation point, for a target distribution other than the pool's

    A gain is how far the members' predictions would move: of one member, or of members that agree, it is exactly 0.
    """
    candidates = checks.probabilities(probs)
    points = candidates if estimation is None else checks.probabilities(estimation, "estimation")
    checks.same_members_and_classes(candidates, points, "estimation")
    v = checks.distribution(estimation_weights, points.shape[1], "estimation_weights")
    w, (candidates, points) = checks.weighted_members(weights, candidates, points)
    chosen = find_score(score)
    root = quadratic_root(chosen, points.shape[2])
    if root is not None:
        return quadratic_gain(candidates, points, root, w, v)
    if isinstance(chosen, Log):
        return BlockedGain(LogKernel(candidates, points, w), v)
    if isinstance(chosen, Custom):
        check_convexity(chosen, points.shape[2], pairs=CONVEXITY_PAIRS)
    return BlockedGain(GeneralKernel(candidates, points, chosen.G, w), v)


def core_mse(probs: ArrayLike, estimation: ArrayLike | None = None, weights: ArrayLike | None = None) -> Gain:
    """CoreMSE: the expected gain in the Brier score."""
    return expected_gain(probs, estimation, score="brier", weights=weights)


def core_log(probs: ArrayLike, estimation: ArrayLike | None = None, weights: ArrayLike | None = None) -> Gain:
    """CoreLog: the expected gain in the log score; the same as EPIG (Bickford Smith et al. 2023)."""
    return expected_gain(probs, estimation, score="log", weights=weights)


def remaining_gain(
    estimation: ArrayLike,
    *,
    score: ScoreLike = "brier",
    weights: ArrayLike | None = None,
    estimation_weights: ArrayLike | None = None,
) -> float:
    """Q_S(L): what could still be gained if the true member were known; no batch can gain more on the same pool.

    Of one member, or of members that agree, it is exactly 0, which says nothing about the truth.
    """
    points = checks.probabilities(estimation, "estimation")
    w, (points,) = checks.weighted_members(weights, points)
    v = checks.distribution(estimation_weights, points.shape[1], "estimation_weights")
    chosen = find_score(score)
    root = quadratic_root(chosen, points.shape[2])
    if root is not None:
        return float(w @ np.diag(member_form(points, root, w, v)))
    E, M, K = points.shape
    blocks = slices(M, max(1, min(current_limits().memory // 8, 2**24) // (64 * E * K)))
    return float(np.concatenate(map_blocks(lambda s: _excess(points[:, s], chosen, w), blocks)) @ v)


def _excess(points: Float[Array, "E m K"], chosen: Score, weights: Float[Array, " E"]) -> Float[Array, " m"]:
    """sum_e w_e G(p_e) - G(q) at each point."""
    if isinstance(chosen, Log):
        return mutual_information(points, weights)
    exact = points.astype(np.float64)
    return weights @ chosen.G(exact) - chosen.G(mean_prediction(exact, weights))
