"""Baselines against their definitions."""

from itertools import product

import numpy as np
import pytest
import reference
from making import predictions, weights_for

import bemps
from bemps.acquisition import baselines, clusters
from bemps.acquisition.batchbald import batchbald


@pytest.fixture
def ensemble():
    rng = np.random.default_rng(0)
    return predictions(rng, 4, 30, 3, zeros=0.2), weights_for(rng, 4)


def entropy(p):
    return -sum(x * np.log(x) for x in np.ravel(p) if x > 0)


def test_uncertainty_scores(ensemble):
    probs, w = ensemble
    q = np.einsum("e,enk->nk", w, probs)
    ordered = np.sort(q, axis=1)
    assert np.allclose(baselines.least_confidence(probs, w), 1 - ordered[:, -1])
    assert np.allclose(baselines.margin(probs, w), 1 - (ordered[:, -1] - ordered[:, -2]))
    assert np.allclose(baselines.entropy(probs, w), [entropy(row) for row in q])
    bald = [entropy(q[n]) - sum(w[e] * entropy(probs[e, n]) for e in range(4)) for n in range(30)]
    assert np.allclose(baselines.bald(probs, w), bald)


def test_one_class_only_is_certain():
    probs, w = np.ones((2, 5, 1)), np.full(2, 0.5)
    for score in (baselines.least_confidence, baselines.margin, baselines.entropy, baselines.bald):
        assert np.allclose(score(probs, w), 0)


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0])
def test_wmocu_is_its_definition(ensemble, c):
    probs, w = ensemble
    points = probs[:, :7]
    gain = baselines.wmocu_gain(probs, points, w, np.full(7, 1 / 7), c=c).matrix()
    wanted = [[reference.wmocu(probs[:, n], points[:, m], w, c) for m in range(7)] for n in range(30)]
    assert np.allclose(gain, wanted, atol=1e-12)
    if c == 0:
        assert np.allclose(gain, bemps.expected_gain(probs, points, score="zero-one", weights=w).matrix(), atol=1e-12)


def joint_information(probs, weights, batch):
    """I(y_S; theta) by enumeration."""
    E, _, K = probs.shape
    table = np.array(
        [
            [
                np.prod([probs[e, i, y] for i, y in zip(batch, ys, strict=True)])
                for ys in product(range(K), repeat=len(batch))
            ]
            for e in range(E)
        ]
    )
    return entropy(weights @ table) - sum(weights[e] * entropy(table[e]) for e in range(E))


def test_batchbald_is_greedy_on_joint_information(ensemble):
    probs, w = ensemble
    picks, increments = batchbald(probs, w, 4, np.random.default_rng(0))
    for step in range(4):
        before = list(picks[:step])
        values = {i: joint_information(probs, w, [*before, i]) for i in range(30) if i not in before}
        assert values[picks[step]] == pytest.approx(max(values.values()), abs=1e-10)
        assert increments[: step + 1].sum() == pytest.approx(values[picks[step]], abs=1e-9)


def test_batchbald_sampled_is_near_the_exact_one(ensemble):
    probs, w = ensemble
    exact, _ = batchbald(probs, w, 5, np.random.default_rng(0), samples=3**5)
    sampled, _ = batchbald(probs, w, 5, np.random.default_rng(0), samples=2_000)
    best = joint_information(probs, w, exact)
    assert joint_information(probs, w, sampled) > 0.98 * best
    few, estimated = batchbald(probs, w, 5, np.random.default_rng(1), samples=200)
    assert joint_information(probs, w, few) > 0.95 * best
    assert estimated.sum() == pytest.approx(joint_information(probs, w, few), rel=0.1)


def test_badge_distances_are_those_of_the_gradient_embeddings():
    rng = np.random.default_rng(0)
    probs, w, h = predictions(rng, 3, 40, 4), np.full(3, 1 / 3), rng.normal(size=(40, 6))
    q = probs.mean(0)
    g = (h[:, None, :] * (np.eye(4)[q.argmax(1)] - q)[:, :, None]).reshape(40, -1)
    picks, distances = baselines.badge(probs, w, h, 10, np.random.default_rng(5))
    assert picks[0] == np.linalg.norm(g, axis=1).argmax()
    for step in range(1, 10):
        nearest = min(((g[picks[step]] - g[i]) ** 2).sum() for i in picks[:step])
        assert distances[step] == pytest.approx(nearest, rel=1e-9)


def test_coreset_is_k_centre_greedy():
    rng = np.random.default_rng(0)
    x, labelled = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    picks, distances = baselines.coreset(x, labelled, 6, rng)
    anchors = list(labelled)
    for pick, distance in zip(picks, distances, strict=True):
        nearest = np.array([min(np.linalg.norm(row - a) for a in anchors) for row in x])
        assert pick == nearest.argmax()
        assert distance == pytest.approx(nearest.max())
        anchors.append(x[pick])
    assert len(set(baselines.coreset(x, None, 50, rng)[0])) == 50


def test_typiclust_takes_the_dense_middle_of_clusters_without_a_label():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [20, 0], [0, 20], [20, 20]])
    x = np.concatenate([c + rng.normal(size=(40, 2)) for c in centres])
    picks = clusters.typiclust(x, centres[:1], 3, rng).indices
    assert sorted(int(i) // 40 for i in picks) == [1, 2, 3]
    for i in picks:
        assert np.linalg.norm(x[i] - centres[int(i) // 40]) < 1.0


def test_typiclust_of_a_small_pool_goes_by_typicality_and_not_by_the_order_of_the_file():
    rng = np.random.default_rng(0)
    x = np.concatenate([centre + rng.normal(size=(10, 2)) for centre in ([0.0, 0.0], [30.0, 0.0], [0.0, 30.0])])
    x[::10] += 8.0  # the first of each cluster lies at its edge
    picks = clusters.typiclust(x, None, 30, rng).indices
    assert sorted(picks) == list(range(30))
    assert not {0, 10, 20} & set(picks[:6].tolist())
    assert {int(pick) // 10 for pick in picks[:6]} == {0, 1, 2}


def test_nearest_to_centres_covers_the_clusters():
    rng = np.random.default_rng(0)
    x = np.repeat(10 * np.eye(5), 8, axis=0) + 0.1 * rng.normal(size=(40, 5))
    chosen = clusters.nearest_to_centres(x, 5, rng)
    assert sorted(int(i) // 8 for i in chosen.indices) == [0, 1, 2, 3, 4]
    assert (chosen.scores <= 0).all()
