r"""The gain of a whole batch under the Brier score: Eq (DQS) with x a batch S, which the paper allows.

    joint(S) = sum_{e<f} w_e w_f mean_m d_ef (1 - E_{y_S ~ q}[rho_e rho_f]),   rho_e = prod_i p_e(y_i|x_i) / q(y_S)
             = E_{y_S ~ q} |R^T r(y_S)|^2,       r_e(y_S) = w_e rho_e = p(theta_e | L, y_S),   R R^T = Gamma

Gamma is `quadratic.member_form`; the second line, which is computed, cannot be negative.
"""

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bemps import checks
from bemps.errors import InputError
from bemps.gain import ranking
from bemps.gain.configurations import Configurations
from bemps.gain.quadratic import member_form, square_root
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Seed


def joint_gain(
    probs: ArrayLike,
    indices: ArrayLike,
    estimation: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    samples: int = 10_000,
    seed: Seed = 0,
) -> float:
    """The expected gain in the Brier score from labelling a whole batch.

    Parameters
    ----------
    probs : array_like (E, N, K)
        Probabilities of E members, N candidates and K classes.
    indices : array_like (B,)
        Positions of the batch in `probs`, all different.
    estimation : array_like (E, M, K), optional
        Probabilities at the estimation pool. The default is the candidates.
    weights : array_like (E,), optional
        Weights of the members. The default is uniform.
    samples : int
        The gain is exact while K^B <= samples. For larger batches so many label configurations are drawn.
    seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    float
        The joint gain, at most the remaining gain.

    Raises
    ------
    InputError
        An argument is not valid.
    """
    candidates = checks.probabilities(probs)
    points = candidates if estimation is None else checks.probabilities(estimation, "estimation")
    checks.same_members_and_classes(candidates, points, "estimation")
    w, (candidates, points) = checks.weighted_members(weights, candidates, points)
    batch = _positions(indices, candidates.shape[1])
    state = after_labelling(candidates, batch, w, checks.integer(samples, "samples", 1), checks.generator(seed))
    form_root = brier_form_root(points, w)
    image = (state.posteriors - w) @ form_root.T  # R^T w = 0: the w only keeps small differences exact
    remaining = w @ (form_root * form_root).sum(0)
    return float(min(state.chances @ (image * image).sum(1), remaining))


def joint_gain_at(
    probs: Float[Array, "E N K"],
    batch: Int[Array, " B"],
    points: Float[Array, "E M K"],
    weights: Float[Array, " E"],
    *,
    samples: int,
    rng: np.random.Generator,
) -> Float[Array, " M"]:
    """The joint gain of a batch at every estimation point: E_{y_S} |sum_e r_e(y_S) (p_e(x') - q(x'))|^2.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    batch : array of int (B,)
        Positions of the batch.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    samples : int
        The largest number of label configurations.
    rng : numpy.random.Generator
        Random numbers of sampled configurations.

    Returns
    -------
    array of float (M,)
        A gain for each point. Their mean is `joint_gain`.
    """
    state = after_labelling(probs, batch, weights, samples, rng)
    E, M, K = points.shape
    exact = points.astype(np.float64)
    deviations = exact - np.tensordot(weights, exact, 1)

    def part(block: slice) -> Float[Array, " m"]:
        shift = (state.posteriors @ deviations[:, block].reshape(E, -1)).reshape(len(state.chances), -1, K)
        return state.chances @ (shift * shift).sum(-1)

    step = max(1, min(current_limits().memory // current_limits().threads, 2**24) // (16 * len(state.chances) * K))
    return np.concatenate(map_blocks(part, slices(M, step)))


def after_labelling(
    probs: Float[Array, "E N K"],
    batch: Int[Array, " B"],
    weights: Float[Array, " E"],
    samples: int,
    rng: np.random.Generator,
) -> Configurations:
    """The label configurations of a batch, and the posterior after each.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    batch : array of int (B,)
        Positions of the batch.
    weights : array of float (E,)
        Weights of the members.
    samples : int
        The largest number of configurations.
    rng : numpy.random.Generator
        Random numbers of sampled configurations.

    Returns
    -------
    Configurations
        The configurations.
    """
    state = Configurations.before_any_label(weights)
    for index in batch:
        state = state.with_item(probs[:, index], samples, rng)
    return state


def brier_form_root(points: Float[Array, "E M K"], weights: Float[Array, " E"]) -> Float[Array, "R E"]:
    """R^T with R R^T = Gamma, for the Brier score and equal weights of the estimation points."""
    M, K = points.shape[1:]
    return square_root(member_form(points, np.eye(K), weights, np.full(M, 1 / M)))


def joint_greedy(
    probs: Float[Array, "E N K"],
    n: int,
    form_root: Float[Array, "R E"],
    weights: Float[Array, " E"],
    *,
    samples: int,
    rng: np.random.Generator,
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """Choose items greedily, each the one that raises the joint gain most.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    n : int
        Size of the batch.
    form_root : array of float (R, E)
        R^T with R R^T = Gamma, as `brier_form_root` computes it.
    weights : array of float (E,)
        Weights of the members.
    samples : int
        The largest number of label configurations.
    rng : numpy.random.Generator
        Random numbers of sampled configurations.

    Returns
    -------
    picks : array of int (n,)
        Positions of the batch.
    increments : array of float (n,)
        How much each pick raises the joint gain.
    """
    N = probs.shape[1]
    exact = probs.astype(np.float64)
    state = Configurations.before_any_label(weights)
    free = np.ones(N, bool)
    picks, values = [], []
    for _ in range(n):
        gain = np.where(free, _with_one_more(exact, state, form_root), -np.inf)
        best = ranking.first_largest(gain)
        picks.append(best)
        values.append(float(gain[best]))
        free[best] = False
        state = state.with_item(probs[:, best], samples, rng)
    return np.array(picks), np.diff(np.array(values), prepend=0.0)


def _with_one_more(
    probs: Float[Array, "E N K"], state: Configurations, form_root: Float[Array, "R E"]
) -> Float[Array, " N"]:
    """Joint gain of the batch so far with each candidate: sum_c chance_c sum_y |R^T (r_c o p_y)|^2 / (r_c . p_y)."""
    E, N, K = probs.shape
    R, C = len(form_root), len(state.chances)
    forms = np.concatenate([form_root, np.ones((1, E))])  # the last row gives r_c . p_y
    stacked = (state.posteriors[:, None, :] * forms).reshape(C * (R + 1), E)
    step = max(1, min(current_limits().memory // current_limits().threads, 2**22) // (8 * C * (R + 2) * K))

    def part(block: slice) -> Float[Array, " n"]:
        p = probs[:, block].reshape(E, -1)
        image = (stacked @ p).reshape(C, R + 1, -1)
        chance = image[:, R]
        squared = np.einsum("crn,crn->cn", image[:, :R], image[:, :R])
        value = state.chances @ np.divide(squared, chance, out=np.zeros_like(chance), where=chance > 0)
        return value.reshape(-1, K).sum(1)

    return np.concatenate(map_blocks(part, slices(N, step)))


def _positions(indices: ArrayLike, N: int) -> Int[Array, " B"]:
    batch = np.asarray(indices)
    if batch.size == 0:
        return np.zeros(0, np.int64)
    fits = batch.ndim == 1 and batch.dtype.kind in "iu" and batch.min() >= 0 and batch.max() < N
    if not fits or len(np.unique(batch)) != len(batch):
        raise InputError(
            "indices",
            expected=f"different positions from 0 to {N - 1}",
            got=np.array2string(batch, threshold=8),
            fix="Give each item of the batch once, by its position in probs.",
        )
    return batch
