"""Accuracy of the audit slice, with intervals that hold what they promise."""

import numpy as np
import pytest
from scipy.stats import binomtest

from bemps.metrics import weighted_f1, wilson
from bemps.project.audit import audit_report


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (7, 10), (180, 200)])
def test_wilson_is_that_of_scipy(right, n):
    interval = binomtest(right, n).proportion_ci(method="wilson")
    found = wilson(right, n)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert found.value == right / n


def test_weighted_f1_is_that_of_scikit_learn():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    codes, guess = rng.integers(4, size=(2, 50))
    assert weighted_f1(codes, guess, 5) == pytest.approx(f1_score(codes, guess, average="weighted"))


def test_a_report_of_a_classifier_that_is_right_in_eight_of_ten():
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=400)
    guess = np.where(rng.random(400) < 0.8, codes, (codes + 1) % 3)
    report = audit_report(np.eye(3)[guess], codes, drawn=500)
    assert (report.size, report.drawn) == (400, 500)
    assert report.accuracy.low < 0.8 < report.accuracy.high
    assert report.f1 == weighted_f1(codes, guess, 3)
    assert report.brier == pytest.approx(2 * (guess != codes).mean())
    assert str(report).startswith("accuracy 8")
    again = audit_report(np.eye(3)[guess], codes, drawn=500)
    assert (again.accuracy, again.f1, again.brier) == (report.accuracy, report.f1, report.brier)
    assert again.confusion.tolist() == report.confusion.tolist()


def test_one_item_is_enough_for_a_wide_interval():
    report = audit_report(np.array([[0.9, 0.1]]), np.array([0]), drawn=1)
    assert report.accuracy.value == 1
    assert report.accuracy.low < 0.3


def test_no_interval_without_width_is_told():
    report = audit_report(np.eye(2)[np.arange(20) % 2], np.arange(20) % 2, drawn=20)
    assert "100.0% to 100.0%" not in str(report)
    assert "weighted F1 100.0%, on 20" in str(report)
