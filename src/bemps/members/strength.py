"""How strong the prior of a linear head should be, from the labelled items alone.

Features h = norm * u with L2 = 1: a small norm is a strong prior. The norm minimises a weighted mean of two
estimates of the loss on labels to come, in nats:
  - the leave-one-out loss (one Newton step from the optimum), which is optimistic, over the labels whose class
    has another one: without it nothing could have foretold them;
  - minus the log evidence (Laplace), which averages over learning from nothing and so is pessimistic, ever more
    with the number of classes C: its weight is min(1, EVIDENCE_CLASSES / C) times that of the other;
plus a standard normal prior on log norm^2 around USUAL_NORM, which decides while there are few labels.
Both use A = (Z^T D Z + I)^-1 with the scalar curvature d, the posterior of the closed-form strategies.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bemps.members.logistic import Axes, map_weights, scalar_curvature, softmax
from bemps.types import Array

USUAL_NORM = 2.5
STEP = np.sqrt(2.0)  # norms are USUAL_NORM * STEP^k
MAX_STEPS = 5
SEARCH_TOLERANCE = 1e-2  # of gradients during the search; the last fit is tight
EVIDENCE_CLASSES = 5


def best_norm(unit: Axes, labels: Int[Array, " L"], C: int) -> tuple[float, Float[Array, "R C"]]:
    """The norm on the grid to which downhill steps from USUAL_NORM lead, and weights near the optimum there.

    `unit` are the axes of u; the labels are codes into the C classes seen.
    """
    weights: dict[int, Float[Array, "R C"]] = {}

    def objective(k: int) -> float:
        norm = USUAL_NORM * STEP**k
        near = min(weights, key=lambda j: abs(j - k), default=None)
        # The same logits from scaled features: a start beside the optimum.
        start = None if near is None else weights[near] * STEP ** (near - k)
        axes = unit.scaled(norm)
        weights[k] = map_weights(axes, labels, C, start=start, tolerance=SEARCH_TOLERANCE)
        log_precision = 2 * np.log(norm / USUAL_NORM)
        return expected_loss(axes, weights[k], labels) + log_precision**2 / 2

    k = _downhill(objective)
    return float(USUAL_NORM * STEP**k), weights[k]


def _downhill(objective: Callable[[int], float]) -> int:
    """The first local minimum from 0, in whole steps to either side, at most MAX_STEPS away."""
    at_start = objective(0)
    for side in (-1, 1):
        best, value = 0, at_start
        while abs(best) < MAX_STEPS:
            further = objective(best + side)
            if further >= value:
                break
            best, value = best + side, further
        if best != 0:
            return best
    return 0


def expected_loss(axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]) -> float:
    """The weighted mean of both estimates at the optimum `weights`."""
    left_out, evidence = loss_estimates(axes, weights, labels)
    share = min(1.0, EVIDENCE_CLASSES / weights.shape[1])
    return (left_out + share * evidence) / (1 + share)


def loss_estimates(axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]) -> tuple[float, float]:
    """Leave-one-out loss (of classes with two labels or more) and minus the log evidence."""
    from scipy.linalg import solve_triangular

    told = (np.arange(len(labels)), labels)
    logits = axes.Z @ weights
    probs = softmax(logits)
    d = scalar_curvature(probs)
    lower = np.linalg.cholesky((axes.Z * d[:, None]).T @ axes.Z + np.eye(len(weights)))
    log_determinant = 2 * np.log(np.diag(lower)).sum()
    fit = (weights * weights).sum() / 2 - np.log(probs[told]).sum()
    evidence = fit + (weights.shape[1] - 1) / 2 * log_determinant

    # Without item i the logits at i move by c_i / (1 - c_i d_i) times its own gradient.
    c = (solve_triangular(lower, axes.Z.T, lower=True) ** 2).sum(axis=0)
    gradient = probs.copy()
    gradient[told] -= 1
    moved = softmax(logits + (c / np.maximum(1 - c * d, 1e-6))[:, None] * gradient)
    has_another = np.bincount(labels)[labels] > 1
    left_out = -np.log(np.maximum(moved[told], np.finfo(np.float64).tiny))[has_another].sum()
    return float(left_out), float(evidence)
