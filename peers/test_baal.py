"""CoreLog is EPIG: against baal. Where baal fails, the test says how.

E members, N candidates, M estimation points, K classes.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from baal.active.heuristics import EPIG
from making import predictions
from scipy.stats import spearmanr

import bemps

SHAPES = [(2, 7, 5, 2), (5, 60, 40, 4), (20, 30, 50, 10), (3, 1, 9, 3), (10, 200, 1, 3), (1, 20, 10, 4)]


def epig(probs: np.ndarray, estimation: np.ndarray) -> np.ndarray:
    """baal as it comes, in float32. Its layout is (items, classes, members)."""
    return EPIG().compute_score(probs.transpose(1, 2, 0), estimation.transpose(1, 2, 0))


@contextmanager
def double() -> Iterator[None]:
    """baal casts to torch's default type: inside, that is float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def exact_epig(probs: np.ndarray, estimation: np.ndarray) -> np.ndarray:
    with double():
        return epig(probs.astype(np.float64), estimation.astype(np.float64))


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize(("E", "N", "M", "K"), SHAPES)
def test_core_log_is_epig(E: int, N: int, M: int, K: int, zeros: float) -> None:
    rng = np.random.default_rng([E, N, M, K])
    probs, estimation = (predictions(rng, E, n, K, zeros=zeros) for n in (N, M))
    ours = bemps.core_log(probs, estimation).scores
    assert ours.max() > 1e-3 or E == 1
    np.testing.assert_allclose(ours, exact_epig(probs, estimation), rtol=0, atol=1e-13)


def test_weights_are_repeated_members() -> None:
    """baal knows no weights: a member of weight 3 is there three times."""
    rng, counts = np.random.default_rng(1), np.array([3, 1, 2, 5])
    probs, estimation = (predictions(rng, 4, n, 3) for n in (50, 30))
    theirs = exact_epig(np.repeat(probs, counts, axis=0), np.repeat(estimation, counts, axis=0))
    np.testing.assert_allclose(bemps.core_log(probs, estimation, weights=counts).scores, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("E", "N", "M", "K"), SHAPES[:3])
def test_core_log_is_epig_in_single_precision(E: int, N: int, M: int, K: int) -> None:
    """baal subtracts entropies of up to 2 log K in float32, and that is how far it may be off."""
    rng = np.random.default_rng([E, N, M, K])
    probs, estimation = (predictions(rng, E, n, K, dtype=np.float32) for n in (N, M))
    ours, theirs = bemps.core_log(probs, estimation).scores, epig(probs, estimation)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=8 * np.finfo(np.float32).eps * 2 * np.log(K))
    assert spearmanr(ours, theirs).statistic > 0.999


def test_members_that_hardly_differ_are_lost_by_baal_in_float32_and_kept_by_core_log() -> None:
    rng = np.random.default_rng(2)
    probs, estimation = (predictions(rng, 5, n, 4, apart=0.02, dtype=np.float32) for n in (80, 50))
    truth = exact_epig(probs, estimation)
    assert np.abs(bemps.core_log(probs, estimation).scores - truth).max() < 1e-5 * truth.max()
    assert np.abs(epig(probs, estimation) - truth).max() > truth.max()


def test_one_entry_rounded_above_one_changes_every_score_of_baal_and_none_of_core_log() -> None:
    """baal takes an array with any entry above 1 for logits and applies a softmax to all of it."""
    rng = np.random.default_rng(3)
    probs, estimation = (predictions(rng, 5, n, 4) for n in (40, 30))
    probs[0, 0] = [1.0, 0.0, 0.0, 0.0]
    rounded = probs.copy()
    rounded[0, 0, 0] += 1e-7
    clean, flattened = exact_epig(probs, estimation), exact_epig(rounded, estimation)
    np.testing.assert_allclose(bemps.core_log(rounded, estimation).scores, clean, rtol=1e-6)
    assert (flattened < 0.5 * clean).all()
