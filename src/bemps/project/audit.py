"""The quality of a classifier on items drawn at random and never used in training; accuracy with its 95 % interval.

n  items    K  classes
"""

from dataclasses import dataclass

from jaxtyping import Float, Int

from bemps.metrics import Share, brier, weighted_f1, wilson
from bemps.project.confusion import confusion_counts
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The metrics on the audit slice.

    Attributes
    ----------
    size : int
        The number of audit items with a label.
    drawn : int
        The number of audit items.
    accuracy : Share
        The accuracy and its interval.
    f1 : float
        The weighted F1.
    brier : float
        The Brier score.
    confusion : int array of shape (K, K)
        The number of items of each class (rows) that the model takes for each class (columns).
    """

    size: int
    drawn: int
    accuracy: Share
    f1: float
    brier: float
    confusion: Int[Array, "K K"]

    def __str__(self) -> str:
        return f"accuracy {self.accuracy}, weighted F1 {self.f1:.1%}, on {self.size} of {self.drawn} audit items"


def audit_report(probs: Float[Array, "n K"], codes: Int[Array, " n"], drawn: int) -> AuditReport:
    """Return accuracy with Wilson's interval, weighted F1, and the Brier score.

    F1 has no interval: a bootstrap of few items without an error would give one of no width.

    Parameters
    ----------
    probs : float array of shape (n, K)
        The predicted probabilities.
    codes : int array of shape (n,)
        The classes that people gave.
    drawn : int
        The number of audit items, labelled or not.

    Returns
    -------
    AuditReport
        The metrics.
    """
    K, guess = probs.shape[1], probs.argmax(1)
    accuracy, f1 = wilson(int((guess == codes).sum()), len(codes)), weighted_f1(codes, guess, K)
    return AuditReport(len(codes), drawn, accuracy, f1, brier(probs, codes), confusion_counts(codes, guess, K))
