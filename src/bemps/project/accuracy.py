r"""The accuracy of a classifier, estimated from a few audit items and from the labels that were acquired.

The audit alone gives Wilson's interval, which is wide: +- 17 points for 20 items. The labels that active learning
acquired are more, but of hard items, and their cross-validated accuracy is far too low (by 13 points in our
experiments). Most of that bias disappears if the model is judged *at equal confidence*: items are chosen by their
confidence, so that

    estimate = mean over the audit slice of sigmoid(a + b logit(confidence)),   a, b from the cross-validated labels

misses the truth by SHIFT in logits, with a spread of SPREAD from project to project. That is a prior for the accuracy
(Student's t with DEGREES degrees of freedom, whose heavy tails let the audit overrule it). The estimate is never surer
than the labels are by themselves: where only a few of them were predicted wrongly, the spread is theirs,
sqrt(1 / (wrong + 1/2) + 1 / (right + 1/2)) in logits. The audit updates the prior:

    p(theta | audit) ~ t((logit theta - logit estimate - SHIFT) / SPREAD) theta^(right - 1) (1 - theta)^(wrong - 1)

`python studies/forecast_fit.py accuracy` fits the constants and measures coverage and width on sets that were left
out; docs/appendices/forecasts.md has the results. Importance weights (LURE) do not exist here: the item with the
largest score is acquired, and all others had no chance.

n  audit items    L  labelled    M  audit slice, labelled or not
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from bemps.metrics import Share
from bemps.types import Array

SHIFT, SPREAD, DEGREES = 0.335, 0.407, 4
FEWEST_LABELS = 60  # with fewer, cross-validation says too little
FEWEST_AUDITED = 20  # with fewer audit items no accuracy is reported
GRID = np.linspace(0.0005, 0.9995, 1_000)
SLOPE, SLOPE_SPREAD = 0.7, 0.5  # of b before anything is seen
STEPS = 25


@dataclass(frozen=True)
class Estimate:
    """An accuracy as labels tell it, without the audit.

    Attributes
    ----------
    accuracy : float
        The accuracy.
    spread : float
        The scale of its error, in logits.
    """

    accuracy: float
    spread: float = SPREAD


def estimated_accuracy(
    confidence: Float[Array, " L"], right: Float[Array, " L"] | Bool[Array, " L"], everywhere: Float[Array, " M"]
) -> Estimate:
    """Estimate the accuracy on items from their confidences and from cross-validated labels.

    Parameters
    ----------
    confidence : float array of shape (L,)
        The confidence in the cross-validated predictions.
    right : float or bool array of shape (L,)
        Whether these predictions were right.
    everywhere : float array of shape (M,)
        The confidence in the items whose accuracy is estimated.

    Returns
    -------
    Estimate
        The estimated accuracy, and how far it may be from the truth.
    """
    outcomes = np.asarray(right, dtype=np.float64)
    smoothed = (outcomes * len(outcomes) + 0.5) / (len(outcomes) + 1)  # half a mistake where there is none
    a, b = right_at_confidence(confidence, smoothed)
    return Estimate(float(_sigmoid(a + b * _logit(everywhere)).mean()), max(SPREAD, spread_of_share(outcomes)))


def spread_of_share(right: Float[Array, " L"]) -> float:
    """The standard error of the logit of a share, each outcome with half a count more so that none is impossible."""
    hits = float(right.sum())
    return float(np.sqrt(1 / (hits + 0.5) + 1 / (len(right) - hits + 0.5)))


def right_at_confidence(confidence: Float[Array, " L"], right: Float[Array, " L"]) -> tuple[float, float]:
    """a and b of P(right) = sigmoid(a + b logit(confidence)): logistic regression with a normal prior, by Newton."""
    x = np.stack([np.ones(len(confidence)), _logit(confidence)])
    prior, precision = np.array([0.0, SLOPE]), np.diag([0.01, SLOPE_SPREAD**-2])
    coefficients = prior
    for _ in range(STEPS):
        chance = _sigmoid(coefficients @ x)
        slope = x @ (right - chance) - precision @ (coefficients - prior)
        curvature = (x * (chance * (1 - chance))) @ x.T + precision
        coefficients = coefficients + np.linalg.solve(curvature, slope).clip(-2, 2)
    return float(coefficients[0]), float(coefficients[1])


def accuracy_from(right: int, n: int, estimate: Estimate, *, shift: float = SHIFT) -> Share:
    """Return the accuracy and its 95 % interval, from the audit and an estimate from the other labels.

    Parameters
    ----------
    right : int
        The number of audit items that the model predicts correctly.
    n : int
        The number of audit items.
    estimate : Estimate
        The result of `estimated_accuracy`.
    shift : float
        The mean error of the estimate, in logits.

    Returns
    -------
    Share
        The median of the posterior, and its interval.
    """
    z = (_logit(GRID) - _logit(np.array([estimate.accuracy])) - shift) / estimate.spread
    density = -(DEGREES + 1) / 2 * np.log1p(z * z / DEGREES) - np.log(GRID * (1 - GRID))
    density = density + right * np.log(GRID) + (n - right) * np.log1p(-GRID)
    share = np.cumsum(np.exp(density - density.max()))
    low, middle, high = np.interp((0.025, 0.5, 0.975), share / share[-1], GRID)
    return Share(float(middle), float(low), float(high))


def _sigmoid(x: Float[Array, " n"]) -> Float[Array, " n"]:
    return 1 / (1 + np.exp(-x))


def _logit(share: Float[Array, " n"]) -> Float[Array, " n"]:
    clipped = np.clip(share, 0.0005, 0.9995)
    return np.log(clipped / (1 - clipped))
