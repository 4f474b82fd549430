"""Labels to look at again: those that the model contradicts, and near-duplicates with different labels.

A label is judged by a fit that did not learn from it (`bemps.learner.cross_validation`), so that a slip cannot teach
the model to repeat it. Audit items are left out: whoever changes only those that the model gets wrong makes its
accuracy look better than it is.

L  labelled items    K  classes    H  length of a vector
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.learner.cross_validation import cross_predict
from bemps.models.base import Items, Model
from bemps.types import Array

MOST_DOUBTS = 300
MOST_PAIRS = 100
ALIKE = 0.95  # the cosine of near-duplicates
BLOCK = 1_000  # rows compared at once
TINY = 1e-12


@dataclass(frozen=True)
class Doubt:
    """A label that the model doubts.

    Attributes
    ----------
    row : int
        The row of the item.
    guess : int
        The class that the model gives.
    label_probability : float
        The probability that the model gives to the label.
    guess_probability : float
        The probability that the model gives to its own class.
    """

    row: int
    guess: int
    label_probability: float
    guess_probability: float


def doubted_labels(model: Model, items: Items, codes: Int[Array, " L"], classes: Sequence[str]) -> list[Doubt]:
    """Find the labels that the model contradicts when it is trained without them.

    Parameters
    ----------
    model : Model
        A model that is not in use, because it is fitted to parts of the items.
    items : Items
        The labelled items.
    codes : int array of shape (L,)
        Their labels.
    classes : sequence of str
        The names of the classes.

    Returns
    -------
    list of Doubt
        The doubts, the least credible label first. The list is empty if there are too few labels to leave some out.
    """
    judged = cross_predict(model, items, codes, classes)
    if judged is None:
        return []
    probs, _ = judged
    own = probs[np.arange(len(codes)), codes]
    guess = probs.argmax(1)
    # how much more credible another class is: a wrong label of a sure model before one of a model that wavers
    ratio = np.log(np.maximum(probs.max(1), TINY)) - np.log(np.maximum(own, TINY))
    order = [int(row) for row in np.argsort(-ratio, kind="stable") if guess[row] != codes[row]]
    return [Doubt(row, int(guess[row]), float(own[row]), float(probs[row].max())) for row in order[:MOST_DOUBTS]]


def contradicting_pairs(unit: Float[Array, "L H"], codes: Int[Array, " L"]) -> list[tuple[int, int, float]]:
    """Find pairs of near-duplicates with different labels.

    Parameters
    ----------
    unit : float array of shape (L, H)
        Vectors of length one.
    codes : int array of shape (L,)
        The labels.

    Returns
    -------
    list of tuple
        Two rows and their similarity for each pair, the most alike first.
    """
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(unit), BLOCK):
        like = unit[start : start + BLOCK] @ unit.T
        near = np.argwhere((like >= ALIKE) & (codes[start : start + BLOCK, None] != codes))
        pairs += [(start + int(a), int(b), float(like[a, b])) for a, b in near if start + a < b]
    return sorted(pairs, key=lambda pair: -pair[2])[:MOST_PAIRS]
