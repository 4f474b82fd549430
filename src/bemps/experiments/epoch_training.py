"""A softmax regression on features, and its calibration after every epoch.

T  epochs      N  items to learn from      M  items to test on      H  features

It is cheap and has no setting to tune, so a run can follow every dataset. Data maps and calibration over epochs come
from trainings with the same random numbers.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.numerics import softmax
from bemps.errors import InputError
from bemps.metrics import BIN_KINDS, expected_calibration_error
from bemps.types import Array

EPOCHS, RATE, BATCH = 20, 2.0, 64
BLOCK = 4_096  # rows in float64 at a time: pools may be large


def softmax_epochs(
    vectors: Float[Array, "N H"],
    labels: Int[Array, " N"],
    watched: Float[Array, "M H"],
    rng: np.random.Generator,
    *,
    epochs: int = EPOCHS,
) -> Iterator[Float[Array, "M K"]]:
    """Train a softmax regression by stochastic descent, and yield predictions after every epoch.

    Features are standardised and divided by sqrt(H): one learning rate then suits any of them.

    Parameters
    ----------
    vectors : array of float (N, H)
        Features of the training items.
    labels : array of int (N,)
        Codes of their classes.
    watched : array of float (M, H)
        Features of the items to predict.
    rng : numpy.random.Generator
        Random numbers of the training.
    epochs : int
        Number of epochs.

    Returns
    -------
    iterator of array of float (M, K)
        Probabilities of the watched items after each epoch.
    """
    if len(vectors) != len(labels) or not len(labels) or labels.min() < 0:
        got = f"{len(labels)} labels of {len(vectors)} items, the smallest {labels.min() if len(labels) else None}"
        raise InputError("labels", expected="a class code for every item", got=got, fix="Leave unlabelled items out.")
    scaled = _scaling(vectors)
    x = scaled(vectors)
    seen = x if watched is vectors else scaled(watched)
    targets = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]
    weights = np.zeros((x.shape[1], targets.shape[1]), dtype=np.float32)
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            weights -= RATE * x[rows].T @ (softmax(x[rows] @ weights) - targets[rows]) / len(rows)
        yield softmax(seen @ weights)


def ece_of_epochs(
    vectors: Float[Array, "N H"],
    labels: Int[Array, " N"],
    test_vectors: Float[Array, "M H"],
    test_labels: Int[Array, " M"],
    rng: np.random.Generator,
    *,
    epochs: int = EPOCHS,
) -> dict[str, Float[Array, " T"]]:
    """The expected calibration error on test items after every epoch of a softmax regression.

    Parameters
    ----------
    vectors : array of float (N, H)
        Features of the training items.
    labels : array of int (N,)
        Codes of their classes.
    test_vectors : array of float (M, H)
        Features of the test items.
    test_labels : array of int (M,)
        Codes of their classes.
    rng : numpy.random.Generator
        Random numbers of the training.
    epochs : int
        Number of epochs.

    Returns
    -------
    dict of str to array of float (T,)
        The error after each epoch, by the kind of its bins.
    """
    errors: dict[str, list[float]] = {kind: [] for kind in BIN_KINDS}
    for probs in softmax_epochs(vectors, labels, test_vectors, rng, epochs=epochs):
        for kind, values in errors.items():
            values.append(expected_calibration_error(probs.astype(np.float64), test_labels, kind=kind))
    return {kind: np.array(values) for kind, values in errors.items()}


def _scaling(vectors: Float[Array, "N H"]) -> Callable[[Float[Array, "_ H"]], Float[Array, "_ G"]]:
    """To standard scores over these vectors, divided by sqrt(H), with a column of ones."""
    blocks = [slice(start, start + BLOCK) for start in range(0, len(vectors), BLOCK)]
    mean = sum(vectors[block].sum(0, dtype=np.float64) for block in blocks) / len(vectors)
    spread = np.sqrt(sum(((vectors[block] - mean) ** 2).sum(0) for block in blocks) / len(vectors))
    width = np.where(spread > 0, spread, 1.0) * np.sqrt(vectors.shape[1])

    def scaled(others: Float[Array, "_ H"]) -> Float[Array, "_ G"]:
        x = np.ones((len(others), others.shape[1] + 1), dtype=np.float32)
        for start in range(0, len(others), BLOCK):
            x[start : start + BLOCK, :-1] = (others[start : start + BLOCK] - mean) / width
        return x

    return scaled
