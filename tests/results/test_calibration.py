"""Calibration against hand-made distributions with a known answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.errors import InputError
from bemps.metrics import BIN_KINDS
from bemps.results import calibration_errors, expected_calibration_error, reliability, running_average, running_ece


def groups(*parts):
    """(confidence, items, right) -> arrays."""
    confidence = np.concatenate([np.full(n, c) for c, n, _ in parts])
    correct = np.concatenate([np.arange(n) < right for _, n, right in parts])
    return confidence, correct


@pytest.mark.parametrize("kind", BIN_KINDS)
def test_perfect_calibration_has_no_error(kind):
    found = reliability(*groups((0.55, 20, 11), (0.75, 20, 15), (0.95, 20, 19)), kind=kind)
    assert found.error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", BIN_KINDS)
def test_the_same_overconfidence_everywhere(kind):
    """Right in half, says 0.9: the error is 0.4 whatever the bins."""
    assert reliability(*groups((0.9, 40, 20)), kind=kind).error == pytest.approx(0.4)


@pytest.mark.parametrize("kind", BIN_KINDS)
def test_two_groups_by_hand(kind):
    # 10 items say .6 and 5 are right: a gap of .1; 30 say .9 and 24 are right: also .1
    found = reliability(*groups((0.6, 10, 5), (0.9, 30, 24)), kind=kind)
    assert found.error == pytest.approx((10 * 0.1 + 30 * 0.1) / 40)
    assert found.count.tolist() == [10, 30]
    np.testing.assert_allclose(found.accuracy, [0.5, 0.8])


def test_equal_mass_bins_hold_equally_many():
    confidence = np.linspace(0.5, 0.99, 100)
    found = reliability(confidence, np.ones(100, dtype=bool), bins=5)
    assert found.count.tolist() == [20] * 5
    assert found.error == pytest.approx((1 - confidence).mean())


def test_equal_width_bins_are_open_on_the_left():
    confidence = np.array([0.5, 0.51, 1.0, 0.05])
    found = reliability(confidence, np.array([True, True, False, False]), bins=2, kind="equal-width")
    assert found.count.tolist() == [2, 2]
    np.testing.assert_allclose(found.confidence, [0.275, 0.755])


def test_the_sweep_stops_before_accuracy_falls():
    # two bins have accuracies 1/3, 2/3; three have 0, 1, 1/2, which fall
    confidence = np.array([0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    correct = np.array([False, False, True, True, False, True])
    found = reliability(confidence, correct, kind="sweep")
    assert found.count.tolist() == [3, 3]
    np.testing.assert_allclose(found.accuracy, [1 / 3, 2 / 3])


def test_the_sweep_takes_as_many_bins_as_it_can():
    confidence = np.linspace(0.1, 0.9, 8)
    found = reliability(confidence, np.arange(8) >= 4, kind="sweep")
    assert len(found.count) == 8


@given(st.permutations(range(12)), st.sampled_from(BIN_KINDS))
def test_order_of_items_does_not_matter_even_with_ties(order, kind):
    confidence, correct = groups((0.6, 4, 1), (0.7, 5, 5), (0.8, 3, 1))
    one = reliability(confidence, correct, bins=5, kind=kind)
    other = reliability(confidence[list(order)], correct[list(order)], bins=5, kind=kind)
    assert one.error == pytest.approx(other.error)


def test_more_bins_than_items():
    found = reliability(np.array([0.6, 0.8]), np.array([True, False]), bins=10)
    assert found.error == pytest.approx((0.4 + 0.8) / 2)


def test_from_probabilities_and_labels():
    probs = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert expected_calibration_error(probs, np.array([0, 0]), bins=1) == pytest.approx(abs(0.5 - 0.75))


def test_running_average():
    np.testing.assert_allclose(running_average(np.array([[4.0, 2.0, 0.0], [1.0, 1.0, 1.0]])), [[4, 3, 2], [1, 1, 1]])


@pytest.mark.parametrize("kind", BIN_KINDS)
def test_running_error_over_epochs_by_hand(kind):
    """Says .6, then .8, then 1 and is right in half: errors of .1, .3 and .5, whatever the bins."""
    probs = np.array([[[p, 1 - p]] * 4 for p in (0.6, 0.8, 1.0)])
    labels = np.array([0, 1, 0, 1])
    np.testing.assert_allclose(calibration_errors(probs, labels, kind=kind), [0.1, 0.3, 0.5])
    np.testing.assert_allclose(running_ece(probs, labels, kind=kind), [0.1, 0.2, 0.3])


def test_bins_reach_the_running_error():
    # one bin: says .75 on average and is right in half; two: .25 and .5 apart
    probs = np.array([[[0.6, 0.4], [0.9, 0.1]]])
    labels = np.array([1, 0])
    assert running_ece(probs, labels, bins=1)[0] == pytest.approx(0.25)
    assert running_ece(probs, labels, bins=2)[0] == pytest.approx((0.6 + 0.1) / 2)


@pytest.mark.parametrize(
    ("confidence", "options", "words"),
    [
        ([1.7], {}, "not logits"),
        ([np.nan], {}, "probabilities"),
        ([], {}, "at least one item"),
        ([0.5], {"bins": 0}, "at least 1"),
        ([0.5], {"kind": "equal-mas"}, "Did you mean 'equal-mass'"),
    ],
)
def test_what_is_refused(confidence, options, words):
    with pytest.raises(InputError, match=words):
        reliability(np.array(confidence, dtype=float), np.ones(len(confidence), dtype=bool), **options)
