"""The prior of a linear head: how strong it is, and on which directions, chosen from the labelled items alone.

Features are h = norm * u with L2 = 1. A small norm is a strong prior. A large alpha (see `spectral_features`) is a
prior against weak directions.

A pair (alpha, norm) is scored by ridge regression on the labels instead of logistic regression, because its
leave-one-out predictions have an exact closed form: with the hat matrix G, `f_i = y_i - (y_i - (G y)_i) / (1 - G_ii)`.
Logistic regression has curvature 1/C where it starts, so ridge with penalty C / norm^2 is its first Newton step.

The score of a pair is the log loss of softmax(scale * f) at the best scale. It counts the labels whose class has
another label; nothing can predict the others. A standard normal prior on log norm^2 around 2.5 is added, which
decides while there are few labels. The free scale makes the score a measure of separation, not of confidence: the log
loss itself prefers larger norms, which cost F1 where labels are noisy.

Beyond FEW labels weak directions can be learnt, so alpha costs ALPHA_COST nats for each e-fold of labels.

The result is the mean of alpha and of log norm under weights exp(-score / TEMPERATURE). Where pairs are equally good, a
compromise between them is better than either.

Where vectors are two views, the weight of the second is chosen first, at alpha = 0, in the same way: the mean position
among the shares (`bemps.models.linear.spectral_features`), to the nearest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps._utils.numerics import SPECTRAL_NORM, softmax
from bemps.models.linear.logistic_regression import Axes, principal_axes
from bemps.models.linear.spectral_features import USUAL_ALPHA, SpectralMap, SpectralRecipe, Spectrum
from bemps.types import Array

ALPHAS = np.array([1.0, 0.5, 0.0])
NORMS = SPECTRAL_NORM * np.sqrt(2.0) ** np.arange(-5, 10)
SCALES = np.sqrt(2.0) ** np.arange(-2, 13)
FEW, ALPHA_COST = 100, 2.0
TEMPERATURE = 4.0


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """The features of a fit.

    Parameters
    ----------
    map : SpectralMap
        The map to u.
    axes : Axes
        The axes of u at the labelled items.
    norm : float
        The norm of the features.
    """

    map: SpectralMap
    axes: Axes
    norm: float


def choose(
    pool: Sequence[Spectrum],
    vectors: Float[Array, "L D"],
    labels: Int[Array, " L"],
    C: int,
    recipe: SpectralRecipe = SpectralRecipe(),  # noqa: B008
) -> FeatureChoice:
    """Choose the features for these labels.

    Parameters
    ----------
    pool : sequence of Spectrum
        The spectrum of each share of a second view; one where there is none.
    vectors : array (L, D)
        The labelled vectors.
    labels : array (L,) of int
        Codes into the C classes that have a label.
    C : int
        The number of these classes.
    recipe : SpectralRecipe
        Values that it states are not chosen.
    """
    alphas = ALPHAS if recipe.alpha is None else np.array([recipe.alpha])
    norms = NORMS if recipe.norm is None else np.array([recipe.norm])
    alpha, norm = USUAL_ALPHA, SPECTRAL_NORM
    view = _view([_View(spectrum, vectors, recipe) for spectrum in pool], labels, C)
    if C > 1 and len(alphas) * len(norms) > 1:
        losses = np.stack([scores(view.axes(float(alpha)), labels, C, norms) for alpha in alphas])
        weights = _weights(losses + ALPHA_COST * alphas[:, None] * np.log(max(len(labels) / FEW, 1.0)))
        alpha, norm = float(weights.sum(axis=1) @ alphas), float(np.exp(weights.sum(axis=0) @ np.log(norms)))
    alpha = alpha if recipe.alpha is None else recipe.alpha
    return FeatureChoice(
        view.spectrum.map(alpha, recipe), view.axes(alpha), norm if recipe.norm is None else recipe.norm
    )


class _View:
    """The labelled items in one spectrum: projected once, the axes of each alpha made once."""

    def __init__(self, spectrum: Spectrum, vectors: Float[Array, "L D"], recipe: SpectralRecipe) -> None:
        self.spectrum, self._along, self._recipe = spectrum, spectrum.along(vectors), recipe
        self._axes: dict[float, Axes] = {}

    def axes(self, alpha: float) -> Axes:
        if alpha not in self._axes:
            self._axes[alpha] = principal_axes(self.spectrum.features(self._along, alpha, self._recipe))
        return self._axes[alpha]


def _view(pool: Sequence[_View], labels: Int[Array, " L"], C: int) -> _View:
    """The view whose share of the second view suits the labels."""
    if len(pool) == 1 or C == 1:
        return pool[len(pool) // 2]
    weights = _weights(np.stack([scores(view.axes(0.0), labels, C) for view in pool])).sum(axis=1)
    return pool[int(np.rint(weights @ np.arange(len(pool))))]


def best_norm(unit: Axes, labels: Int[Array, " L"], C: int) -> float:
    """The norm for given features u, of which `unit` are the axes.

    Parameters
    ----------
    unit : Axes
        The axes of the features u at the labelled items.
    labels : array (L,) of int
        The codes of the labelled items, from 0 to C - 1.
    C : int
        The number of classes with labels.

    Returns
    -------
    float
        The norm.
    """
    return float(np.exp(_weights(scores(unit, labels, C)) @ np.log(NORMS))) if C > 1 else SPECTRAL_NORM


def scores(unit: Axes, labels: Int[Array, " L"], C: int, norms: Float[Array, " n"] = NORMS) -> Float[Array, " n"]:
    """The score of each norm; less is better.

    Parameters
    ----------
    unit : Axes
        The axes of the features u at the labelled items.
    labels : array (L,) of int
        The codes of the labelled items, from 0 to C - 1.
    C : int
        The number of classes with labels.
    norms : array (n,), optional
        The norms to score.

    Returns
    -------
    array (n,)
        The scores.
    """
    targets = np.eye(C)[labels] - 1 / C
    predictable = np.bincount(labels)[labels] > 1
    losses, scale = np.empty(len(norms)), len(SCALES) // 2
    for n, norm in enumerate(norms):
        left_out = leave_one_out(unit, targets, C / norm**2)
        scale, losses[n] = _downhill(_loss_at(left_out, labels, predictable), scale)
    return losses + 2 * np.log(norms / SPECTRAL_NORM) ** 2


def leave_one_out(axes: Axes, targets: Float[Array, "L C"], penalty: float) -> Float[Array, "L C"]:
    """What ridge regression predicts for each item from all the others.

    Parameters
    ----------
    axes : Axes
        The labelled features in their principal axes.
    targets : array (L, C)
        The targets of the regression.
    penalty : float
        The penalty of the squared weights.

    Returns
    -------
    array (L, C)
        The predictions.
    """
    shrunk = 1 / (axes.squares + penalty)
    fitted = axes.Z @ (shrunk[:, None] * (axes.Z.T @ targets))
    others = np.maximum(1 - (axes.Z * axes.Z) @ shrunk, np.finfo(np.float64).eps)
    predicted: Array = targets - (targets - fitted) / others[:, None]
    return predicted


def _weights(losses: Float[Array, "*any"]) -> Float[Array, "*any"]:
    return softmax(-losses.ravel() / TEMPERATURE).reshape(losses.shape)


def _loss_at(
    predicted: Float[Array, "L C"], labels: Int[Array, " L"], counted: Bool[Array, " L"]
) -> Callable[[int], float]:
    """Log loss of the softmax of the predictions, as a function of the index in SCALES."""
    above = predicted - predicted[np.arange(len(labels)), labels][:, None]
    above = above[counted]

    def loss(index: int) -> float:
        logits = SCALES[index] * above
        top = logits.max(axis=1, keepdims=True, initial=0.0)
        return float((top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))).sum())

    return loss


def _downhill(loss: Callable[[int], float], start: int) -> tuple[int, float]:
    """The index in SCALES with the least loss, which is convex in the scale, and that loss."""
    best, least = start, loss(start)
    for side in (-1, 1):
        while 0 <= best + side < len(SCALES) and (further := loss(best + side)) < least:
            best, least = best + side, further
        if best != start:
            break
    return best, least
