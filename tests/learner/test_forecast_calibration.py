"""What the next labels bring: the formula."""

from math import exp, log, sqrt

import pytest

from bemps.learner.forecast_calibration import ACCURACY, BRIER, improvement, round_moments


@pytest.mark.parametrize("calibration", [ACCURACY, BRIER])
def test_a_round_is_that_of_the_formula(calibration):
    a, b = calibration.mean, calibration.spread
    mu = exp(a[0] + a[1] * log(1.4) + a[2] * log(0.5) + a[3] * log(4 / 6))
    sigma = exp(b[0] + b[1] * log(1.4) + b[2] * log(0.5) + b[3] * log(4 / 6))
    assert round_moments(calibration, 140, 4, 0.05) == pytest.approx((mu, sigma))
    found = improvement(calibration, 140, 4, 20, changed=0.05)
    deviation = sqrt(sigma**2 + (calibration.between * mu) ** 2)
    assert found.mean == pytest.approx(mu)
    assert (found.low, found.high) == pytest.approx(
        (mu + calibration.low * deviation, mu + calibration.high * deviation)
    )


def test_a_hundred_labels_are_five_rounds_one_after_the_other():
    rounds = [round_moments(ACCURACY, 100 + 20 * i, 4, 0.05) for i in range(5)]
    found = improvement(ACCURACY, 100, 4, 100, changed=0.05)
    assert found.mean == pytest.approx(sum(mu for mu, _ in rounds))
    assert improvement(ACCURACY, 100, 4, 90, changed=0.05).mean == pytest.approx(found.mean - rounds[-1][0] / 2)


def test_later_labels_and_steadier_predictions_promise_less():
    early, late = (improvement(ACCURACY, labels, 4, 20, changed=0.05) for labels in (60, 300))
    steady, moving = (improvement(ACCURACY, 100, 4, 20, changed=changed) for changed in (0.01, 0.2))
    for less, more in ((late, early), (steady, moving)):
        assert less.mean < more.mean
        assert less.high - less.low < more.high - more.low


def test_the_interval_holds_the_mean_and_grows_with_the_labels():
    small, large = (improvement(ACCURACY, 100, 4, size, changed=0.05) for size in (20, 100))
    for one in (small, large):
        assert one.low < one.mean < one.high
    assert large.high - large.low > small.high - small.low


def test_predictions_that_did_not_move_at_all_are_no_trouble():
    assert improvement(ACCURACY, 100, 2, 20, changed=0.0).mean > 0
