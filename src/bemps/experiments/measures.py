"""How good predictions are, and what a round costs in memory."""

import resource
import sys
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from bemps.analysis.calibration import expected_calibration_error
from bemps.types import Array

SMALLEST = 1e-15  # probabilities below it count as it in the log loss, which else is infinite
BINS = 20
MEASURES = ("accuracy", "f1", "brier", "log_loss", "ece")


def measures(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> dict[str, float]:
    """Accuracy, weighted F1, Brier score (sum over the classes), log loss, and ECE in ten bins of equal mass."""
    probs = probs.astype(np.float64)
    predicted = probs.argmax(1)
    true = probs[np.arange(len(labels)), labels]
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1": weighted_f1(predicted, labels, probs.shape[1]),
        "brier": float(((probs**2).sum(1) - 2 * true + 1).mean()),
        "log_loss": float(-np.log(np.maximum(true, SMALLEST)).mean()),
        "ece": expected_calibration_error(probs, labels),
    }


def confidence_bins(probs: Float[Array, "N K"], labels: Int[Array, " N"]) -> list[list[float]]:
    """Items, sum of their confidences and number predicted right in each of `BINS` bins of equal width.

    Sums, so that the bins of several seeds can be added up to one reliability diagram.
    """
    confidence = probs.max(1).astype(np.float64)
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    right = (probs.argmax(1) == labels).astype(np.float64)
    sums = [np.bincount(place, weights, minlength=BINS) for weights in (None, confidence, right)]
    return [[float(value) for value in row] for row in np.column_stack(sums)]


def weighted_f1(predicted: Int[Array, " N"], labels: Int[Array, " N"], K: int) -> float:
    """F1 = 2 right / (predicted + true) of each class, weighted by its share of the true labels."""
    true, said = np.bincount(labels, minlength=K), np.bincount(predicted, minlength=K)
    right = np.bincount(labels[predicted == labels], minlength=K)
    return float((true * 2 * right / np.maximum(true + said, 1)).sum() / len(labels))


def restart_peak() -> None:
    """Begin to watch the peak of resident memory anew, where the system can (Linux); elsewhere the process's counts."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float:
    """The largest resident memory since `restart_peak`, in MiB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    except (OSError, StopIteration):
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest / (1024 * 1024 if sys.platform == "darwin" else 1024)
