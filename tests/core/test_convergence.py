"""Theorem (thm-cnv) on a small finite model class: the posterior concentrates on the true parameter."""

import numpy as np
import pytest

import bemps
from bemps.acquisition.baselines import bald

GAINS = {
    "coremse": lambda models, weights: bemps.core_mse(models, weights=weights).scores,
    "corelog": lambda models, weights: bemps.core_log(models, weights=weights).scores,
    "bald": bald,
}


@pytest.mark.parametrize("name", GAINS)
def test_posterior_concentrates_on_the_truth(name):
    """Eight models, twelve inputs, three classes; labels drawn from model 0, each input asked as often as it pays."""
    rng = np.random.default_rng(0)
    models = rng.dirichlet(np.full(3, 2.0), size=(8, 12))  # (E, N, K)
    weights = np.full(8, 1 / 8)
    gains = []
    for _ in range(300):
        gain = GAINS[name](models, weights)
        gains.append(gain.max())
        x = int(gain.argmax())
        y = rng.choice(3, p=models[0, x])
        weights = weights * models[:, x, y]
        weights /= weights.sum()
    assert weights[0] > 0.999
    assert gains[-1] < 1e-3 * gains[0]
    assert bemps.remaining_gain(models, weights=weights) < 1e-3
