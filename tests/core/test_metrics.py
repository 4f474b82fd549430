"""Measures of predictions: one function each, and one table that runs and reports read."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from bemps.experiments.result_tables import RESULTS
from bemps.metrics import METRICS, Metric, accuracy, brier, log_loss, measure_all, weighted_f1
from bemps.results import METRICS as METRICS_OF_REPORTS


@pytest.fixture
def predictions():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(4), size=200), rng.integers(4, size=200)


def test_the_table_is_that_of_runs_and_of_reports(predictions):
    assert METRICS_OF_REPORTS is METRICS
    assert ("round", "labels", *METRICS) == RESULTS
    assert list(measure_all(*predictions)) == [name for name, metric in METRICS.items() if metric.measure]


def test_a_measure_is_one_row(predictions, monkeypatch):
    row = Metric("error", "error rate (lower is better)", -1, lambda probs, labels: 1 - accuracy(probs, labels))
    monkeypatch.setitem(METRICS, "error", row)
    assert measure_all(*predictions)["error"] == 1 - measure_all(*predictions)["accuracy"]


def test_weighted_f1_takes_labels_first_as_scikit_learn_does(predictions):
    probs, labels = predictions
    labels, predicted = np.where(labels < 3, 0, labels), probs.argmax(1)  # a class that is often true: order matters
    expected = f1_score(labels, predicted, average="weighted")
    assert weighted_f1(labels, predicted, 4) == pytest.approx(expected, rel=1e-12)
    assert weighted_f1(predicted, labels, 4) != pytest.approx(expected, rel=0.01)


def test_brier_and_log_loss_by_hand():
    probs, labels = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0])
    assert brier(probs, labels) == 0.25
    assert log_loss(probs, labels) == pytest.approx(np.log(2) / 2)
