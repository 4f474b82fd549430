r"""Scores and vectors as in the authors' public code, which differs from the paper (option `compat="official"`).

E members, N candidates, M estimation points. Their clustered vectors are, for each x',

    CoreMSE:  gain[n,m] + mean_e |p_e(x') - q(x')|^2                       a constant per x' is added
    CoreLog:  E_y KL(before || after) + mean_e KL(p_e(x') || q(x'))        and the divergence is reversed

each row then scaled to length one; the scores are the row sums before that scaling.
"""

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.gain.general import BlockedGain
from bemps.gain.logarithmic import LogKernel
from bemps.gain.member_posterior import mean_prediction, mutual_information
from bemps.gain.quadratic import QuadraticGain, quadratic_gain
from bemps.scores import Brier, Log, ScoreLike
from bemps.scores import score as find_score
from bemps.types import Array


def _parts(
    probs: Float[Array, "E N K"], points: Float[Array, "E M K"], weights: Float[Array, " E"], score: ScoreLike
) -> tuple[QuadraticGain | BlockedGain, Float[Array, " M"]]:
    """The varying part of the authors' vectors, and the constant per x'."""
    rule, M = find_score(score), points.shape[1]
    uniform = np.full(M, 1 / M)
    if isinstance(rule, Log):
        kernel = LogKernel(probs, points, weights, reverse=True)
        return BlockedGain(kernel, uniform), mutual_information(points, weights)
    if isinstance(rule, Brier):
        exact = points.astype(np.float64)
        deviation = exact - mean_prediction(exact, weights)
        constant = weights @ (deviation * deviation).sum(-1)
        return quadratic_gain(probs, points, np.eye(points.shape[2]), weights, uniform), constant
    raise InputError(
        "compat",
        expected="coremse or corelog, which the authors' code has",
        got=repr(score),
        fix="Leave compat out.",
    )


def official_scores(
    probs: Float[Array, "E N K"], points: Float[Array, "E M K"], weights: Float[Array, " E"], score: ScoreLike
) -> Float[Array, " N"]:
    """The means of the authors' vectors.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    score : str, object or callable
        Brier or log.

    Returns
    -------
    array of float (N,)
        A score for each candidate.
    """
    gain, constant = _parts(probs, points, weights, score)
    return gain.scores + constant.mean()


def official_rows(
    probs: Float[Array, "E N K"],
    points: Float[Array, "E M K"],
    weights: Float[Array, " E"],
    score: ScoreLike,
    indices: Int[Array, " n"],
) -> Float[Array, "n M"]:
    """The authors' vectors of some candidates, scaled to length one.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    score : str, object or callable
        Brier or log.
    indices : array of int (n,)
        Positions of the candidates.

    Returns
    -------
    array of float (n, M)
        A vector for each of these candidates.
    """
    gain, constant = _parts(probs[:, indices], points, weights, score)
    rows = gain.matrix() + constant
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
