"""How a model fares on its own labels, each predicted by a fit that did not learn from it."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.members.base import HasWeights, Items, Model, take
from bemps.types import Array

FOLDS = 5


def cross_validate(
    model: Model, items: Items, codes: Int[Array, " L"], classes: Sequence[str], folds: int = FOLDS
) -> tuple[Float[Array, " L"], Bool[Array, " L"]] | None:
    """Confidence in the predicted class of every item, and whether it was right.

    None where a fold leaves fewer than two classes to learn from. The model is fitted to parts of the items, so give
    one that is not in use.
    """
    fold = np.random.default_rng(0).permutation(len(codes)) % folds
    confidence, right = np.zeros(len(codes)), np.zeros(len(codes), bool)
    for part in range(folds):
        learn, rest = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        if len(np.unique(codes[learn])) < 2:
            return None
        model.fit(take(items, learn), codes[learn], list(classes), np.random.default_rng(part))
        probs = _mean_prediction(model, take(items, rest))
        confidence[rest], right[rest] = probs.max(1), probs.argmax(1) == codes[rest]
    return confidence, right


def _mean_prediction(model: Model, items: Items) -> Float[Array, "n K"]:
    probs = model.predict(items)
    weights = model.weights if isinstance(model, HasWeights) else np.full(len(probs), 1 / len(probs))
    return np.tensordot(weights, probs, 1)
