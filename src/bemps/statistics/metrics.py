"""The measures of a round, what to call them, and which direction is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """`better` is +1 where larger is better, -1 where smaller is, 0 where neither is a quality of the classifier."""

    name: str
    title: str
    better: int


METRICS = {
    metric.name: metric
    for metric in (
        Metric("f1", "weighted F1", +1),
        Metric("accuracy", "accuracy", +1),
        Metric("brier", "Brier score (lower is better)", -1),
        Metric("log_loss", "log loss (lower is better)", -1),
        Metric("ece", "expected calibration error (lower is better)", -1),
        Metric("remaining_gain", "remaining gain", 0),
    )
}
