"""Closed-form Laplace gains: the limit of sampled members, and downdates against refactorising from scratch."""

import numpy as np
import pytest

import bemps
from bemps import InputError, scores
from bemps._utils.numerics import curvature
from bemps.acquisition.closed_form import spectral_smoother
from bemps.gain import closed_form_gain
from bemps.gain.closed_form_gain import LinearItems, laplace_gain
from bemps.gain.general import GeneralKernel


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def problem(rng, N, H, K, dtype=np.float64):
    features = np.concatenate([rng.normal(size=(N, H - 1)), np.ones((N, 1))], axis=1).astype(dtype)
    return features, softmax(features @ rng.normal(size=(H, K)))


@pytest.mark.parametrize("score", ["log", "brier"])
def test_traces_are_those_of_the_matrices(score):
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(4), size=6)
    S = [[np.diag(q) - np.outer(q, q) for q in side] for side in (a, b)]
    wanted = [[np.trace(s @ (t / 2 if score == "log" else t @ t)) for t in S[1]] for s in S[0]]
    assert np.allclose(closed_form_gain.trace_terms(a, b, score), wanted, atol=1e-14)


@pytest.mark.parametrize("score", ["log", "brier"])
def test_limit_of_many_sampled_members(score):
    """Logits with posterior covariance c(x,x') I: the gain of very many members tends to the closed form as c -> 0."""
    rng = np.random.default_rng(1)
    K, points = 3, 4
    z0 = rng.normal(size=(points, K))
    base = rng.normal(size=(points, 3))
    errors = []
    for size in (0.3, 0.05, 0.005):
        z = base * np.sqrt(size / (base**2).sum(1).mean())
        noise = rng.normal(size=(100_000, 3, K))
        noise = np.concatenate([noise, -noise])  # antithetic: the mean stays at the MAP
        members = softmax(z0 + np.einsum("nh,ehk->enk", z, noise))
        G, uniform = scores.score(score).G, np.full(len(members), 1 / len(members))
        sampled = GeneralKernel(members[:, :2], members, G, uniform)(np.arange(2))
        closed = closed_form_gain.laplace_gain(
            closed_form_gain.LinearItems(z[:2], softmax(z0)[:2]), closed_form_gain.LinearItems(z, softmax(z0)), score
        )
        errors.append(np.abs(closed - sampled).max() / sampled.max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < 0.08
    assert errors[2] < 0.03


@pytest.mark.parametrize("score", ["log", "brier"])
def test_downdates_equal_refactorising_after_every_pick(score):
    rng = np.random.default_rng(2)
    features, q = problem(rng, 40, 6, 3)
    labelled, labelled_q = features[:8], q[:8]
    l2 = 0.7

    def from_scratch(picked):
        H_L = np.concatenate([labelled, features[picked]])
        d = curvature(np.concatenate([labelled_q, q[picked]]))
        A = np.linalg.inv(H_L.T @ np.diag(d) @ H_L + l2 * np.eye(6))
        c = features @ A @ features.T
        gain = c**2 * closed_form_gain.trace_terms(q, q, score) / (1 + np.diag(c) * curvature(q))[:, None]
        return gain.mean(1)

    white = closed_form_gain.whitening_matrix(labelled, curvature(labelled_q), l2=l2)
    here = closed_form_gain.LinearItems(features @ white, q)
    greedy = closed_form_gain.GreedyLaplace(here, here, score)
    picked = []
    assert np.allclose(greedy.scores, closed_form_gain.laplace_gain(here, here, score).mean(1))
    for _ in range(12):
        assert np.allclose(greedy.scores, from_scratch(picked), rtol=1e-9)
        best = int(np.argmax(np.where(np.isin(np.arange(40), picked), -1, greedy.scores)))
        picked.append(best)
        greedy.pick(best)
    chosen, _ = closed_form_gain.greedy_batch(here, here, 12, score)
    assert chosen.tolist() == picked
    selected = bemps.select(
        q[None], 12, f"core{'mse' if score == 'brier' else 'log'}-laplace", features=features,
        labelled_features=labelled, labelled_probs=labelled_q, l2=l2,
    )  # fmt: skip
    assert selected.indices.tolist() == picked


def test_float32_picks_the_same():
    rng = np.random.default_rng(3)
    features, q = problem(rng, 300, 8, 4)
    picks = [
        bemps.select(q[None], 20, "corelog-laplace", features=features.astype(t), labelled_features=features[:20])
        for t in (np.float32, np.float64)
    ]
    assert picks[0].indices.tolist() == picks[1].indices.tolist()


def test_greedy_avoids_what_a_pick_has_told():
    """Two groups of near-copies: the second pick is of the other group, though the first has the larger gains."""
    rng = np.random.default_rng(0)
    features = np.repeat([[3.0, 0, 1], [0, 2.5, 1]], 30, axis=0) + 0.01 * rng.normal(size=(60, 3))
    q = np.full((60, 2), 0.5)
    picks = bemps.select(q[None], 2, "corelog-laplace", features=features, labelled_features=np.zeros((0, 3))).indices
    assert {int(i) // 30 for i in picks} == {0, 1}


def test_margin_restricts_the_candidates():
    rng = np.random.default_rng(5)
    features, q = problem(rng, 500, 5, 3)
    size = max(30, int(np.ceil(500 * (1 - q.max(1)).mean())))
    near = set(np.argsort(np.diff(np.sort(q, axis=1)[:, -2:], axis=1)[:, 0])[:size].tolist())
    chosen = bemps.select(q[None], 3, "corelog-laplace-margin", features=features, labelled_features=features[:9])
    assert set(chosen.indices.tolist()) <= near


def test_a_pool_beyond_the_memory_limit_keeps_the_best_candidates():
    rng = np.random.default_rng(6)
    features, q = problem(rng, 2_000, 5, 3)
    given = {"features": features, "labelled_features": features[:20], "estimation_size": 200}
    whole = bemps.select(q[None], 5, "corelog-laplace", **given)
    with bemps.limits(memory=2**21):
        part = bemps.select(q[None], 5, "corelog-laplace", **given)
    assert part.indices[0] == whole.indices[0]
    assert part.scores.sum() > 0.9 * whole.scores.sum()


def test_estimation_pool_of_other_items_needs_their_features():
    rng = np.random.default_rng(7)
    features, q = problem(rng, 50, 5, 3)
    given = {"features": features[:30], "labelled_features": features[:5], "estimation": q[None, 30:]}
    with pytest.raises(bemps.InputError, match="estimation_features"):
        bemps.select(q[None, :30], 2, "corelog-laplace", **given)
    chosen = bemps.select(q[None, :30], 2, "corelog-laplace", estimation_features=features[30:], **given)
    assert len(chosen) == 2


def test_only_log_and_brier_have_a_closed_form():
    with pytest.raises(bemps.InputError, match="closed form"):
        closed_form_gain.trace_terms(np.eye(2), np.eye(2), "spherical")


def test_smoothed_vectors_by_hand():
    """Components times their standard deviations, of root-mean-square norm 2.5, and a bias; the rest is dropped."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(2000, 3)) @ np.diag([3.0, 1.0, 1e-4]) + 7.0
    features = spectral_smoother(pool)(pool)
    assert features.shape == (2000, 3)  # two directions and the bias
    np.testing.assert_allclose(features[:, -1], 2.5 * 0.35)
    np.testing.assert_allclose((features[:, :-1] ** 2).sum(1).mean(), 2.5**2, rtol=1e-3)
    spread = features[:, :-1].std(0)
    np.testing.assert_allclose(spread[0] / spread[1], (pool[:, 0].std() / pool[:, 1].std()) ** 2, rtol=0.02)
    same = np.ones((4, 3))
    assert spectral_smoother(same)(same).shape == (4, 1)  # nothing varies: the bias alone


def test_ties_are_the_literal_greedy_of_balanced_gains():
    rng = np.random.default_rng(1)
    vectors, q = problem(rng, 120, 6, 3)
    labelled = vectors[:12]
    known = rng.dirichlet(np.ones(3), size=12)
    found = bemps.select(
        q[None], 4, "corelog-ties", embeddings=vectors, labelled_embeddings=labelled, labelled_probs=known, floor=6
    )
    features, told = map(spectral_smoother(vectors), (vectors, labelled))
    ordered = np.sort(q, axis=1)
    size = max(24, int(np.ceil(120 * (1 - q.max(1)).mean() ** 3)))
    kept = np.argsort(ordered[:, -1] - ordered[:, -2])[:size]
    weights = (q / q.mean(0)).sum(1) / (q / q.mean(0)).sum()
    precision = told.T @ (told * curvature(known)[:, None]) + np.eye(features.shape[1])
    picks = []
    for _ in range(4):  # every gain anew after every pick
        z = features @ np.linalg.inv(np.linalg.cholesky(precision)).T
        gains = laplace_gain(LinearItems(z, q), LinearItems(z, q), "log") @ weights
        picks.append(max((i for i in kept if i not in picks), key=lambda i: gains[i]))
        precision += curvature(q[picks[-1:]])[0] * np.outer(features[picks[-1]], features[picks[-1]])
    assert found.indices.tolist() == picks


def test_ties_take_near_ties_where_the_model_is_sure_and_everything_where_it_doubts():
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(400, 5))
    sure = rng.dirichlet([20.0, 0.5, 0.5], size=400)
    chosen = bemps.select(sure[None], 10, "corelog-ties", embeddings=vectors, labelled_embeddings=vectors[:9])
    ordered = np.sort(sure, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    assert (margins[chosen.indices] <= np.sort(margins)[49]).all()  # of the 5 B smallest
    doubting = np.full((400, 3), 1 / 3)
    chosen = bemps.select(doubting[None], 10, "corelog-ties", embeddings=vectors, labelled_embeddings=vectors[:9])
    assert len(set(chosen.indices.tolist())) == 10


def test_margin_clusters_weigh_near_ties_by_literal_balanced_gains():
    rng = np.random.default_rng(1)
    features, q = problem(rng, 120, 6, 3)
    known = rng.dirichlet(np.ones(3), size=12)
    given = {"features": features, "labelled_features": features[:12], "labelled_probs": known}
    found = bemps.select(q[None], 4, "corelog-margin-km", embeddings=features[:, :4], **given)
    ordered = np.sort(q, axis=1)
    near = np.argsort(ordered[:, -1] - ordered[:, -2])[:40]
    weights = (q / q.mean(0)).sum(1) / (q / q.mean(0)).sum()
    precision = features[:12].T @ (features[:12] * curvature(known)[:, None]) + np.eye(6)
    z = features @ np.linalg.inv(np.linalg.cholesky(precision)).T
    gains = laplace_gain(LinearItems(z, q), LinearItems(z, q), "log") @ weights
    assert found.scores == pytest.approx(gains[found.indices], rel=1e-4)
    assert sorted(np.concatenate(found.clusters)) == sorted(near)
    assert all(pick in cluster for pick, cluster in zip(found.indices, found.clusters, strict=True))


def test_of_two_groups_of_ties_the_one_that_tells_more_gets_more_picks():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    embeddings = rng.normal(size=(40, 2)) + 4.0 * group[:, None]
    features = np.array([4.0, 0.2])[group][:, None] * np.ones((40, 3))  # the second group's labels tell next to nothing
    q = np.full((1, 40, 2), 0.5)
    given = {"embeddings": embeddings, "features": features, "labelled_features": np.zeros((0, 3))}

    def picks_of_the_first(name):
        return sum(int((group[bemps.select(q, 10, name, seed=seed, **given).indices] == 0).sum()) for seed in range(8))

    assert picks_of_the_first("corelog-margin-km") > 1.2 * picks_of_the_first("margin-km")


def test_ties_need_embeddings_of_the_labelled_items():
    q = np.full((1, 30, 3), 1 / 3)
    with pytest.raises(InputError, match="labelled_embeddings"):
        bemps.select(q, 2, "corelog-ties", embeddings=np.eye(30))


def test_where_memory_is_short_the_weights_of_the_points_still_decide_who_stays():
    """A point of its own direction, which only the last item shares, carries all the weight."""
    rng = np.random.default_rng(8)
    z = np.column_stack([rng.normal(size=(2_000, 4)), np.zeros(2_000)])
    z[-1] = [0, 0, 0, 0, 0.1]
    here = LinearItems(z, rng.dirichlet(np.ones(3), size=2_000))
    there = here[np.r_[0:199, 1_999]]
    with bemps.limits(memory=2**20):  # a tenth of the candidates fits
        picks, _ = closed_form_gain.greedy_batch(here, there, 1, "log", np.eye(200)[-1])
    assert picks.tolist() == [1_999]


def test_a_whitener_of_large_features_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    for rows in (rng.normal(size=(9, 4)), rng.normal(size=(2, 4))):
        d = rng.uniform(0.1, 0.3, size=len(rows))
        exact = np.linalg.inv((rows * d[:, None]).T @ rows + 0.7 * np.eye(4)) * 1.3
        for made in (
            closed_form_gain.whitening_matrix(rows, d, l2=0.7, temperature=1.3),
            closed_form_gain._whitener_by_directions(rows * np.sqrt(d)[:, None], 0.7, 1.3),
        ):
            assert np.allclose(made @ made.T, exact)
