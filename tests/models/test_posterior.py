import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.errors import InputError
from bemps.models.ensembling import (
    RESAMPLERS,
    at_temperature,
    bootstrap,
    dirichlet,
    fitted_temperature,
    likelihood_weights,
    log_likelihood,
    smoothed,
)


def softmax(z):
    p = np.exp(z - z.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


@pytest.mark.parametrize("name", sorted(RESAMPLERS))
@given(L=st.integers(1, 80), seed=st.integers(0, 9))
def test_label_weights_are_of_mean_one(name, L, seed):
    weights = RESAMPLERS[name](L, np.random.default_rng(seed))
    assert weights.shape == (L,)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(L)


def test_bayesian_bootstrap_keeps_every_label_and_has_the_variance_of_a_dirichlet():
    rng, L = np.random.default_rng(0), 20
    draws = np.stack([dirichlet(L, rng) for _ in range(20_000)])
    assert draws.min() > 0
    assert draws.var(axis=0) == pytest.approx(np.full(L, (L - 1) / (L + 1)), rel=0.06)


def test_bootstrap_draws_whole_numbers():
    weights = bootstrap(50, np.random.default_rng(0))
    assert (weights == np.round(weights)).all()
    assert (weights == 0).any()


def test_log_likelihood_by_hand():
    probs, labels = np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1])
    assert log_likelihood(probs, labels) == pytest.approx(np.log(0.45))
    assert log_likelihood(probs[:0], labels[:0]) == 0.0


def test_a_label_called_impossible_costs_much_but_not_everything():
    assert np.isfinite(log_likelihood(np.array([[1.0, 0.0]]), np.array([1])))


def test_likelihood_weights_are_proportional_and_survive_very_unlikely_labels():
    assert likelihood_weights(np.log([0.2, 0.6])) == pytest.approx([0.25, 0.75])
    assert likelihood_weights([-5000.0, -5000.0]) == pytest.approx([0.5, 0.5])
    assert likelihood_weights([0.0, 0.0, 0.0]) == pytest.approx([1 / 3] * 3)


@given(temperature=st.floats(0.1, 10.0), seed=st.integers(0, 9))
def test_tempering_is_a_softmax_of_scaled_logits(temperature, seed):
    logits = np.random.default_rng(seed).normal(size=(4, 3))
    assert at_temperature(softmax(logits), temperature) == pytest.approx(softmax(logits / temperature))


def test_tempering_keeps_zeros_and_one_changes_nothing():
    probs = np.array([[0.25, 0.75, 0.0]])
    assert at_temperature(probs, 1.0) == pytest.approx(probs)
    assert at_temperature(probs, 0.01)[0, 2] == 0.0
    with pytest.raises(InputError):
        at_temperature(probs, 0.0)


@pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(true):
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(20_000, 4))
    labels = (softmax(logits / true).cumsum(1) < rng.random((20_000, 1))).sum(1)
    assert fitted_temperature(softmax(logits), labels) == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("labels", [[], [0], [1], [0, 0, 0], [1, 1, 1, 1]])
def test_a_handful_of_held_out_labels_gives_a_moderate_temperature(labels):
    probs = np.tile([0.8, 0.2], (len(labels), 1))
    temperature = fitted_temperature(probs, np.array(labels, dtype=int))
    assert 0.2 < temperature < 6
    if not labels:
        assert temperature == 1.0


def test_smoothing_adds_labels_spread_over_the_classes():
    assert smoothed(np.array([[1.0, 0.0, 0.0]]), 2, 1.0) == pytest.approx(np.array([[7 / 9, 1 / 9, 1 / 9]]))
    assert smoothed(np.array([[1.0, 0.0]]), 5, 0.0).tolist() == [[1.0, 0.0]]
    with pytest.raises(InputError):
        smoothed(np.array([[1.0, 0.0]]), 5, -1.0)
