"""Metrics of a classifier's predictions, for runs, projects and reports.

    accuracy    share of items whose most probable class is the label
    F1          2 right / (predicted + true) of each class, weighted by the class's share of the labels
    Brier       mean of sum_k (p_k - 1[k = y])^2
    log loss    mean of -log p_y
    ECE         sum_m |B_m| / n |accuracy(B_m) - confidence(B_m)|

ECE is over bins B_m of the items by confidence, the probability of the predicted class. Bins are of equal mass (the
default; equal confidences stay in one bin, so the order of the items does not matter), of equal width, or as many of
equal mass as keep the accuracies of the bins in order (the monotone sweep of Roelofs et al. 2022).

`METRICS` is the table of metrics. A new metric is a function and a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.errors import InputError, unknown_name
from bemps.types import Array

SMALLEST_PROBABILITY = 1e-15  # probabilities below it count as it in the log loss, which else is infinite
BINS = 20
BIN_KINDS = ("equal-mass", "equal-width", "sweep")
NORMAL_QUANTILE = 1.959964  # of a 95 % interval


@dataclass(frozen=True)
class Share:
    """A number between 0 and 1 with its 95 % interval.

    Attributes
    ----------
    value : float
        The number.
    low : float
        The lower end of the interval.
    high : float
        The upper end of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % interval {self.low:.1%} to {self.high:.1%})"


def wilson(right: int, n: int) -> Share:
    """Wilson's interval of a share (1927): sensible also for few items and for shares near 0 and 1.

    It is that of `scipy.stats.binomtest`, whose import takes longer than a request to the labelling page may.
    """
    share, spread = right / n, NORMAL_QUANTILE * NORMAL_QUANTILE / n
    centre = (share + spread / 2) / (1 + spread)
    half = NORMAL_QUANTILE * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return Share(share, max(0.0, centre - half), min(1.0, centre + half))


def accuracy(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> float:
    """The share of items whose most probable class is the label."""
    return float((probs.argmax(1) == labels).mean())


def weighted_f1(labels: Int[Array, " N"], predicted: Int[Array, " N"], K: int) -> float:
    """F1 = 2 right / (predicted + true) of each class, weighted by its share of the labels.

    Parameters
    ----------
    labels : array of int (N,)
        The true classes, as codes from 0 on.
    predicted : array of int (N,)
        The predicted classes.
    K : int
        The number of classes.

    Returns
    -------
    float
        The weighted F1.
    """
    true, counts = np.bincount(labels, minlength=K), np.bincount(predicted, minlength=K)
    right = np.bincount(labels[predicted == labels], minlength=K)
    return float((true * 2 * right / np.maximum(true + counts, 1)).sum() / len(labels))


def brier(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> float:
    """Mean squared distance of the prediction to the label: sum_k (p_k - 1[k = y])^2."""
    return float(((probs**2).sum(1) - 2 * probs[np.arange(len(labels)), labels] + 1).mean())


def log_loss(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> float:
    """The mean of -log p_y."""
    return float(log_losses(probs, labels, SMALLEST_PROBABILITY).mean())


def log_losses(probs: Float[Array, "N K"], labels: Int[Array, " N"], smallest: float) -> Float[Array, " N"]:
    """The losses -log p_y of all items.

    Parameters
    ----------
    probs : array of float (N, K)
        Predicted probabilities.
    labels : array of int (N,)
        Codes of the true classes.
    smallest : float
        Smaller probabilities count as this.

    Returns
    -------
    array of float (N,)
        A loss for each item.
    """
    losses: Array = -np.log(np.maximum(probs[np.arange(len(labels)), labels], smallest))
    return losses


@dataclass(frozen=True, eq=False)
class Reliability:
    """The bins of a reliability diagram that are not empty, in order of confidence.

    Attributes
    ----------
    confidence : array of float (M,)
        Mean confidence of each bin.
    accuracy : array of float (M,)
        Accuracy of each bin.
    count : array of int (M,)
        Number of items of each bin.
    """

    confidence: Float[Array, " M"]
    accuracy: Float[Array, " M"]
    count: Int[Array, " M"]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return float((self.count * np.abs(self.accuracy - self.confidence)).sum() / self.count.sum())


def expected_calibration_error(
    probs: Float[Array, "N K"], labels: Int[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> float:
    """The expected calibration error of predicted probabilities.

    Parameters
    ----------
    probs : array of float (N, K)
        Predicted probabilities.
    labels : array of int (N,)
        Codes of the true classes.
    bins : int
        Number of bins. The sweep finds its own.
    kind : {'equal-mass', 'equal-width', 'sweep'}
        How bins are made.

    Returns
    -------
    float
        The error, from 0 to 1.

    Raises
    ------
    InputError
        There is no item, or an argument is not valid.
    """
    if len(probs) == 0:
        raise InputError("probs", expected="at least one item", got="none", fix="Predict some labelled items.")
    return reliability(probs.max(1), probs.argmax(1) == labels, bins=bins, kind=kind).error


def reliability(
    confidence: Float[Array, " N"], correct: Bool[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Reliability:
    """The bins of a reliability diagram.

    Parameters
    ----------
    confidence : array of float (N,)
        Probability of the predicted class of each item.
    correct : array of bool (N,)
        Whether each prediction is right.
    bins : int
        Number of bins. The sweep finds its own.
    kind : {'equal-mass', 'equal-width', 'sweep'}
        How bins are made.

    Returns
    -------
    Reliability
        The bins that are not empty.

    Raises
    ------
    InputError
        There is no item, or an argument is not valid.
    """
    _check(confidence, bins, kind)
    order = np.argsort(confidence, kind="stable")
    ranked, hits = confidence[order].astype(float), correct[order].astype(float)
    if kind == "sweep":
        return _sweep(ranked, hits)
    return _binned(ranked, hits, _equal_mass(ranked, bins) if kind == "equal-mass" else _equal_width(ranked, bins))


def calibration_errors(
    probs: Float[Array, "T N K"], labels: Int[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Float[Array, " T"]:
    """The expected calibration error of the same items after every epoch, or after every round.

    Parameters
    ----------
    probs : array of float (T, N, K)
        Probabilities after each of T epochs or rounds.
    labels : array of int (N,)
        Codes of the true classes.
    bins, kind
        As in `expected_calibration_error`.

    Returns
    -------
    array of float (T,)
        An error for each epoch or round.
    """
    return np.array([expected_calibration_error(epoch_probs, labels, bins=bins, kind=kind) for epoch_probs in probs])


def running_ece(
    probs: Float[Array, "T N K"], labels: Int[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Float[Array, " T"]:
    """The running average of the expected calibration error over epochs, or over rounds.

    Parameters
    ----------
    probs : array of float (T, N, K)
        Probabilities after each of T epochs or rounds.
    labels : array of int (N,)
        Codes of the true classes.
    bins, kind
        As in `expected_calibration_error`.

    Returns
    -------
    array of float (T,)
        The mean of the errors so far.
    """
    return running_average(calibration_errors(probs, labels, bins=bins, kind=kind))


def running_average(values: Float[Array, "*S R"]) -> Float[Array, "*S R"]:
    """The mean of the values so far.

    Parameters
    ----------
    values : array of float (..., R)
        Values by round or epoch along the last axis.

    Returns
    -------
    array of float (..., R)
        At each position the mean up to it.
    """
    return np.cumsum(values, axis=-1) / np.arange(1, values.shape[-1] + 1)


def _check(confidence: Float[Array, " N"], bins: int, kind: str) -> None:
    if kind not in BIN_KINDS:
        raise unknown_name("kind", kind, BIN_KINDS)
    if bins < 1:
        raise InputError("bins", expected="at least 1", got=str(bins), fix="The paper uses 10.")
    if not len(confidence):
        raise InputError("confidence", expected="at least one item", got="none", fix="Predict some labelled items.")
    if not ((confidence >= 0) & (confidence <= 1 + 1e-6)).all():
        worst = confidence[~((confidence >= 0) & (confidence <= 1 + 1e-6))][0]
        raise InputError("confidence", expected="probabilities", got=f"{worst}", fix="Give probabilities, not logits.")


def _equal_mass(ranked: Float[Array, " N"], bins: int) -> Int[Array, " C"]:
    """The ends of bins: every N / bins items, moved to the end of a run of equal confidences."""
    ends = np.arange(1, bins + 1) * len(ranked) // bins
    return np.unique(np.searchsorted(ranked, ranked[ends[ends > 0] - 1], side="right"))


def _equal_width(ranked: Float[Array, " N"], bins: int) -> Int[Array, " C"]:
    """The ends of the bins (0, 1/bins], (1/bins, 2/bins], ..."""
    edges = np.arange(1, bins + 1) / bins
    edges[-1] = np.inf
    ends = np.searchsorted(ranked, edges, side="right")
    return np.unique(ends[ends > 0])


def _binned(ranked: Float[Array, " N"], hits: Float[Array, " N"], ends: Int[Array, " C"]) -> Reliability:
    """Means between the ends, from running sums."""
    sums = [
        np.diff(np.concatenate([[0.0], np.cumsum(values)])[np.concatenate([[0], ends])]) for values in (ranked, hits)
    ]
    count = np.diff(np.concatenate([[0], ends]))
    return Reliability(sums[0] / count, sums[1] / count, count)


def _sweep(ranked: Float[Array, " N"], hits: Float[Array, " N"]) -> Reliability:
    """The largest number of bins for which no bin is less accurate than the bin before it."""
    best = _binned(ranked, hits, _equal_mass(ranked, 1))
    for bins in range(2, len(ranked) + 1):
        finer = _binned(ranked, hits, _equal_mass(ranked, bins))
        if (np.diff(finer.accuracy) < 0).any():
            break
        best = finer
    return best


def confidence_bins(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> list[list[float]]:
    """Items, sum of confidences and number of right predictions in each of `BINS` bins of equal width.

    These are sums: the bins of several seeds can be added to one reliability diagram.
    """
    confidence = probs.max(1).astype(np.float64)
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    right = (probs.argmax(1) == labels).astype(np.float64)
    sums = [np.bincount(bins, weights, minlength=BINS) for weights in (None, confidence, right)]
    return [[float(value) for value in row] for row in np.column_stack(sums)]


@dataclass(frozen=True)
class Metric:
    """A metric of a round.

    Attributes
    ----------
    name : str
        Its column in the results.
    title : str
        Its name in reports.
    better : {1, -1, 0}
        1: larger is better; -1: smaller is better; 0: no quality of the classifier.
    measure : callable, optional
        The function of probabilities and labels. None: the learner computes the metric.
    """

    name: str
    title: str
    better: int
    measure: Callable[[Float[Array, "N K"], Int[Array, " N"]], float] | None = None


def _f1_of(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> float:
    return weighted_f1(labels, probs.argmax(1), probs.shape[1])


METRICS = {
    metric.name: metric
    for metric in (
        Metric("f1", "weighted F1", +1, _f1_of),
        Metric("accuracy", "accuracy", +1, accuracy),
        Metric("brier", "Brier score (lower is better)", -1, brier),
        Metric("log_loss", "log loss (lower is better)", -1, log_loss),
        Metric("ece", "expected calibration error (lower is better)", -1, expected_calibration_error),
        Metric("remaining_gain", "remaining gain", 0),
    )
}


def measure_all(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> dict[str, float]:
    """Compute every metric of some predictions, by the names of `METRICS`."""
    exact = probs.astype(np.float64)
    return {name: metric.measure(exact, labels) for name, metric in METRICS.items() if metric.measure}
