"""The same batch whatever the last digits of the scores: they depend on memory, threads and shards."""

import numpy as np
import pytest

import bemps
from bemps.acquisition import batch_rules
from bemps.acquisition.strategy_registry import STRATEGIES
from bemps.gain import ranking

GROUPS, COPIES = 12, 20
LIMITS = [{}, {"memory": 2**20}, {"memory": 3 * 2**20}, {"threads": 2}, {"memory": 2**21, "threads": 3}]


def near_ties(rng, *shape):
    """Few different rows, each many times, the copies apart by some units of the last place."""
    rows = np.tile(rng.dirichlet(np.ones(shape[-1]), size=(*shape[:-2], GROUPS)), (*(1,) * (len(shape) - 2), COPIES, 1))
    rows = rows * (1 + rng.integers(-8, 9, rows.shape) * 2.0**-52)
    return rows[..., rng.permutation(rows.shape[-2]), :]


def pool(seed, K=3):
    rng = np.random.default_rng(seed)
    size = GROUPS * COPIES
    vectors = near_ties(rng, size, 6)
    return {
        "probs": near_ties(rng, 4, size, K),
        "features": vectors,
        "embeddings": vectors,
        "surprisal": vectors,
        "labelled_features": vectors[:9].copy(),
        "labelled_embeddings": vectors[:9].copy(),
        "labelled_probs": near_ties(rng, size, K)[:9],
        "labelled_classes": np.arange(9) % K,
    }


def test_nearly_equal_scores_keep_their_places():
    """The last digits of the scores change, the batch does not."""
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.random(20), 15)
    noisy = [scores * (1 + rng.integers(-20, 21, scores.shape) * 2.0**-52) for _ in range(30)]
    for n in (1, 7, 60, 300):
        batches = {tuple(batch_rules.top(some, n, np.random.default_rng(1)).tolist()) for some in noisy}
        assert len(batches) == 1
    assert len({ranking.first_largest(some) for some in noisy}) == 1
    assert len({tuple(ranking.ranked(some).tolist()) for some in noisy}) == 1


def test_scores_that_differ_by_more_keep_their_order():
    scores = 1.0 + np.random.default_rng(0).permutation(100) * 1e-11
    np.testing.assert_array_equal(ranking.ranked(scores), np.argsort(-scores))
    np.testing.assert_array_equal(batch_rules.top(scores, 10, np.random.default_rng(0)), np.argsort(-scores)[:10])


def test_the_tolerance_is_of_the_largest():
    assert ranking.tolerance_of(np.array([1e-30, 2e-30])) < 1e-41
    assert ranking.tolerance_of(np.zeros(3)) == 0
    assert ranking.tolerance_of(np.array([-np.inf, 4.0])) == 4 * ranking.TIE
    assert ranking.first_largest(np.array([-np.inf, 1.0, 1.0 + 1e-14])) == 1


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_near_ties_do_not_depend_on_memory_or_threads(strategy, n):
    for seed in range(4):
        given = pool(seed)
        batches = set()
        for limits in LIMITS:
            with bemps.limits(**limits):
                options = {"draws": 1} if strategy == "parbals" else {}  # more do not fit into the smallest limit
                picked = bemps.select(given["probs"], n, strategy, seed=seed, **rest(given), **options)
                batches.add(tuple(picked.indices.tolist()))
        assert len(batches) == 1


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_near_ties_do_not_depend_on_the_last_digits(strategy, n):
    """What another machine, or another order of sums, would make of the same pool."""
    given = pool(0)
    batches = set()
    for seed in range(6):
        digits = np.random.default_rng(seed).integers(-4, 5, given["probs"].shape) * 2.0**-52
        probs = given["probs"] * (1 + digits)
        batches.add(tuple(bemps.select(probs, n, strategy, seed=3, **rest(given)).indices.tolist()))
    assert len(batches) == 1


def rest(given):
    return {name: value for name, value in given.items() if name != "probs"}
