"""Other libraries as oracles: EPIG of baal, BALD and BatchBALD of batchbald-redux, BADGE and uncertainties of scikit-activeml.

E members, N candidates, M estimation points, K classes, H features, B picks. Where a peer fails, the test says how.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from baal.active.heuristics import EPIG
from batchbald_redux import batchbald as redux
from batchbald_redux.joint_entropy import ExactJointEntropy
from making import on_grid, predictions, weights_for
from scipy.stats import chi2_contingency, spearmanr
from skactiveml.base import SkactivemlClassifier
from skactiveml.pool import Badge, UncertaintySampling, uncertainty_scores
from skactiveml.utils import MISSING_LABEL

import bemps
from bemps import baselines
from bemps.batchbald import batchbald

Array = np.ndarray


def uniform(E: int) -> Array:
    return np.full(E, 1 / E)


# ---- CoreLog is EPIG (baal)


def epig(probs: Array, estimation: Array) -> Array:
    """baal's layout is (items, classes, members)."""
    return EPIG().compute_score(probs.transpose(1, 2, 0), estimation.transpose(1, 2, 0))


@pytest.fixture
def double() -> Iterator[None]:
    """baal casts to torch's default type, float32: with this it calculates in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


EPIG_SHAPES = [(2, 7, 5, 2), (5, 60, 40, 4), (20, 30, 50, 10), (3, 1, 9, 3), (10, 200, 1, 3), (1, 20, 10, 4)]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize(("E", "N", "M", "K"), EPIG_SHAPES)
def test_core_log_is_epig(E: int, N: int, M: int, K: int, zeros: float) -> None:
    rng = np.random.default_rng([E, N, M, K])
    probs, estimation = predictions(rng, E, N, K, zeros=zeros), predictions(rng, E, M, K, zeros=zeros)
    ours = bemps.core_log(probs, estimation).scores
    assert ours.max() > 1e-3 or E == 1
    np.testing.assert_allclose(ours, epig(probs, estimation), rtol=0, atol=1e-13)


@pytest.mark.usefixtures("double")
def test_core_log_with_weights_is_epig_with_repeated_members() -> None:
    """baal knows no weights: a member of weight 3 is there three times."""
    rng = np.random.default_rng(1)
    probs, estimation, counts = predictions(rng, 4, 50, 3), predictions(rng, 4, 30, 3), np.array([3, 1, 2, 5])
    ours = bemps.core_log(probs, estimation, weights=counts).scores
    theirs = epig(np.repeat(probs, counts, axis=0), np.repeat(estimation, counts, axis=0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("E", "N", "M", "K"), EPIG_SHAPES[:3])
def test_core_log_is_epig_in_single_precision(E: int, N: int, M: int, K: int) -> None:
    """baal as it comes: entropies of about log K^2 are subtracted in float32."""
    rng = np.random.default_rng([E, N, M, K])
    probs, estimation = (predictions(rng, E, n, K, dtype=np.float32) for n in (N, M))
    ours, theirs = bemps.core_log(probs, estimation).scores, epig(probs, estimation)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=16 * np.finfo(np.float32).eps * np.log(K**2))
    assert spearmanr(ours, theirs).statistic > 0.999


def test_members_that_hardly_differ_are_lost_by_epig_in_single_precision_and_kept_by_core_log() -> None:
    rng = np.random.default_rng(2)
    probs, estimation = (predictions(rng, 5, n, 4, apart=0.02, dtype=np.float32) for n in (80, 50))
    ours, single = bemps.core_log(probs, estimation).scores, epig(probs, estimation)
    torch.set_default_dtype(torch.float64)
    truth = epig(probs.astype(np.float64), estimation.astype(np.float64))
    torch.set_default_dtype(torch.float32)
    assert np.abs(ours - truth).max() < 1e-5 * truth.max()
    assert np.abs(single - truth).max() > truth.max()


@pytest.mark.usefixtures("double")
def test_one_rounding_error_above_one_changes_every_epig_score_and_no_core_log_score() -> None:
    """baal takes an array with any entry above 1 for logits and applies a softmax to all of it."""
    rng = np.random.default_rng(3)
    probs, estimation = predictions(rng, 5, 40, 4), predictions(rng, 5, 30, 4)
    probs[0, 0] = [1.0, 0.0, 0.0, 0.0]
    rounded = probs.copy()
    rounded[0, 0, 0] += 1e-7
    clean = epig(probs, estimation)
    np.testing.assert_allclose(bemps.core_log(rounded, estimation).scores, clean, rtol=1e-6)
    assert np.abs(epig(rounded, estimation) - clean).min() > 0
    assert np.median(epig(rounded, estimation)) < 0.5 * np.median(clean)


# ---- BALD and BatchBALD (batchbald-redux)


def log_probs(probs: Array, floor: float = 0.0) -> torch.Tensor:
    """batchbald-redux's layout is (items, members, classes), logarithms."""
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(np.maximum(probs.transpose(1, 0, 2), floor)))


def redux_bald(logs: torch.Tensor) -> Array:
    return (redux.compute_entropy(logs) - redux.compute_conditional_entropy(logs)).numpy()


def exact_information(logs: torch.Tensor, picks: Array) -> float:
    """I(y_S; theta) of a batch by batchbald-redux, over all K^B label configurations."""
    batch = logs[picks.tolist()]
    joint = ExactJointEntropy.empty(logs.shape[1], dtype=torch.double).add_variables(batch).compute()
    return float(joint - redux.compute_conditional_entropy(batch).sum())


@pytest.mark.parametrize(("E", "N", "K"), [(2, 9, 2), (5, 300, 4), (20, 100, 10), (50, 1, 3), (1, 30, 5)])
def test_bald(E: int, N: int, K: int) -> None:
    probs = predictions(np.random.default_rng([E, N, K]), E, N, K)
    ours, logs = baselines.bald(probs, uniform(E)), log_probs(probs)
    np.testing.assert_allclose(ours, redux_bald(logs), rtol=0, atol=1e-13)
    if E > 1:
        theirs = redux.get_bald_batch(logs, min(N, 10))
        np.testing.assert_array_equal(np.argsort(-ours)[:10], theirs.indices)
        np.testing.assert_allclose(np.sort(ours)[::-1][:10], theirs.scores, rtol=1e-11)


def test_bald_with_weights_is_bald_with_repeated_members() -> None:
    probs, counts = predictions(np.random.default_rng(4), 3, 60, 5), np.array([4, 1, 2])
    theirs = redux_bald(log_probs(np.repeat(probs, counts, axis=0)))
    np.testing.assert_allclose(baselines.bald(probs, counts / counts.sum()), theirs, rtol=0, atol=1e-13)


def test_bald_with_zeros_where_the_peer_gives_nan() -> None:
    """Its 0 log 0 is NaN, in every item with a zero; with zeros raised to 1e-300 it agrees with ours."""
    probs = predictions(np.random.default_rng(5), 5, 100, 4, zeros=0.2)
    with_zero = (probs == 0).any(axis=(0, 2))
    assert 10 < with_zero.sum() < 100
    np.testing.assert_array_equal(np.isnan(redux_bald(log_probs(probs))), with_zero)
    ours = baselines.bald(probs, uniform(5))
    np.testing.assert_allclose(ours, redux_bald(log_probs(probs, floor=1e-300)), rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("E", "N", "K", "B", "samples"),
    [(2, 20, 2, 4, 10_000), (5, 50, 4, 6, 1_024), (20, 40, 2, 10, 512), (10, 300, 10, 4, 1_000), (20, 7, 3, 7, 729)],
)
def test_batchbald_exact(E: int, N: int, K: int, B: int, samples: int) -> None:
    """While K^(B-1) <= samples both are exact, at the bound too: the same picks, the same joint information."""
    assert K ** (B - 1) <= samples
    probs = predictions(np.random.default_rng([E, N, K, B]), E, N, K)
    picks, increments = batchbald(probs, uniform(E), B, np.random.default_rng(0), samples=samples)
    theirs = redux.get_batchbald_batch(log_probs(probs), B, samples, dtype=torch.double)
    np.testing.assert_array_equal(picks, theirs.indices)
    np.testing.assert_allclose(np.cumsum(increments), theirs.scores, rtol=1e-12)


def test_batchbald_with_zeros_where_the_peer_gives_nan() -> None:
    """One zero anywhere is NaN, which its maximum prefers; with zeros raised to 1e-30 it agrees with ours."""
    probs = predictions(np.random.default_rng(6), 8, 60, 4, zeros=0.1)
    picks, increments = batchbald(probs, uniform(8), 5, np.random.default_rng(0))
    assert np.isnan(redux.get_batchbald_batch(log_probs(probs), 5, 10_000, dtype=torch.double).scores).all()
    theirs = redux.get_batchbald_batch(log_probs(probs, floor=1e-30), 5, 10_000, dtype=torch.double)
    np.testing.assert_array_equal(picks, theirs.indices)
    np.testing.assert_allclose(np.cumsum(increments), theirs.scores, rtol=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("E", "N", "K", "B", "exact_picks"), [(10, 60, 4, 8, 5), (20, 100, 3, 10, 7), (8, 40, 10, 5, 3)])
def test_batchbald_sampled(E: int, N: int, K: int, B: int, exact_picks: int, seed: int) -> None:
    """Beyond, each side's joint score is close to the exact information of its own batch, and the batches are as good."""
    probs, logs, samples = *_pool(E, N, K), K ** (exact_picks - 1)
    picks, increments = batchbald(probs, uniform(E), B, np.random.default_rng(seed), samples=samples)
    torch.manual_seed(seed)
    theirs = redux.get_batchbald_batch(logs, B, samples, dtype=torch.double)
    np.testing.assert_array_equal(picks[:exact_picks], theirs.indices[:exact_picks])
    np.testing.assert_allclose(np.cumsum(increments)[:exact_picks], theirs.scores[:exact_picks], rtol=1e-11)
    ours_exact, theirs_exact = exact_information(logs, picks), exact_information(logs, np.array(theirs.indices))
    print(increments.sum()/ours_exact-1, theirs.scores[-1]/theirs_exact-1, ours_exact/theirs_exact-1, B)


def _pool(E: int, N: int, K: int) -> tuple[Array, torch.Tensor]:
    probs = predictions(np.random.default_rng([E, N, K]), E, N, K)
    return probs, log_probs(probs)
