"""How strong the prior of a linear head should be, from the labelled items alone.

Features h = norm * u with L2 = 1: a small norm is a strong prior. The norm minimises a weighted mean of two
estimates of the loss on labels to come, in nats:
  - the leave-one-out loss (one Newton step from the optimum), which is optimistic, over the labels whose class
    has another one: without it nothing could have foretold them;
  - minus the log evidence (Laplace), which averages over learning from nothing and so is pessimistic, ever more
    with the number of classes C: its weight is min(1, EVIDENCE_CLASSES / C) times that of the other;
plus a standard normal prior on log norm^2 around USUAL_NORM, which decides while there are few labels.
Both use A = (Z^T D Z + I)^-1 with the scalar curvature d, the posterior of the closed-form strategies.

A norm chosen so makes the probabilities fit, but an even stronger prior often ranks the classes better: it listens
to all labels alike, not to the contradicting ones most, and is only too timid. So from there the norm falls as
long as the leave-one-out loss does with all logits multiplied by the best `stretch`. Priors: standard normal on
log stretch; normal of variance 1/2 on log norm^2, around the norm that fits, against the chance of few labels.
Without a stronger prior nothing is stretched.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.members.logistic import Axes, map_weights, scalar_curvature, softmax
from bemps.types import Array

USUAL_NORM = 2.5
STEP = np.sqrt(2.0)  # norms are USUAL_NORM * STEP^k
MAX_STEPS = 5
SEARCH_TOLERANCE = 1e-2  # of gradients during the search; the last fit is tight
EVIDENCE_CLASSES = 5
LOG_STRETCH = (-2.0, 2.0)


@dataclass(frozen=True, eq=False)
class Strength:
    """`weights` are near the optimum for features of this norm; their logits fit when multiplied by `stretch`."""

    norm: float
    stretch: float
    weights: Float[Array, "R C"]


def best_strength(unit: Axes, labels: Int[Array, " L"], C: int) -> Strength:
    """Downhill on a grid: first from USUAL_NORM to where the loss is least, then to stronger priors.

    `unit` are the axes of u; the labels are codes into the C classes seen.
    """
    weights: dict[int, Float[Array, "R C"]] = {}

    def fitted(k: int) -> tuple[Axes, Float[Array, "R C"]]:
        axes = unit.scaled(USUAL_NORM * STEP**k)
        if k not in weights:
            near = min(weights, key=lambda j: abs(j - k), default=None)
            # The same logits from scaled features: a start beside the optimum.
            start = None if near is None else weights[near] * STEP ** (near - k)
            weights[k] = map_weights(axes, labels, C, start=start, tolerance=SEARCH_TOLERANCE)
        return axes, weights[k]

    def as_it_is(k: int) -> float:
        return expected_loss(*fitted(k), labels) + _log_precision(k) ** 2 / 2

    def stretched(k: int) -> float:
        return best_stretch(*fitted(k), labels)[1] + _log_precision(k - fits) ** 2

    fits = _downhill(as_it_is, 0, sides=(-1, 1))
    k = _downhill(stretched, fits, sides=(-1,))
    stretch = 1.0 if k == fits else best_stretch(*fitted(k), labels)[0]
    return Strength(float(USUAL_NORM * STEP**k), stretch, weights[k])


def _log_precision(steps: int) -> float:
    """How far so many steps move log norm^2."""
    return float(2 * steps * np.log(STEP))


def _downhill(objective: Callable[[int], float], start: int, *, sides: tuple[int, ...]) -> int:
    """The first local minimum from `start` to one of the sides, at most MAX_STEPS away."""
    at_start = objective(start)
    for side in sides:
        best, value = start, at_start
        while abs(best - start) < MAX_STEPS:
            further = objective(best + side)
            if further >= value:
                break
            best, value = best + side, further
        if best != start:
            return best
    return start


def expected_loss(axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]) -> float:
    """The weighted mean of both estimates at the optimum `weights`."""
    left_out, evidence = loss_estimates(axes, weights, labels)
    share = min(1.0, EVIDENCE_CLASSES / weights.shape[1])
    return (left_out + share * evidence) / (1 + share)


def best_stretch(axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]) -> tuple[float, float]:
    """The factor by which the logits foretell the left-out labels best, and their loss with its prior."""
    from scipy.optimize import minimize_scalar

    logits, _ = _left_out_logits(axes, weights, labels)

    def objective(log_stretch: float) -> float:
        return _loss(np.exp(log_stretch) * logits, labels) + float(log_stretch) ** 2 / 2

    found = minimize_scalar(objective, bounds=LOG_STRETCH, method="bounded", options={"xatol": SEARCH_TOLERANCE})
    return float(np.exp(found.x)), float(found.fun)


def loss_estimates(axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]) -> tuple[float, float]:
    """Leave-one-out loss (of classes with two labels or more) and minus the log evidence."""
    logits, log_determinant = _left_out_logits(axes, weights, labels)
    probs = softmax(axes.Z @ weights)
    fit = (weights * weights).sum() / 2 - np.log(probs[np.arange(len(labels)), labels]).sum()
    return _loss(logits, labels), float(fit + (weights.shape[1] - 1) / 2 * log_determinant)


def _loss(logits: Float[Array, "L C"], labels: Int[Array, " L"]) -> float:
    """Log loss in nats of the labels whose class has another one."""
    told = softmax(logits)[np.arange(len(labels)), labels]
    has_another = np.bincount(labels)[labels] > 1
    return float(-np.log(np.maximum(told, np.finfo(np.float64).tiny))[has_another].sum())


def _left_out_logits(
    axes: Axes, weights: Float[Array, "R C"], labels: Int[Array, " L"]
) -> tuple[Float[Array, "L C"], float]:
    """Logits of every item without its own label, and log det A^-1."""
    from scipy.linalg import solve_triangular

    logits = axes.Z @ weights
    probs = softmax(logits)
    d = scalar_curvature(probs)
    lower = np.linalg.cholesky((axes.Z * d[:, None]).T @ axes.Z + np.eye(len(weights)))
    # Without item i the logits at i move by c_i / (1 - c_i d_i) times its own gradient.
    c = (solve_triangular(lower, axes.Z.T, lower=True) ** 2).sum(axis=0)
    gradient = probs
    gradient[np.arange(len(labels)), labels] -= 1
    moved = logits + (c / np.maximum(1 - c * d, 1e-6))[:, None] * gradient
    return moved, float(2 * np.log(np.diag(lower)).sum())
