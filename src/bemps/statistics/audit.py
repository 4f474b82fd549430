"""How good a classifier is on items that were drawn at random and never learnt from, with intervals of 95 %.

n  items    K  classes
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

Z = 1.959964  # of a 95 % interval
DRAWS = 1_000


@dataclass(frozen=True)
class Share:
    """A number between 0 and 1, and the interval that holds it in 95 of 100 cases."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % interval {self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True)
class AuditReport:
    """What the audit slice says: `size` items of it have a label, of `drawn` that belong to it."""

    size: int
    drawn: int
    accuracy: Share
    f1: Share
    brier: float

    def __str__(self) -> str:
        return f"accuracy {self.accuracy}, weighted F1 {self.f1}, on {self.size} of {self.drawn} audit items"


def audit_report(probs: Float[Array, "n K"], codes: Int[Array, " n"], drawn: int) -> AuditReport:
    """Accuracy with Wilson's interval, weighted F1 with a bootstrap interval, and the Brier score."""
    K, guess = probs.shape[1], probs.argmax(1)
    rows = np.random.default_rng(len(codes)).integers(len(codes), size=(DRAWS, len(codes)))
    low, high = np.quantile([weighted_f1(codes[some], guess[some], K) for some in rows], (0.025, 0.975)).tolist()
    brier = float(((probs - np.eye(K)[codes]) ** 2).sum(1).mean())
    accuracy = wilson(int((guess == codes).sum()), len(codes))
    return AuditReport(len(codes), drawn, accuracy, Share(weighted_f1(codes, guess, K), low, high), brier)


def wilson(right: int, n: int) -> Share:
    """Wilson's interval of a share (1927): sensible also for few items and for shares near 0 and 1."""
    share, spread = right / n, Z * Z / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return Share(share, max(0.0, centre - half), min(1.0, centre + half))


def weighted_f1(codes: Int[Array, " n"], guess: Int[Array, " n"], K: int) -> float:
    """The F1 of each class, weighted by how often the class is there."""
    table = np.bincount(codes * K + guess, minlength=K * K).reshape(K, K)
    true, said, hit = table.sum(1), table.sum(0), np.diag(table)
    f1 = 2 * hit / np.maximum(true + said, 1)
    return float((f1 * true).sum() / len(codes))
