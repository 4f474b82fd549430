"""Measures against scikit-learn and by hand."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss

from bemps.metrics import measure_all


@pytest.fixture
def told():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(5), size=300), rng.integers(4, size=300)  # the fifth class is never true


def test_measures_are_those_of_scikit_learn(told):
    probs, labels = told
    found = measure_all(probs, labels)
    predicted = probs.argmax(1)
    assert found["accuracy"] == (predicted == labels).mean()
    assert found["f1"] == pytest.approx(f1_score(labels, predicted, average="weighted", zero_division=0), rel=1e-12)
    assert found["log_loss"] == pytest.approx(log_loss(labels, probs, labels=np.arange(5)), rel=1e-12)
    assert found["brier"] == pytest.approx(((probs - np.eye(5)[labels]) ** 2).sum(1).mean(), rel=1e-12)


def test_an_impossible_label_costs_much_but_not_everything():
    assert np.isfinite(measure_all(np.array([[1.0, 0.0]]), np.array([1]))["log_loss"])


def test_calibration_error_by_hand():
    probs = np.array([[0.6, 0.4]] * 10 + [[0.9, 0.1]] * 10)
    labels = np.array([0, 1] * 5 + [0] * 10)  # half right at .6, all right at .9
    assert measure_all(probs, labels)["ece"] == pytest.approx((abs(0.5 - 0.6) + abs(1 - 0.9)) / 2)


def test_peak_memory_sees_an_array_come_and_go():
    """In a process of its own: where an earlier peak cannot be forgotten, it would hide this one."""
    code = """
import numpy as np
from bemps.experiments.memory import peak_memory_mb, restart_peak
restart_peak()
before = peak_memory_mb()
np.ones(8_000_000).sum()
print(peak_memory_mb() - before)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(told.stdout) > 40
