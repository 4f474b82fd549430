"""Where a classifier errs: precision and recall of each class with intervals, and which class it takes for which.

K  classes    n  items
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from bemps.metrics import Share, wilson
from bemps.types import Array


@dataclass(frozen=True)
class ClassQuality:
    """How well a class is recognised.

    Attributes
    ----------
    name : str
        The class.
    labelled, predicted, right : int
        How many items people gave it, how many the model gave it, and how many both did.
    """

    name: str
    labelled: int
    predicted: int
    right: int

    @property
    def recall(self) -> Share | None:
        """Of the items of the class, the share that the model recognises; None where there are none."""
        return wilson(self.right, self.labelled) if self.labelled else None

    @property
    def precision(self) -> Share | None:
        """Of the items that the model gives the class, the share that belongs there; None where there are none."""
        return wilson(self.right, self.predicted) if self.predicted else None


def confusion_counts(truth: Int[Array, " n"], guess: Int[Array, " n"], K: int) -> Int[Array, "K K"]:
    """Count the items of each class (rows) that the model takes for each class (columns).

    Parameters
    ----------
    truth : int array of shape (n,)
        The classes that people gave.
    guess : int array of shape (n,)
        The classes that the model gave.
    K : int
        The number of classes.

    Returns
    -------
    int array of shape (K, K)
        The counts.
    """
    counts = np.zeros((K, K), dtype=np.int64)
    np.add.at(counts, (truth, guess), 1)
    return counts


def class_qualities(counts: Int[Array, "K K"], classes: Sequence[str]) -> list[ClassQuality]:
    """The quality of every class, in their order."""
    rows = zip(classes, counts.sum(1), counts.sum(0), np.diag(counts), strict=True)
    return [ClassQuality(name, int(labelled), int(predicted), int(right)) for name, labelled, predicted, right in rows]
