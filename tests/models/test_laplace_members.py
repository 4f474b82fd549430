import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemps._utils.numerics import curvature, softmax
from bemps.models.linear.laplace_posterior import COVARIANCES, deviations
from bemps.models.linear.logistic_regression import map_weights, principal_axes
from bemps.models.linear.spectral_classifiers import SpectralLaplace, SpectralLogistic

DIGITS = load_digits()
X, Y = (DIGITS.data / 16).astype(np.float32), DIGITS.target
CLASSES = [str(digit) for digit in range(10)]
SAMPLES = 20_000


def small_problem():
    """Six labelled rows of three classes in eight features: fewer labels than features."""
    rng = np.random.default_rng(0)
    H, labels = rng.normal(size=(6, 8)), np.array([0, 1, 2, 0, 1, 2])
    axes = principal_axes(H)
    probs = softmax(H @ (axes.V @ map_weights(axes, labels, 3)))
    return H, axes, probs


def sampled_covariance(name):
    H, axes, probs = small_problem()
    drawn = deviations(COVARIANCES[name], axes, probs, SAMPLES, np.random.default_rng(1))
    flat = drawn.transpose(1, 0, 2).reshape(SAMPLES, -1)  # members by (feature, class)
    assert np.abs(flat.mean(axis=0)).max() < 5 / np.sqrt(SAMPLES)
    return H, probs, flat.T @ flat / SAMPLES


def test_full_samples_have_the_inverse_of_the_dense_hessian_as_covariance():
    H, probs, found = sampled_covariance("full")
    hessian = np.eye(24)
    for h, q in zip(H, probs, strict=True):
        hessian += np.kron(np.outer(h, h), np.diag(q) - np.outer(q, q))
    assert found == pytest.approx(np.linalg.inv(hessian), abs=0.04)


def test_shared_samples_have_the_covariance_of_the_closed_form():
    H, probs, found = sampled_covariance("shared")
    A = np.linalg.inv((H * curvature(probs)[:, None]).T @ H + np.eye(8))
    assert found == pytest.approx(np.kron(A, np.eye(3)), abs=0.04)


@pytest.mark.parametrize("covariance", sorted(COVARIANCES))
def test_temperature_scales_the_spread_around_the_map(covariance):
    spreads = []
    for temperature in (0.01, 1.0):
        model = SpectralLaplace(X, members=8, temperature=temperature, covariance=covariance)
        model.fit(X[:60], Y[:60], CLASSES, np.random.default_rng(0))
        spreads.append(model.member_weights_ - model.weights_[:, None, :])
    assert spreads[1] == pytest.approx(10 * spreads[0])


def test_members_lie_around_the_map_with_the_covariance_of_the_posterior():
    few, many = (SpectralLaplace(X, members=E, temperature=1.0) for E in (2, 200))
    for model in (few, many):
        model.fit(X[:60], Y[:60], CLASSES, np.random.default_rng(0))
        assert model.member_weights_.mean(axis=1) == pytest.approx(model.weights_)
    spreads = [(m.member_weights_ - m.weights_[:, None, :]).var(axis=1).mean() for m in (few, many)]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.2)


def test_cold_members_agree_with_the_map_classifier():
    model = SpectralLaplace(X, members=3, temperature=1e-10)
    model.fit(X[:60], Y[:60], CLASSES, np.random.default_rng(0))
    alone = SpectralLogistic(X).fit(X[:60], Y[:60], CLASSES, np.random.default_rng(0))
    assert np.abs(model.predict(X) - alone.predict(X)).max() < 1e-3


def test_members_are_surer_where_there_are_labels():
    model = SpectralLaplace(X, members=50, temperature=1.0)
    seen = np.flatnonzero(Y < 5)[:100]
    model.fit(X[seen], Y[seen], CLASSES, np.random.default_rng(0))
    logits = model.features(X) @ model.member_weights_.reshape(model.weights_.shape[0], -1)
    spread = logits.reshape(len(X), 50, 10).std(axis=1)[:, :5].mean(axis=1)
    share_of_prior = spread / np.linalg.norm(model.features(X), axis=1)
    assert share_of_prior[seen].mean() < 0.9 * share_of_prior[Y >= 5].mean()


def test_many_classes_and_features_fit_in_memory():
    rng = np.random.default_rng(0)
    H, labels = rng.normal(size=(154, 384)) / 8, np.arange(154) % 77
    axes = principal_axes(H)
    probs = softmax(H @ (axes.V @ map_weights(axes, labels, 77)))
    # The dense Hessian would have 29,568^2 entries: 7 GB.
    drawn = deviations(COVARIANCES["full"], axes, probs, 3, rng)
    assert drawn.shape == (384, 3, 77)
    assert 0.5 < drawn.std() < 1


def test_with_many_classes_the_members_still_predict_what_the_map_does():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, 40))
    codes = np.concatenate([np.arange(60), rng.integers(60, size=60)])
    x, x_new = (centres[y] + 0.5 * rng.standard_normal((len(y), 40)) for y in (codes, np.arange(600) % 60))
    pool, classes = np.concatenate([x, x_new]), [str(k) for k in range(60)]

    def accuracy(**options):
        model = SpectralLaplace(pool, members=10, **options).fit(x, codes, classes, np.random.default_rng(1))
        found = (model.predict(x_new).mean(0), model.predict_map(x_new))
        return [float((probs.argmax(1) == np.arange(600) % 60).mean()) for probs in found]

    members, best = accuracy()
    assert best > 0.8
    assert members > best - 0.05
    assert accuracy(temperature=0.1)[0] < best - 0.1  # what ten classes bear is too much for sixty
