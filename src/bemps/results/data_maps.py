"""Data maps (Swayamdipta et al. 2020): how easily a classifier learns each item, and which kind a strategy acquires.

T  epochs of a training run on all labels      N  items      R  rounds

    confidence   mean over epochs of the probability of the true class
    variability  its population standard deviation
    correctness  the fraction of epochs in which the prediction is right
    regions      by correctness: easy >= .75, medium >= .5, hard >= .25, else impossible
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.errors import InputError
from bemps.experiments.epoch_training import EPOCHS, softmax_epochs
from bemps.types import Array

REGIONS = ("easy", "medium", "hard", "impossible")
BOUNDS = (0.75, 0.5, 0.25)


@dataclass(frozen=True, eq=False)
class DataMap:
    """The three measures of every item.

    Attributes
    ----------
    confidence : array of float (N,)
        Mean over epochs of the probability of the true class.
    variability : array of float (N,)
        Standard deviation over epochs of that probability.
    correctness : array of float (N,)
        Share of epochs in which the prediction is right.
    """

    confidence: Float[Array, " N"]
    variability: Float[Array, " N"]
    correctness: Float[Array, " N"]

    @property
    def regions(self) -> Int[Array, " N"]:
        """The region of each item, as a position in REGIONS."""
        return regions(self.correctness)


def data_map(true_class: Float[Array, "T N"], correct: Bool[Array, "T N"]) -> DataMap:
    """The data map of a training run.

    Parameters
    ----------
    true_class : array of float (T, N)
        Probability of the true class of each item after each epoch.
    correct : array of bool (T, N)
        Whether the prediction of each item was right after each epoch.

    Returns
    -------
    DataMap
        Confidence, variability and correctness of each item.

    Raises
    ------
    InputError
        There is no epoch or item, or `true_class` does not hold probabilities.
    """
    if not true_class.size:
        fix = "Train for some epochs and keep the probabilities after each."
        raise InputError("true_class", expected="epochs of items", got=f"shape {true_class.shape}", fix=fix)
    if not ((true_class >= 0) & (true_class <= 1 + 1e-6)).all():
        got = f"values from {true_class.min()} to {true_class.max()}"
        raise InputError("true_class", expected="probabilities", got=got, fix="Give probabilities, not logits.")
    return DataMap(true_class.mean(0), true_class.std(0), correct.mean(0))


def training_dynamics(
    vectors: Float[Array, "N H"],
    labels: Int[Array, " N"],
    rng: np.random.Generator,
    *,
    epochs: int = EPOCHS,
) -> tuple[Float[Array, "T N"], Bool[Array, "T N"]]:
    """Train a softmax regression on features and record every epoch.

    Parameters
    ----------
    vectors : array of float (N, H)
        Features of the items.
    labels : array of int (N,)
        Codes of their classes.
    rng : numpy.random.Generator
        Random numbers of the training.
    epochs : int
        Number of epochs.

    Returns
    -------
    true_class : array of float (T, N)
        Probability of the true class of each item after each epoch.
    correct : array of bool (T, N)
        Whether the prediction was right.
    """
    true_class, correct = np.empty((epochs, len(vectors))), np.empty((epochs, len(vectors)), dtype=bool)
    for epoch, probs in enumerate(softmax_epochs(vectors, labels, vectors, rng, epochs=epochs)):
        true_class[epoch] = probs[np.arange(len(labels)), labels]
        correct[epoch] = probs.argmax(1) == labels
    return true_class, correct


def regions(correctness: Float[Array, " N"]) -> Int[Array, " N"]:
    """Positions in REGIONS: how many of the bounds .75, .5, .25 lie above the correctness."""
    return (correctness[:, None] < np.array(BOUNDS)).sum(1)


def acquired_shares(codes: Int[Array, " N"], batches: Sequence[Int[Array, " _"]]) -> Float[Array, "R 4"]:
    """The share of each region in the batch of every round.

    Parameters
    ----------
    codes : array of int (N,)
        The region of each item, as a position in REGIONS.
    batches : sequence of array of int
        Positions of the items acquired in each round.

    Returns
    -------
    array of float (R, 4)
        Shares by round and region; NaN for a round that acquired nothing.
    """
    counts = np.array([np.bincount(codes[batch], minlength=len(REGIONS)) for batch in batches], dtype=float)
    counts = counts.reshape(len(batches), len(REGIONS))
    sizes = counts.sum(1, keepdims=True)
    return np.divide(counts, sizes, out=np.full_like(counts, np.nan), where=sizes > 0)
