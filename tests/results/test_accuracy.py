"""The accuracy from few audit items and many chosen labels: the formulas, and what their intervals hold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.stats import t as student

from bemps.metrics import wilson
from bemps.project.accuracy import (
    DEGREES,
    SHIFT,
    SPREAD,
    Estimate,
    accuracy_from,
    estimated_accuracy,
    right_at_confidence,
    spread_of_share,
)


def literal(right, n, estimate):
    """The posterior by numerical integration."""

    def logit(share):
        return np.log(share / (1 - share))

    def density(theta):
        prior = student.pdf((logit(theta) - logit(estimate) - SHIFT) / SPREAD, DEGREES) / (theta * (1 - theta))
        return prior * theta**right * (1 - theta) ** (n - right)

    def below(theta):
        return quad(density, 1e-6, theta, limit=400, epsabs=0, points=[min(right / n, theta)])[0]

    total = below(1 - 1e-6)
    return [brentq(lambda theta, q=q: below(theta) / total - q, 1e-4, 1 - 1e-4, xtol=1e-5) for q in (0.5, 0.025, 0.975)]


@pytest.mark.parametrize(("right", "n", "estimate"), [(15, 20, 0.6), (20, 20, 0.9), (11, 40, 0.5), (70, 80, 0.8)])
def test_the_interval_is_that_of_the_posterior(right, n, estimate):
    found = accuracy_from(right, n, Estimate(estimate))
    assert (found.value, found.low, found.high) == pytest.approx(literal(right, n, estimate), abs=2e-3)


def test_rightness_at_a_confidence_is_the_penalised_logistic_regression():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 0.99, 150)
    right = (rng.random(150) < confidence).astype(float)
    x = np.log(confidence / (1 - confidence))

    def loss(found):
        a, b = found
        return np.logaddexp(0, a + b * x).sum() - right @ (a + b * x) + 0.005 * a * a + 2 * (b - 0.7) ** 2

    assert right_at_confidence(confidence, right) == pytest.approx(minimize(loss, [0, 0.7]).x, abs=1e-4)


@given(st.integers(20, 200), st.floats(0, 1), st.floats(0.05, 0.95))
def test_the_interval_lies_in_range_around_its_value(n, share, estimate):
    found = accuracy_from(round(share * n), n, Estimate(estimate))
    assert 0 <= found.low < found.value < found.high <= 1


def test_more_audit_items_narrow_it_and_more_right_ones_raise_it():
    widths = [accuracy_from(round(0.7 * n), n, Estimate(0.65)) for n in (20, 40, 80, 160, 320)]
    assert all(a.high - a.low > b.high - b.low for a, b in pairwise(widths))
    values = [accuracy_from(right, 20, Estimate(0.65)).value for right in range(21)]
    assert values == sorted(values)


def test_the_audit_overrules_labels_that_mislead():
    assert accuracy_from(80, 200, Estimate(0.95)).high < 0.5


def test_labels_of_low_confidence_do_not_pull_the_estimate_down():
    rng = np.random.default_rng(1)
    everywhere = rng.beta(5, 1.5, 3_000)
    right = rng.random(3_000) < everywhere
    hard = np.argsort(everywhere)[:300]  # what active learning would choose
    estimate = estimated_accuracy(everywhere[hard], right[hard], everywhere)
    assert right[hard].mean() < right.mean() - 0.25
    assert abs(estimate.accuracy - right.mean()) < 0.1
    assert estimate.spread == SPREAD  # many of them are wrong: the simulated projects say how far it is off


def test_all_right_among_few_is_not_certain():
    found = accuracy_from(20, 20, Estimate(0.9))
    assert found.low < 0.95
    assert found.value < 1
    assert wilson(20, 20).low < found.low  # and the labels help


def test_labels_without_a_mistake_leave_room_for_one():
    confidence, everywhere = np.full(177, 0.98), np.full(80, 0.98)
    estimate = estimated_accuracy(confidence, np.ones(177, dtype=bool), everywhere)
    assert estimate.spread == spread_of_share(np.ones(177)) > 1
    found = accuracy_from(20, 20, estimate)
    assert found.low < 0.98  # three in 177 would not surprise
    assert found.low < found.value < found.high


@pytest.mark.parametrize("truth", [0.97, 0.99, 0.995])
def test_the_interval_of_a_nearly_perfect_model_holds(truth):
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        right, everywhere = rng.random(180) < truth, np.full(80, 0.97)
        audit = int((rng.random(20) < truth).sum())
        found = accuracy_from(audit, 20, estimated_accuracy(np.full(180, 0.97), right, everywhere))
        held += found.low <= truth <= found.high
    assert held / 300 >= 0.9
