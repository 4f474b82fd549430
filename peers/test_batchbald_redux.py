"""BALD and BatchBALD: against batchbald-redux. Where it fails, the test says how.

E members, N candidates, K classes, B picks.
"""

import numpy as np
import pytest
import torch
from batchbald_redux import batchbald as redux
from batchbald_redux.joint_entropy import ExactJointEntropy
from making import predictions

from bemps.acquisition.baselines import bald
from bemps.acquisition.batchbald import batchbald


def uniform(E: int) -> np.ndarray:
    return np.full(E, 1 / E)


def logarithms(probs: np.ndarray, floor: float = 0.0) -> torch.Tensor:
    """batchbald-redux's layout: logarithms, (items, members, classes)."""
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(np.maximum(probs.transpose(1, 0, 2), floor)))


def their_bald(logs: torch.Tensor) -> np.ndarray:
    return (redux.compute_entropy(logs) - redux.compute_conditional_entropy(logs)).numpy()


def their_batch(logs: torch.Tensor, B: int, samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Its picks and, after each, the joint information of all; float64 (as it comes it works in float32)."""
    torch.manual_seed(seed)
    batch = redux.get_batchbald_batch(logs, B, samples, dtype=torch.double)
    return np.array(batch.indices), np.array(batch.scores)


def exact_information(logs: torch.Tensor, picks: np.ndarray) -> float:
    """I(y_S; theta) of a batch by batchbald-redux, over all K^B label configurations."""
    batch = logs[picks.tolist()]
    joint = ExactJointEntropy.empty(logs.shape[1], dtype=torch.double).add_variables(batch).compute()
    return float(joint - redux.compute_conditional_entropy(batch).sum())


@pytest.mark.parametrize(("E", "N", "K"), [(2, 9, 2), (5, 300, 4), (20, 100, 10), (50, 1, 3), (1, 30, 5)])
def test_bald(E: int, N: int, K: int) -> None:
    probs = predictions(np.random.default_rng([E, N, K]), E, N, K)
    np.testing.assert_allclose(bald(probs, uniform(E)), their_bald(logarithms(probs)), rtol=0, atol=1e-13)


def test_bald_picks() -> None:
    probs = predictions(np.random.default_rng(0), 10, 200, 4)
    ours, theirs = bald(probs, uniform(10)), redux.get_bald_batch(logarithms(probs), 20)
    best = np.argsort(-ours)[:20]
    np.testing.assert_array_equal(best, theirs.indices)
    np.testing.assert_allclose(ours[best], theirs.scores, rtol=1e-12)


def test_weights_are_repeated_members() -> None:
    """batchbald-redux knows no weights: a member of weight 4 is there four times."""
    probs, counts = predictions(np.random.default_rng(4), 3, 60, 5), np.array([4, 1, 2])
    logs, weights = logarithms(np.repeat(probs, counts, axis=0)), counts / counts.sum()
    np.testing.assert_allclose(bald(probs, weights), their_bald(logs), rtol=0, atol=1e-13)
    picks, increments = batchbald(probs, weights, 4, np.random.default_rng(0))
    their_picks, their_scores = their_batch(logs, 4, 10_000)
    np.testing.assert_array_equal(picks, their_picks)
    np.testing.assert_allclose(np.cumsum(increments), their_scores, rtol=1e-12)


def test_bald_with_zeros_where_the_peer_gives_nan() -> None:
    """Its 0 log 0 is NaN, at every item with a zero; with zeros raised to 1e-300 it agrees with ours."""
    probs = predictions(np.random.default_rng(5), 5, 100, 4, zeros=0.1)
    with_zero = (probs == 0).any(axis=(0, 2))
    assert 10 < with_zero.sum() < 100
    np.testing.assert_array_equal(np.isnan(their_bald(logarithms(probs))), with_zero)
    theirs = their_bald(logarithms(probs, floor=1e-300))
    np.testing.assert_allclose(bald(probs, uniform(5)), theirs, rtol=0, atol=1e-13)


EXACT = [(2, 20, 2, 4, 10_000), (5, 50, 4, 6, 1_024), (20, 40, 2, 10, 512), (10, 300, 10, 4, 1_000), (20, 7, 3, 7, 729)]


@pytest.mark.parametrize(("E", "N", "K", "B", "samples"), EXACT)
def test_batchbald_exact(E: int, N: int, K: int, B: int, samples: int) -> None:
    """While K^(B-1) <= samples, at the bound too, both are exact: the same picks, the same joint information."""
    assert samples >= K ** (B - 1)
    probs = predictions(np.random.default_rng([E, N, K, B]), E, N, K)
    picks, increments = batchbald(probs, uniform(E), B, np.random.default_rng(0), samples=samples)
    their_picks, their_scores = their_batch(logarithms(probs), B, samples)
    np.testing.assert_array_equal(picks, their_picks)
    np.testing.assert_allclose(np.cumsum(increments), their_scores, rtol=1e-12)


def test_batchbald_with_zeros_where_the_peer_gives_nan() -> None:
    """A zero anywhere is NaN, which its maximum prefers; with zeros raised to 1e-30 it agrees with ours."""
    probs = predictions(np.random.default_rng(6), 8, 60, 4, zeros=0.1)
    picks, increments = batchbald(probs, uniform(8), 5, np.random.default_rng(0))
    assert np.isnan(their_batch(logarithms(probs), 5, 10_000)[1]).all()
    their_picks, their_scores = their_batch(logarithms(probs, floor=1e-30), 5, 10_000)
    np.testing.assert_array_equal(picks, their_picks)
    np.testing.assert_allclose(np.cumsum(increments), their_scores, rtol=1e-12)


@pytest.mark.parametrize(
    ("E", "N", "K", "B", "samples", "exact"),
    [(10, 60, 4, 8, 1_024, 6), (20, 100, 3, 10, 2_187, 8), (8, 40, 10, 5, 1_600, 4)],
)
def test_batchbald_sampled(*, E: int, N: int, K: int, B: int, samples: int, exact: int) -> None:
    """Beyond the first `exact` picks: how far is a joint score from the exact information of its own batch?

    Ours within 0.5 %, theirs within 15 % and on average at least five times farther off than ours (it samples the
    whole joint entropy anew at every pick, ours adds increments); our batches are as informative as theirs.
    """
    probs = predictions(np.random.default_rng([E, N, K]), E, N, K)
    logs, errors = logarithms(probs), []
    for seed in range(6):
        picks, increments = batchbald(probs, uniform(E), B, np.random.default_rng(seed), samples=samples)
        their_picks, their_scores = their_batch(logs, B, samples, seed)
        np.testing.assert_array_equal(picks[:exact], their_picks[:exact])
        np.testing.assert_allclose(np.cumsum(increments)[:exact], their_scores[:exact], rtol=1e-12)
        truth, their_truth = exact_information(logs, picks), exact_information(logs, their_picks)
        errors.append([abs(increments.sum() / truth - 1), abs(their_scores[-1] / their_truth - 1)])
        assert truth > 0.995 * their_truth
    ours, theirs = np.array(errors).T
    assert ours.max() < 0.005
    assert theirs.max() < 0.15
    assert ours.mean() < theirs.mean() / 5
