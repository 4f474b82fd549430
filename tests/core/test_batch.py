"""Batch rules: always B different items, the same for a seed, and Algorithm 3 as the paper has it."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from making import predictions

import bemps
from bemps.acquisition import batch_rules


def test_top_is_the_largest_with_ties_at_random():
    scores = np.array([0.1, 0.9, 0.5, 0.5, 0.5])
    rng = np.random.default_rng(0)
    assert batch_rules.top(scores, 1, rng).tolist() == [1]
    seconds = {int(batch_rules.top(scores, 2, np.random.default_rng(seed))[1]) for seed in range(40)}
    assert seconds == {2, 3, 4}


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 30), st.data())
def test_every_rule_gives_distinct_items(N, data):
    n = data.draw(st.integers(1, N))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = rng.integers(0, 2, size=(N, 3)).astype(float)  # many equal rows
    scores = rng.integers(0, 3, size=N).astype(float)
    for picks in (
        batch_rules.top(scores, n, rng),
        *(batch_rules.stochastic(scores, n, rng, kind=kind) for kind in batch_rules.STOCHASTIC),
        batch_rules.diverse(scores, rows.__getitem__, n, rng).indices,
        batch_rules.weighted_representatives(scores, rows, n, rng).indices,
        batch_rules.spread_out(lambda i: ((rows - rows[i]) ** 2).sum(1), n, rng, first=0)[0],
        batch_rules.spread_out(lambda i: ((rows - rows[i]) ** 2).sum(1), n, rng, closest=np.ones(N), farthest=True)[0],
    ):
        assert len(picks) == n == len(set(picks.tolist()))
        assert picks.min() >= 0
        assert picks.max() < N


def _top_half(gain):
    return gain.matrix()[np.argsort(-gain.scores, kind="stable")[:30]]


def test_diverse_is_algorithm_3():
    """Same centres, so the same items nearest them, from the vectors in few dimensions as from the long rows."""
    from sklearn.cluster import KMeans

    probs = predictions(np.random.default_rng(0), 5, 60, 3)
    gain = bemps.core_mse(probs)
    chosen = batch_rules.diverse(gain.scores, gain.rows, 6, np.random.default_rng(1), T=0.5)
    rng = np.random.default_rng(1)
    rng.choice(1, 1, replace=False)  # the draw among equals at the edge of the top half
    seed = int(rng.integers(2**31))
    centres = KMeans(6, n_init=1, random_state=seed).fit(_top_half(gain)).cluster_centers_
    wanted, V = reference.algorithm_3(gain.matrix(), 6, 0.5, lambda rows, B: centres)
    rows = gain.matrix()
    nearest = [min(np.linalg.norm(rows[i] - centre) for centre in centres) for i in wanted]
    found = [min(np.linalg.norm(rows[i] - centre) for centre in centres) for i in chosen.indices]
    assert np.allclose(sorted(found), sorted(nearest), rtol=1e-9)  # both of a pair are equally near their centre
    assert len(set(chosen.indices.tolist()) & set(wanted)) >= 5
    assert sorted(np.concatenate(chosen.clusters).tolist()) == sorted(V)


def test_diverse_says_what_each_pick_stands_for():
    rng = np.random.default_rng(3)
    rows = np.repeat(np.eye(4) * 10, 5, axis=0) + 0.01 * rng.normal(size=(20, 4))
    chosen = batch_rules.diverse(np.ones(20), rows.__getitem__, 4, rng, T=1.0)
    assert sorted(len(c) for c in chosen.clusters) == [5, 5, 5, 5]
    for pick, cluster in zip(chosen.indices, chosen.clusters, strict=True):
        assert pick in cluster
        assert {int(i) // 5 for i in cluster} == {int(pick) // 5}


def test_diverse_takes_only_the_top_fraction_and_best_first():
    rng = np.random.default_rng(0)
    scores, rows = rng.random(100), rng.normal(size=(100, 3))
    chosen = batch_rules.diverse(scores, rows.__getitem__, 10, rng, T=0.2)
    assert set(chosen.indices) <= set(np.argsort(-scores)[:20])
    assert (np.diff(chosen.scores) <= 0).all()
    assert batch_rules.diverse(scores, rows.__getitem__, 1, rng).indices[0] == scores.argmax()
    assert len(batch_rules.diverse(scores, rows.__getitem__, 30, rng, T=0.01)) == 30


def test_gain_weights_pull_the_representatives():
    """One heavy item among many light ones of its cluster: it is the representative."""
    rows = np.linspace(0, 1, 20)[:, None]
    scores = np.full(20, 1e-3)
    scores[3] = scores[16] = 1.0
    chosen = batch_rules.weighted_representatives(scores, rows, 2, np.random.default_rng(0))
    assert set(chosen.indices.tolist()) == {3, 16}


@pytest.mark.parametrize("kind", batch_rules.STOCHASTIC)
def test_stochastic_follows_its_law(kind):
    scores = np.array([1.0, 2.0, 4.0])
    law = {"power": scores, "softmax": np.exp(scores), "softrank": np.array([1 / 3, 1 / 2, 1.0])}[kind]
    rng = np.random.default_rng(0)
    first = np.bincount([batch_rules.stochastic(scores, 2, rng, kind=kind)[0] for _ in range(4000)], minlength=3) / 4000
    # `top` sorts by perturbed score, so the first drawn is first
    assert np.abs(first - law / law.sum()).max() < 0.03


def test_kmeans_plus_plus_draws_by_squared_distance():
    x = np.array([0.0, 1.0, 3.0])
    second = [
        batch_rules.spread_out(lambda i: (x - x[i]) ** 2, 2, np.random.default_rng(s), first=0)[0][1]
        for s in range(2000)
    ]
    assert np.mean(np.array(second) == 2) == pytest.approx(0.9, abs=0.03)


def test_gains_of_any_scale_cluster_alike():
    probs = predictions(np.random.default_rng(0), 5, 200, 3)
    gain = bemps.core_mse(probs)
    for scale in (1e-12, 1.0, 1e12):
        picks = batch_rules.diverse(
            gain.scores, lambda i, s=scale: s * gain.rows(i), 10, np.random.default_rng(0)
        ).indices
        assert (
            picks.tolist() == batch_rules.diverse(gain.scores, gain.rows, 10, np.random.default_rng(0)).indices.tolist()
        )


@pytest.mark.parametrize("score", ["log", "spherical"])
def test_gain_rows_of_many_points_are_clustered_in_few_columns_with_the_same_distances(score):
    probs = predictions(np.random.default_rng(0), 5, 900, 3).astype(np.float32)
    rows = bemps.expected_gain(probs, probs[:, :400], score=score).matrix()
    few = batch_rules._in_few_columns(rows, 10)
    assert few.shape[1] < 150
    pairs = np.random.default_rng(1).integers(len(rows), size=(2, 2_000))
    long, short = (np.linalg.norm(some[pairs[0]] - some[pairs[1]], axis=1) for some in (rows, few))
    long, short = long / long.mean(), short / short.mean()
    assert short == pytest.approx(long, abs=1e-3)
    picks, labels = batch_rules.representatives(rows, 10, np.random.default_rng(2))
    centres = np.stack([rows[labels == cluster].mean(axis=0) for cluster in range(10)])
    nearest = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.98  # k-means of the long rows: few would still move
    assert len(set(picks.tolist())) == 10


@pytest.mark.parametrize("factor", [2.0**-120, 2.0**100])
def test_long_rows_of_any_scale_cluster_alike(factor):
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(600, 5)) @ rng.normal(size=(5, 200))).astype(np.float32)
    one, other = (
        batch_rules.representatives(some, 10, np.random.default_rng(1)) for some in (rows, rows * np.float32(factor))
    )
    assert one[0].tolist() == other[0].tolist()
    assert one[1].tolist() == other[1].tolist()
    same = batch_rules.representatives(np.ones_like(rows), 10, np.random.default_rng(1))[0]  # equal rows
    assert len(set(same.tolist())) == 10


@pytest.mark.parametrize(("V", "D", "n"), [(300, 100, 10), (300, 200, 10), (900, 400, 5), (900, 400, 50)])
def test_rows_stay_as_they_are_where_fewer_columns_would_not_pay(V, D, n):
    rows = np.random.default_rng(0).normal(size=(V, D))  # of full rank; few columns, few rows, few clusters
    assert batch_rules._in_few_columns(rows, n) is rows


def test_representatives_far_from_the_origin_are_the_nearest():
    rng = np.random.default_rng(0)
    rows = (100 + 0.1 * rng.normal(size=(500, 16))).astype(np.float32)
    picks, labels = batch_rules.representatives(rows, 10, rng)
    for i, pick in enumerate(picks):
        centre = rows[labels == i].astype(float).mean(0)
        distance = np.linalg.norm(rows.astype(float) - centre, axis=1)
        assert (distance < distance[pick]).sum() <= 1  # a taken neighbour may be nearer
