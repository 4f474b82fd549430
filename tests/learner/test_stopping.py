"""What the next batch is expected to bring, and when to stop."""

import numpy as np
import pytest

from bemps.learner.stopping import forecast


@pytest.mark.parametrize("seed", range(20))
def test_no_batch_is_expected_to_bring_more_than_what_is_left(seed):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.3), size=(20, 25))
    told = forecast(probs, probs, np.full(20, 1 / 20), np.arange(25), seed)
    assert told.gain <= told.remaining
    assert told.remaining == pytest.approx(((probs - probs.mean(0)) ** 2).sum(-1).mean())
