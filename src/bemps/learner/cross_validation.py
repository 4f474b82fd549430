"""Cross-validation of a model on its own labels."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.models.base import HasWeights, Items, Model, take
from bemps.types import Array

FOLDS = 5
MOST_PREDICTIONS = 2_000  # they give a share to within one point; more fits would only take time


def cross_validate(
    model: Model,
    items: Items,
    codes: Int[Array, " L"],
    classes: Sequence[str],
    *,
    folds: int = FOLDS,
    max_predictions: int = MOST_PREDICTIONS,
) -> tuple[Float[Array, " n"], Bool[Array, " n"]] | None:
    """Predict every labelled item by a fit that did not learn from it.

    Parameters
    ----------
    model : Model
        A model that is not in use: it is fitted to parts of the items.
    items : Items
        The labelled items.
    codes : array of int (L,)
        Codes of their classes.
    classes : sequence of str
        Names of the classes.
    folds : int
        The number of parts. Each is left out once.
    max_predictions : int
        After so many predictions no further part is left out.

    Returns
    -------
    confidence : array of float (n,)
        The probability of the predicted class of each item, in the order of the items.
    right : array of bool (n,)
        Whether each prediction is right. Both are None if a fold leaves fewer than two classes to learn from.
    """
    judged = cross_predict(model, items, codes, classes, folds=folds, max_predictions=max_predictions)
    if judged is None:
        return None
    probs, predicted = judged
    return probs[predicted].max(1), probs[predicted].argmax(1) == codes[predicted]


def cross_predict(
    model: Model,
    items: Items,
    codes: Int[Array, " L"],
    classes: Sequence[str],
    *,
    folds: int = FOLDS,
    max_predictions: int | None = None,
) -> tuple[Float[Array, "L K"], Bool[Array, " L"]] | None:
    """Predict labelled items by fits that did not learn from them.

    Parameters
    ----------
    model : Model
        A model that is not in use: it is fitted to parts of the items.
    items : Items
        The labelled items.
    codes : array of int (L,)
        Codes of their classes.
    classes : sequence of str
        Names of the classes.
    folds : int
        The number of parts. Each is left out once.
    max_predictions : int, optional
        After so many predictions no further part is left out. None predicts all items.

    Returns
    -------
    probs : array of float (L, K)
        The probability of every class of each item.
    predicted : array of bool (L,)
        Whether the item was predicted. Both are None if a fold leaves fewer than two classes to learn from.
    """
    fold = np.random.default_rng(0).permutation(len(codes)) % folds
    probs, predicted = np.zeros((len(codes), len(classes))), np.zeros(len(codes), bool)
    for part in range(folds):
        learn, rest = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        if len(np.unique(codes[learn])) < 2:
            return None
        model.fit(take(items, learn), codes[learn], list(classes), np.random.default_rng(part))
        probs[rest], predicted[rest] = _mean_prediction(model, take(items, rest)), True
        if max_predictions is not None and predicted.sum() >= max_predictions:
            break
    return probs, predicted


def _mean_prediction(model: Model, items: Items) -> Float[Array, "n K"]:
    probs = model.predict(items)
    weights = model.weights if isinstance(model, HasWeights) else np.full(len(probs), 1 / len(probs))
    return np.tensordot(weights, probs, 1)
