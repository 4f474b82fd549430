"""Joint gain against enumeration, and the greedy batch that follows it."""

import numpy as np
import pytest
import reference
from making import predictions, weights_for

import bemps
from bemps.gain.joint import brier_form_root, joint_greedy


@pytest.mark.parametrize("size", [1, 2, 3])
def test_joint_gain_equals_enumeration(size):
    rng = np.random.default_rng(size)
    probs, estimation = predictions(rng, 4, 6, 3, zeros=0.2), predictions(rng, 4, 5, 3)
    weights = weights_for(rng, 4)
    batch = rng.choice(6, size, replace=False)
    wanted = reference.joint_gain(probs, batch, estimation, weights, reference.g_brier)
    assert bemps.joint_gain(probs, batch, estimation, weights=weights) == pytest.approx(wanted, rel=1e-10)


def test_sampled_joint_gain_is_near_the_exact_one():
    probs = predictions(np.random.default_rng(0), 5, 8, 3)
    exact = bemps.joint_gain(probs, np.arange(7))
    sampled = [bemps.joint_gain(probs, np.arange(7), samples=500, seed=seed) for seed in range(20)]
    assert abs(np.mean(sampled) / exact - 1) < 0.01
    assert np.std(sampled) / exact < 0.05


def test_greedy_picks_raise_the_joint_gain_most():
    rng = np.random.default_rng(4)
    probs, weights = predictions(rng, 4, 15, 3), weights_for(rng, 4)
    picks, increments = joint_greedy(probs, 4, brier_form_root(probs, weights), weights, samples=10_000, rng=rng)
    for step in range(4):
        before = list(picks[:step])
        values = {i: bemps.joint_gain(probs, [*before, i], weights=weights) for i in range(15) if i not in before}
        assert max(values, key=values.__getitem__) == picks[step]
        assert increments[: step + 1].sum() == pytest.approx(values[picks[step]], rel=1e-10)


def test_joint_avoids_a_copy_of_what_it_has():
    """Two copies of the best item, its labels nearly certain under each member: a second answer tells nothing new."""
    rng = np.random.default_rng(2)
    probs = predictions(rng, 5, 30, 3, apart=8.0)
    probs[:, 1] = probs[:, 0] = probs[:, bemps.core_mse(probs).scores.argmax()]
    top = bemps.select(probs, 2, "coremse-topk").indices
    joint = bemps.select(probs, 2, "coremse-joint").indices
    same = [np.abs(probs[:, i] - probs[:, j]).max() < 1e-12 for i, j in (top, joint)]
    assert same == [True, False]


def test_refuses_positions_that_are_not_a_batch():
    probs = predictions(np.random.default_rng(0), 3, 5, 2)
    for bad in ([0, 0], [5], [-1], [0.5], [[0]]):
        with pytest.raises(bemps.InputError, match="indices"):
            bemps.joint_gain(probs, bad)


@pytest.mark.parametrize("seed", range(10))
def test_a_drawn_joint_gain_is_never_more_than_the_remaining_gain(seed):
    probs = np.random.default_rng(seed).dirichlet(np.full(3, 0.3), size=(20, 25))
    gain = bemps.joint_gain(probs, np.arange(25), samples=1_000, seed=seed)
    assert gain <= bemps.remaining_gain(probs) * (1 + 1e-12)
