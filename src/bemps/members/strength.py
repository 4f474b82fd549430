"""How strong the prior of a linear head should be, and on which directions, from the labelled items alone.

Features h = norm * u with L2 = 1: a small norm is a strong prior, a large alpha (see `bemps.members.spectral`) a prior
against weak directions. Each pair is judged by ridge regression on the labels instead of logistic regression, as its
leave-one-out predictions have an exact closed form: with the hat matrix G, `f_i = y_i - (y_i - (G y)_i) / (1 - G_ii)`.
Logistic regression has curvature 1/C where it starts, so ridge with penalty C / norm^2 is its first Newton step.

The score of a pair is the log loss of softmax(scale * f) at the best scale, over the labels whose class has another
one (without it nothing could have foretold them), plus a standard normal prior on log norm^2 around USUAL_NORM, which
decides while there are few labels. The free scale makes this a measure of what is told apart, not of how sure the
answer is: the log loss itself asks for larger norms, which cost F1 where labels are noisy.
Beyond FEW labels weak directions can be learnt, so alpha costs ALPHA_COST nats for each e-fold of labels.
The answer is the mean of alpha and of log norm under weights exp(-score / TEMPERATURE): where pairs are equally good,
a compromise between them is better than either.
Where vectors are two views, how much the second counts is chosen first, at alpha = 0, in the same way: the mean place
among the shares (`bemps.members.spectral`), to the nearest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.members.logistic import Axes, principal_axes, softmax
from bemps.members.spectral import USUAL_ALPHA, Recipe, SpectralMap, Spectrum
from bemps.types import Array

ALPHAS = np.array([1.0, 0.5, 0.0])
USUAL_NORM = 2.5
NORMS = USUAL_NORM * np.sqrt(2.0) ** np.arange(-5, 10)
SCALES = np.sqrt(2.0) ** np.arange(-2, 13)
FEW, ALPHA_COST = 100, 2.0
TEMPERATURE = 4.0


@dataclass(frozen=True, eq=False)
class Chosen:
    """The features of a fit: the map to u, its axes at the labelled items, and the norm."""

    map: SpectralMap
    axes: Axes
    norm: float


def choose(
    pool: Sequence[Spectrum],
    vectors: Float[Array, "L D"],
    labels: Int[Array, " L"],
    C: int,
    recipe: Recipe = Recipe(),  # noqa: B008
) -> Chosen:
    """The features for these labels, codes into the C classes seen; what the recipe states is kept.

    pool  the spectrum of each share of a second view; one where there is none
    """
    alphas = ALPHAS if recipe.alpha is None else np.array([recipe.alpha])
    norms = NORMS if recipe.norm is None else np.array([recipe.norm])
    alpha, norm = USUAL_ALPHA, USUAL_NORM
    view = _view([_View(spectrum, vectors, recipe) for spectrum in pool], labels, C)
    if C > 1 and len(alphas) * len(norms) > 1:
        found = np.stack([scores(view.axes(float(alpha)), labels, C, norms) for alpha in alphas])
        weights = _weights(found + ALPHA_COST * alphas[:, None] * np.log(max(len(labels) / FEW, 1.0)))
        alpha, norm = float(weights.sum(axis=1) @ alphas), float(np.exp(weights.sum(axis=0) @ np.log(norms)))
    alpha = alpha if recipe.alpha is None else recipe.alpha
    return Chosen(view.spectrum.map(alpha, recipe), view.axes(alpha), norm if recipe.norm is None else recipe.norm)


class _View:
    """The labelled items in one spectrum: projected once, the axes of each alpha made once."""

    def __init__(self, spectrum: Spectrum, vectors: Float[Array, "L D"], recipe: Recipe) -> None:
        self.spectrum, self._along, self._recipe = spectrum, spectrum.along(vectors), recipe
        self._made: dict[float, Axes] = {}

    def axes(self, alpha: float) -> Axes:
        if alpha not in self._made:
            self._made[alpha] = principal_axes(self.spectrum.features(self._along, alpha, self._recipe))
        return self._made[alpha]


def _view(pool: Sequence[_View], labels: Int[Array, " L"], C: int) -> _View:
    """That of the share of the second view which suits the labels."""
    if len(pool) == 1 or C == 1:
        return pool[len(pool) // 2]
    weights = _weights(np.stack([scores(one.axes(0.0), labels, C) for one in pool])).sum(axis=1)
    return pool[int(np.rint(weights @ np.arange(len(pool))))]


def best_norm(unit: Axes, labels: Int[Array, " L"], C: int) -> float:
    """The norm for given features u, of which `unit` are the axes."""
    return float(np.exp(_weights(scores(unit, labels, C)) @ np.log(NORMS))) if C > 1 else USUAL_NORM


def scores(unit: Axes, labels: Int[Array, " L"], C: int, norms: Float[Array, " n"] = NORMS) -> Float[Array, " n"]:
    """The score of each norm, less is better."""
    targets = np.eye(C)[labels] - 1 / C
    foretold = np.bincount(labels)[labels] > 1
    found, scale = np.empty(len(norms)), len(SCALES) // 2
    for n, norm in enumerate(norms):
        left_out = leave_one_out(unit, targets, C / norm**2)
        scale, found[n] = _downhill(_loss_at(left_out, labels, foretold), scale)
    return found + 2 * np.log(norms / USUAL_NORM) ** 2


def leave_one_out(axes: Axes, targets: Float[Array, "L C"], penalty: float) -> Float[Array, "L C"]:
    """What ridge regression predicts for each item from all the others."""
    shrunk = 1 / (axes.squares + penalty)
    fitted = axes.Z @ (shrunk[:, None] * (axes.Z.T @ targets))
    others = np.maximum(1 - (axes.Z * axes.Z) @ shrunk, np.finfo(np.float64).eps)
    predicted: Array = targets - (targets - fitted) / others[:, None]
    return predicted


def _weights(found: Float[Array, "*any"]) -> Float[Array, "*any"]:
    return softmax(-found.ravel() / TEMPERATURE).reshape(found.shape)


def _loss_at(
    predicted: Float[Array, "L C"], labels: Int[Array, " L"], counted: Bool[Array, " L"]
) -> Callable[[int], float]:
    """Log loss of the softmax of the predictions, at the scale of a given place in SCALES."""
    above = predicted - predicted[np.arange(len(labels)), labels][:, None]
    above = above[counted]

    def loss(place: int) -> float:
        logits = SCALES[place] * above
        top = logits.max(axis=1, keepdims=True, initial=0.0)
        return float((top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))).sum())

    return loss


def _downhill(loss: Callable[[int], float], start: int) -> tuple[int, float]:
    """The place in SCALES with the least loss, which is convex in the scale, and that loss."""
    best, least = start, loss(start)
    for side in (-1, 1):
        while 0 <= best + side < len(SCALES) and (further := loss(best + side)) < least:
            best, least = best + side, further
        if best != start:
            break
    return best, least
