"""The paired test over seeds against scipy, and Holm's correction by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making_runs import grid, row
from scipy import stats

from bemps.results.area import area_under_curve
from bemps.results.learning_curves import Setting, collect_curves
from bemps.results.paired_comparison import holm, paired_tests, two_sided_p


def results(rows):
    return collect_curves({name: [found[name] for found in rows] for name in rows[0]}, (), ("accuracy", "brier"))


def noisy(strategies=("coremse", "random"), seeds=5, datasets=("digits",)):
    rng = np.random.default_rng(3)
    return [
        row(name, seed, n, 0.5 + 0.04 * n + 0.01 * rng.standard_normal() + 0.01 * (name == "coremse"), dataset=d)
        for d in datasets
        for name in strategies
        for seed in range(seeds)
        for n in range(8)
    ]


def test_area_by_hand():
    labels = np.array([10, 20, 40])
    assert area_under_curve(labels, np.array([0.2, 0.4, 0.8])) == pytest.approx((3 + 12) / 30)
    np.testing.assert_allclose(area_under_curve(labels, np.full((2, 3), 0.7)), 0.7)
    assert area_under_curve(np.array([10]), np.array([0.3])) == pytest.approx(0.3)


def test_the_test_is_scipys_on_the_areas():
    found = results(noisy())
    curves = found.curves[Setting("digits", "logistic", 10)]
    areas = [area_under_curve(c.labels, c.values["accuracy"]) for c in curves.values()]
    expected = stats.ttest_rel(*areas)
    (test,) = paired_tests(found, "accuracy")
    low, high = expected.confidence_interval()
    assert (test.p, test.low, test.high) == pytest.approx((expected.pvalue, low, high))
    assert test.corrected == pytest.approx(test.p)
    assert test.seeds == 5


def test_settings_are_averaged_within_a_seed():
    found = results(noisy(datasets=("digits", "sst5")))
    (test,) = paired_tests(found, "accuracy")
    by_place = [
        area_under_curve(c["coremse"].labels, c["coremse"].values["accuracy"] - c["random"].values["accuracy"])
        for c in found.curves.values()
    ]
    assert test.p == pytest.approx(stats.ttest_1samp(np.mean(by_place, axis=0), 0).pvalue)
    assert test.settings == 2


def test_better_is_positive_also_where_lower_is_better():
    found = results(noisy())
    assert paired_tests(found, "brier")[0].difference == pytest.approx(paired_tests(found, "accuracy")[0].difference)


def test_one_shared_seed_is_no_test():
    assert paired_tests(results(grid(seeds=1)), "accuracy") == []


def test_no_spread_over_seeds():
    assert two_sided_p(np.zeros(3)) == 1
    assert np.isnan(two_sided_p(np.full(3, 0.1)))


def test_the_same_difference_in_every_seed_is_no_evidence():
    level = {"coremse": 0.02, "margin": 0.01, "random": 0.0}
    noise = np.random.default_rng(0).normal(scale=0.01, size=2)
    rows = [
        row(name, seed, n, 0.5 + 0.04 * n + shift + (name == "random") * noise[seed])
        for name, shift in level.items()
        for seed in range(2)
        for n in range(4)
    ]
    tests = paired_tests(results(rows), "accuracy")
    last = tests[-1]
    assert {last.first, last.second} == {"coremse", "margin"}
    assert abs(last.difference) == pytest.approx(0.01)
    assert np.isnan([last.low, last.high, last.p, last.corrected]).all()
    np.testing.assert_allclose([test.corrected for test in tests[:2]], holm(np.array([test.p for test in tests[:2]])))


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])
    assert len(holm(np.empty(0))) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_no_correction_and_bonferroni(p):
    values = np.array(p)
    corrected = holm(values)
    assert (corrected >= values - 1e-15).all()
    assert (corrected <= np.minimum(len(p) * values, 1) + 1e-15).all()
    assert (np.argsort(corrected[np.argsort(values, kind="stable")], kind="stable") == np.arange(len(p))).all()
