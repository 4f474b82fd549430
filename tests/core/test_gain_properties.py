"""What must hold for any predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import predictions, weights_for

import bemps
from bemps.gain.member_posterior import mean_prediction, mutual_information, phi, ratio_to_mean
from bemps.scores import SoftZeroOne

NAMES = ["brier", "log", "spherical", "power", "zero-one", "soft-zero-one"]


@st.composite
def ensembles(draw):
    """probs, estimation, weights of any small shape, apart and zeros."""
    E, N, M, K = (draw(st.integers(1, high)) for high in (6, 8, 8, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    apart = draw(st.sampled_from([0.0, 1e-3, 0.1, 1.0, 5.0]))
    zeros = draw(st.sampled_from([0.0, 0.0, 0.4]))
    probs, estimation = (predictions(rng, E, count, K, apart=apart, zeros=zeros) for count in (N, M))
    return probs, estimation, weights_for(rng, E)


@settings(deadline=None, max_examples=60)
@given(ensembles(), st.sampled_from(NAMES))
def test_gains_are_between_zero_and_the_remaining_gain(case, name):
    probs, estimation, weights = case
    gain = bemps.expected_gain(probs, estimation, score=name, weights=weights)
    remaining = bemps.remaining_gain(estimation, score=name, weights=weights)
    assert (gain.matrix() >= -1e-12).all()
    assert (gain.scores <= remaining + 1e-12).all()
    assert (gain.standard_error >= 0).all()


@settings(deadline=None, max_examples=40)
@given(ensembles(), st.sampled_from(NAMES))
def test_nothing_to_gain_when_members_agree(case, name):
    probs, estimation, weights = case
    same = np.repeat(probs[:1], len(probs), axis=0)
    assert np.abs(bemps.expected_gain(same, estimation, score=name, weights=weights).matrix()).max() < 1e-12
    alone = bemps.expected_gain(probs[:1], estimation[:1], score=name)
    assert np.abs(alone.matrix()).max() < 1e-12
    assert bemps.remaining_gain(estimation[:1], score=name) < 1e-12


@settings(deadline=None, max_examples=40)
@given(ensembles(), st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_order_of_members_classes_and_candidates_does_not_matter(case, name, random):
    probs, estimation, weights = case
    E, N, K = probs.shape
    e, n, k = (np.array(random.sample(range(size), size)) for size in (E, N, K))
    matrix = bemps.expected_gain(probs, estimation, score=name, weights=weights).matrix()
    moved = bemps.expected_gain(probs[e][:, n][:, :, k], estimation[e][:, :, k], score=name, weights=weights[e])
    assert np.allclose(moved.matrix(), matrix[n], rtol=1e-9, atol=1e-13)


@settings(deadline=None, max_examples=60)
@given(ensembles())
def test_expected_updated_prediction_is_the_prediction(case):
    probs, estimation, weights = case
    q_here, q_there = mean_prediction(probs, weights), mean_prediction(estimation, weights)
    t = np.einsum("e,eny,emz->nymz", weights, ratio_to_mean(probs, q_here), ratio_to_mean(estimation, q_there))
    expected = np.einsum("ny,nymz,mz->nmz", q_here, 1 + t, q_there)
    assert np.allclose(expected, q_there[None], atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(ensembles())
def test_core_log_is_symmetric_mutual_information_below_bald(case):
    """CoreLog[x, x'] = I(y; y' | x, x') of the joint table sum_e w_e p_e(y|x) p_e(y'|x')."""
    probs, _, weights = case
    matrix = bemps.core_log(probs, weights=weights).matrix()
    joint = np.einsum("e,eny,emz->nmyz", weights, probs, probs)
    product = np.einsum("ny,mz->nmyz", *[mean_prediction(probs, weights)] * 2)
    ratio = np.log(np.where(joint > 0, joint / np.where(product > 0, product, 1), 1))
    assert np.allclose(matrix, (joint * ratio).sum((2, 3)), atol=1e-12)
    assert np.allclose(matrix, matrix.T, atol=1e-12)
    bald = mutual_information(probs, weights)
    assert (matrix <= bald[:, None] + 1e-12).all()
    assert (matrix <= bald[None] + 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(ensembles(), st.sampled_from(["brier", "log", "spherical"]))
def test_vectors_have_the_distances_of_the_rows(case, name):
    probs, estimation, weights = case
    gain = bemps.expected_gain(probs, estimation, score=name, weights=weights)
    far, near = (np.linalg.norm(v[:, None] - v[None], axis=-1) for v in (gain.matrix(), gain.vectors))
    assert np.allclose(far, near, rtol=1e-9, atol=1e-12 * (1 + far.max()))
    if name == "brier":
        E, M = len(probs), estimation.shape[1]
        assert gain.vectors.shape[1] == min(M, E * (E - 1) // 2)


@settings(deadline=None, max_examples=40)
@given(ensembles())
def test_soft_zero_one_tends_to_zero_one(case):
    """0 <= logsumexp(k p) / k - max p <= log(K) / k, before and after the label, and so is their difference."""
    probs, estimation, weights = case
    hard = bemps.expected_gain(probs, estimation, score="zero-one", weights=weights).scores
    for k in (10.0, 100.0, 10_000.0):
        soft = bemps.expected_gain(probs, estimation, score=SoftZeroOne(k), weights=weights).scores
        assert np.abs(soft - hard).max() <= np.log(probs.shape[2]) / k + 1e-12


def test_joint_gain_of_one_item_is_its_gain():
    rng = np.random.default_rng(0)
    probs, weights = predictions(rng, 5, 12, 3, zeros=0.2), weights_for(rng, 5)
    scores = bemps.core_mse(probs, weights=weights).scores
    single = [bemps.joint_gain(probs, [i], weights=weights) for i in range(12)]
    assert np.allclose(single, scores, rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(ensembles())
def test_joint_gain_grows_with_the_batch_up_to_the_remaining_gain(case):
    probs, estimation, weights = case
    sizes = range(min(4, probs.shape[1]) + 1)
    gains = [bemps.joint_gain(probs, np.arange(size), estimation, weights=weights) for size in sizes]
    assert gains[0] == 0
    assert (np.diff(gains) >= -1e-12).all()
    assert gains[-1] <= bemps.remaining_gain(estimation, weights=weights) + 1e-12


@pytest.mark.parametrize("t", [-1.0, -0.999, -0.5, -1e-3, -1e-9, 0.0, 1e-12, 1e-3, 7.8e-3, 7.9e-3, 1.0, 99.0])
def test_phi_to_full_accuracy(t):
    import mpmath

    with mpmath.workdps(50):
        exact = (1 + mpmath.mpf(t)) * mpmath.log1p(t) - mpmath.mpf(t) if t > -1 else mpmath.mpf(1)
    assert phi(np.array([t]))[0] == pytest.approx(float(exact), rel=1e-11, abs=0)
