"""Samples from the Laplace posterior of a multinomial logistic regression with a standard normal prior.

    W ~ N(W_map, T P^-1),   P = sum_i S_i (x) h_i h_i^T + I,   S_i = diag(q_i) - q_i q_i^T

full    exact: P is never formed. `P b = u` with `u ~ N(0, P)` gives `b ~ N(0, P^-1)`, solved for all members at
        once by conjugate gradients; memory is E times the weights, also for 385 features and 77 classes.
shared  `A = (sum_i d_i h_i h_i^T + I)^-1` for every class, d_i = (1 - |q_i|^2)/(K-1): the posterior that the
        closed-form strategies assume.
Across the span of the labelled features both are the prior, N(0, T).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bemps._utils.numerics import curvature
from bemps.models.base import Diverged
from bemps.models.linear.logistic_regression import Axes
from bemps.types import Array

RESIDUAL_TOLERANCE = 1e-3  # far below the sampling noise of any number of members
MAX_ITERATIONS = 1000
TINY = np.finfo(np.float64).tiny

Sampler = Callable[[Axes, Float[Array, "L K"], int, np.random.Generator], Float[Array, "R E K"]]


def full(axes: Axes, probs: Float[Array, "L K"], members: int, rng: np.random.Generator) -> Float[Array, "R E K"]:
    """Exact deviations from the MAP, in the axes' coordinates.

    Parameters
    ----------
    axes : Axes
        The labelled features in their principal axes.
    probs : array (L, K)
        The probabilities of the labelled items at the MAP.
    members : int
        How many samples to draw.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    array (R, E, K)
        The deviations of each member.
    """
    (L, K), R = probs.shape, len(axes.squares)
    noise = rng.standard_normal((L, members, K))
    prior = rng.standard_normal((R, members, K))
    # diag(sqrt q) - q sqrt(q)^T is a square root of S
    q, root = probs[:, None, :], np.sqrt(probs)[:, None, :]
    noise = root * noise - q * (root * noise).sum(axis=2, keepdims=True)
    target = np.tensordot(axes.Z, noise, axes=(0, 0)) + prior

    def precision(b: Float[Array, "R E K"]) -> Float[Array, "R E K"]:
        moved = q * np.tensordot(axes.Z, b, axes=(1, 0))
        moved -= q * moved.sum(axis=2, keepdims=True)
        return np.tensordot(axes.Z, moved, axes=(0, 0)) + b

    diagonal = curvature(probs).mean() * axes.squares + 1
    return _conjugate_gradients(precision, target, diagonal[:, None, None])


def _conjugate_gradients(
    apply: Callable[[Float[Array, "R E K"]], Float[Array, "R E K"]],
    target: Float[Array, "R E K"],
    diagonal: Float[Array, "R 1 1"],
) -> Float[Array, "R E K"]:
    """Solve apply(b) = target for each member on its own, preconditioned by the diagonal."""

    def dot(a: Float[Array, "R E K"], b: Float[Array, "R E K"]) -> Float[Array, "1 E 1"]:
        product: Array = np.einsum("rek,rek->e", a, b)[None, :, None]
        return product

    solution, residual = np.zeros_like(target), target.copy()
    direction = residual / diagonal
    size = dot(residual, direction)
    limit = RESIDUAL_TOLERANCE**2 * size
    for _ in range(MAX_ITERATIONS):
        if (size <= limit).all():
            return solution
        image = apply(direction)
        step = size / np.maximum(dot(direction, image), TINY)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        before, size = size, dot(residual, scaled)
        direction = scaled + size / np.maximum(before, TINY) * direction
    raise Diverged("Laplace posterior: expected conjugate gradients to converge; they did not.")


def shared(axes: Axes, probs: Float[Array, "L K"], members: int, rng: np.random.Generator) -> Float[Array, "R E K"]:
    """Deviations with the same covariance A for each class, in the axes' coordinates.

    Parameters
    ----------
    axes : Axes
        The labelled features in their principal axes.
    probs : array (L, K)
        The probabilities of the labelled items at the MAP.
    members : int
        How many samples to draw.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    array (R, E, K)
        The deviations of each member.
    """
    from scipy.linalg import solve_triangular

    R, K = len(axes.squares), probs.shape[1]
    precision = (axes.Z * curvature(probs)[:, None]).T @ axes.Z + np.eye(R)
    noise = rng.standard_normal((R, members * K))
    deviations: Array = solve_triangular(np.linalg.cholesky(precision), noise, lower=True, trans="T")
    return deviations.reshape(R, members, K)


COVARIANCES: dict[str, Sampler] = {"full": full, "shared": shared}


def deviations(
    sampler: Sampler, axes: Axes, probs: Float[Array, "L K"], members: int, rng: np.random.Generator
) -> Float[Array, "H E K"]:
    """Samples of W - W_map at temperature 1 in feature space: the sampler's in the span, the prior across it.

    Parameters
    ----------
    sampler : callable
        Draws the deviations in the span: `full` or `shared`.
    axes : Axes
        The labelled features in their principal axes.
    probs : array (L, K)
        The probabilities of the labelled items at the MAP.
    members : int
        How many samples to draw.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    array (H, E, K)
        The deviations of each member.
    """
    inside = sampler(axes, probs, members, rng)
    prior = rng.standard_normal((len(axes.V), members, probs.shape[1]))
    inside -= np.tensordot(axes.V, prior, axes=(0, 0))
    return np.tensordot(axes.V, inside, axes=(1, 0)) + prior
