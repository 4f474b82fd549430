"""MAP multinomial logistic regression in NumPy, with a standard normal prior on every weight (L2 = 1).

    minimise  sum_i -log softmax(W^T h_i)[y_i] + |W|^2 / 2        over W (H, K)

Everything happens in the principal axes of the labelled features: `h_i = V z_i` with orthonormal V (H, R) and
R <= min(L, H). The optimum lies in that span; across it the posterior is the prior.
There the Hessian is nearly diagonal, which makes L-BFGS and conjugate gradients short.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from bemps.models.base import Diverged
from bemps.types import Array

L2 = 1.0
TIGHT = 1e-6  # largest entry of the preconditioned gradient at the optimum
LOOSE = 1e-4  # what is accepted where rounding ends the search before
MAX_ITERATIONS = 1000
RANK_TOLERANCE = 1e-12  # of the largest squared singular value; smaller ones are rounding


@dataclass(frozen=True, eq=False)
class Axes:
    """The labelled features in their own principal axes: `H = Z V^T`, `Z^T Z = diag(squares)`.

    Parameters
    ----------
    features : array (L, H)
        The labelled features.
    Z : array (L, R)
        The features in the coordinates of the axes.
    squares : array (R,)
        The sum of squares along each axis.
    """

    features: Float[Array, "L H"]
    Z: Float[Array, "L R"]
    squares: Float[Array, " R"]

    @cached_property
    def V(self) -> Float[Array, "H R"]:
        """Computed on first use: every fit compares the axes of many priors and needs this of one of them."""
        return self.features.T @ (self.Z / self.squares)

    def scaled(self, norm: float) -> "Axes":
        """The axes of `norm` times the features."""
        return Axes(norm * self.features, norm * self.Z, norm**2 * self.squares)


def principal_axes(features: Float[Array, "L H"]) -> Axes:
    """Through the smaller Gram matrix; directions at rounding level are left to the prior."""
    L, H = features.shape
    gram = features.T @ features if L >= H else features @ features.T
    squares, vectors = np.linalg.eigh(gram)
    above_rounding = squares > RANK_TOLERANCE * max(float(squares[-1]), np.finfo(np.float64).tiny)
    squares, vectors = squares[above_rounding], vectors[:, above_rounding]
    return Axes(features, features @ vectors if L >= H else vectors * np.sqrt(squares), squares)


def map_weights(
    axes: Axes,
    labels: Int[Array, " L"],
    K: int,
    *,
    start: Float[Array, "R K"] | None = None,
    tolerance: float = TIGHT,
) -> Float[Array, "R K"]:
    """The optimum in the axes' coordinates, by L-BFGS on the preconditioned problem.

    Parameters
    ----------
    axes : Axes
        The labelled features in their principal axes.
    labels : array (L,) of int
        The codes of the labelled items.
    K : int
        The number of classes.
    start : array (R, K), optional
        Where the search starts; None is zero.
    tolerance : float, optional
        How exact the optimum is; smaller is more exact.

    Returns
    -------
    array (R, K)
        The weights.
    """
    from scipy.optimize import minimize

    R, hit = len(axes.squares), np.eye(K)[labels]
    # The root of the curvature at equal probabilities, squares/K + 1 on each axis.
    stretch = 1 / np.sqrt(axes.squares / K + L2)[:, None]

    def loss(flat: Float[Array, " RK"]) -> tuple[float, Float[Array, " RK"]]:
        W = stretch * flat.reshape(R, K)
        logits = axes.Z @ W
        logits -= logits.max(axis=1, keepdims=True)
        probs = np.exp(logits)
        total = probs.sum(axis=1, keepdims=True)
        value = np.log(total).sum() - (logits * hit).sum() + L2 / 2 * (W * W).sum()
        gradient = axes.Z.T @ (probs / total - hit) + L2 * W
        return float(value), (stretch * gradient).ravel()

    first = np.zeros(R * K) if start is None else (start / stretch).ravel()
    result = minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS, "gtol": tolerance, "ftol": 0.0, "maxcor": 10},
    )
    if not np.isfinite(result.fun) or np.abs(result.jac).max() > max(LOOSE, tolerance):
        raise Diverged(f"logistic regression: expected convergence; got: {result.message}.")
    optimum: Array = stretch * result.x.reshape(R, K)
    return optimum
