"""What the next batch is expected to bring, and when to stop."""

import numpy as np
import pytest

from bemps.learner.forecast_calibration import Improvement
from bemps.learner.stopping import Forecast, GainBelow, LabellingProgress, RiseBelow, forecast


@pytest.mark.parametrize("seed", range(20))
def test_no_batch_is_expected_to_bring_more_than_what_is_left(seed):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.3), size=(20, 25))
    told = forecast(probs, probs, np.full(20, 1 / 20), np.arange(25), labels=50, seed=seed)
    assert told.gain <= told.remaining
    assert told.remaining == pytest.approx(((probs - probs.mean(0)) ** 2).sum(-1).mean())


@pytest.mark.parametrize(
    ("labels", "size", "known"), [(20, 10, True), (300, 20, True), (19, 20, False), (50, 5, False)]
)
def test_experience_is_told_only_where_there_is_some(labels, size, known):
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 30))
    told = forecast(probs, probs, np.full(4, 1 / 4), np.arange(size), labels=labels, seed=0)
    assert (told.experience is not None) == known
    assert ("(9 times in 10)" in str(told)) == known
    assert ("is not known" in str(told)) == (not known)


def test_members_that_expect_nothing_do_not_stop_against_experience():
    sure = Forecast(0.0001, 0.0, 0.0002, 20, Improvement(0.02, -0.01, 0.05))
    assert GainBelow(0.001).reason(LabellingProgress(60, sure, ())) is None
    done = Forecast(0.0001, 0.0, 0.0002, 20, Improvement(0.0005, -0.001, 0.002))
    assert GainBelow(0.001).reason(LabellingProgress(2_000, done, ())) == (
        "the next 20 labels lower the Brier score by 0.0005 in the mean of simulated projects"
        " and by at most 0.0001 as the members expect: both are below 0.001"
    )


def test_a_small_rise_is_a_reason_to_stop_and_an_unknown_one_is_not():
    rule = RiseBelow(0.01)
    assert rule.reason(LabellingProgress(300, None, (), 0.004)) == (
        "the next 100 labels are expected to make fewer than 1 more of 100 items right"
    )
    assert rule.reason(LabellingProgress(300, None, (), 0.02)) is None
    assert rule.reason(LabellingProgress(300, None, (), None)) is None
