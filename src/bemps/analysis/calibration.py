"""Does the classifier know how often it is right? Expected calibration error and reliability.

    ECE = sum_m |B_m| / n |accuracy(B_m) - confidence(B_m)|

over bins B_m of the items by confidence, the probability of the predicted class. Bins are of equal mass (the default;
equal confidences are never parted, so the order of the items does not matter), of equal width, or as many of equal
mass as keep the accuracies of the bins in order (the monotone sweep of Roelofs et al. 2022).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.errors import InputError, unknown_name
from bemps.types import Array

KINDS = ("equal-mass", "equal-width", "sweep")


@dataclass(frozen=True, eq=False)
class Reliability:
    """Mean confidence, accuracy and number of items of every bin that is not empty, in order of confidence."""

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
    """ECE of predicted probabilities against label codes."""
    if len(probs) == 0:
        raise InputError("probs", expected="at least one item", got="none", fix="Predict some labelled items.")
    return reliability(probs.max(1), probs.argmax(1) == labels, bins=bins, kind=kind).error


def reliability(
    confidence: Float[Array, " N"], correct: Bool[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Reliability:
    """The bins of a reliability diagram; `bins` does not matter to the sweep."""
    _check(confidence, bins, kind)
    order = np.argsort(confidence, kind="stable")
    ranked, hits = confidence[order].astype(float), correct[order].astype(float)
    if kind == "sweep":
        return _sweep(ranked, hits)
    return _binned(ranked, hits, _equal_mass(ranked, bins) if kind == "equal-mass" else _equal_width(ranked, bins))


def calibration_errors(
    probs: Float[Array, "T N K"], labels: Int[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Float[Array, " T"]:
    """ECE of the probabilities of the same items after every epoch, or after every round."""
    return np.array([expected_calibration_error(one, labels, bins=bins, kind=kind) for one in probs])


def running_ece(
    probs: Float[Array, "T N K"], labels: Int[Array, " N"], *, bins: int = 10, kind: str = "equal-mass"
) -> Float[Array, " T"]:
    """Mean of the ECE so far, from the probabilities of the same items after every epoch, or after every round."""
    return running_average(calibration_errors(probs, labels, bins=bins, kind=kind))


def running_average(values: Float[Array, "*S R"]) -> Float[Array, "*S R"]:
    """Mean of the values so far, along the last axis: rounds or epochs."""
    return np.cumsum(values, axis=-1) / np.arange(1, values.shape[-1] + 1)


def _check(confidence: Float[Array, " N"], bins: int, kind: str) -> None:
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if bins < 1:
        raise InputError("bins", expected="at least 1", got=str(bins), fix="The paper uses 10.")
    if not len(confidence):
        raise InputError("confidence", expected="at least one item", got="none", fix="Predict some labelled items.")
    if not ((confidence >= 0) & (confidence <= 1 + 1e-6)).all():
        worst = confidence[~((confidence >= 0) & (confidence <= 1 + 1e-6))][0]
        raise InputError("confidence", expected="probabilities", got=f"{worst}", fix="Give probabilities, not logits.")


def _equal_mass(ranked: Float[Array, " N"], bins: int) -> Int[Array, " C"]:
    """Where bins end: every N / bins items, moved to the end of a run of equal confidences."""
    wished = np.arange(1, bins + 1) * len(ranked) // bins
    return np.unique(np.searchsorted(ranked, ranked[wished[wished > 0] - 1], side="right"))


def _equal_width(ranked: Float[Array, " N"], bins: int) -> Int[Array, " C"]:
    """Where bins end: (0, 1/bins], (1/bins, 2/bins], ..."""
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
    """One bin more as long as no bin is less accurate than the one before it."""
    best = _binned(ranked, hits, _equal_mass(ranked, 1))
    for bins in range(2, len(ranked) + 1):
        found = _binned(ranked, hits, _equal_mass(ranked, bins))
        if (np.diff(found.accuracy) < 0).any():
            break
        best = found
    return best
