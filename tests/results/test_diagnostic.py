"""Predicted against realised gain."""

import numpy as np
import pytest

import bemps
from bemps.results import gain_diagnostic
from bemps.results.predicted_gain import brier


class FiniteModels:
    """A posterior that is exactly right: a few known models, weighted by the likelihood of the labels."""

    def __init__(self, models, good=True):
        self.models, self.good = models, good

    def fit(self, items, labels, classes, rng):
        likelihood = np.log(self.models[:, items[:, 0].astype(int), labels]).sum(1)
        w = np.exp(likelihood - likelihood.max())
        self.weights = w / w.sum() if self.good else np.full(len(w), 1 / len(w))
        return self

    def predict(self, items):
        return self.models[:, items[:, 0].astype(int)]


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    inputs = np.arange(60)[:, None].astype(float)
    models = rng.dirichlet(np.full(3, 0.3), size=(12, 60)).clip(1e-3)
    models /= models.sum(-1, keepdims=True)
    truth = np.array([rng.choice(3, p=models[0, i]) for i in range(60)])
    return models, inputs, truth


def call(model, inputs, truth, **options):
    parts = [(inputs[s], truth[s]) for s in (slice(0, 2), slice(2, 40), slice(40, 60))]
    return gain_diagnostic(model, *parts, ["a", "b", "c"], **options)


def test_a_right_posterior_predicts_what_is_realised(world):
    models, inputs, truth = world
    seen = []
    found = call(FiniteModels(models), inputs, truth, batch_size=1, batches=38, progress=lambda *a: seen.append(a))
    assert found.predicted.shape == found.realised.shape == (38,)
    assert found.correlation > 0.2
    assert seen[-1] == (38, 38)
    assert "rank correlation" in str(found)


def test_labels_that_teach_nothing_realise_nothing(world):
    models, inputs, truth = world
    stuck = FiniteModels(models, good=False)
    found = call(stuck, inputs, truth, batch_size=2, batches=4)
    assert (found.correlation, found.p_value) == (0.0, 1.0)
    assert (found.realised == 0).all()
    assert (found.predicted > 0).all()


def test_refuses_members_that_agree(world):
    models, inputs, truth = world
    same = np.repeat(models[:1], 5, axis=0)
    with pytest.raises(bemps.InputError, match="members that differ"):
        call(FiniteModels(same), inputs, truth, batch_size=2, batches=4)


def test_on_digits_with_an_ensemble_it_is_reproducible():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    x, y = load_digits(return_X_y=True)
    model = SklearnEnsemble(LogisticRegression(C=30, max_iter=100), members=5)
    parts = [(x[s] / 16, y[s]) for s in (slice(0, 30), slice(30, 800), slice(800, 1200))]
    names = [str(k) for k in range(10)]
    found, again = (gain_diagnostic(model, *parts, names, batch_size=20, batches=6, seed=1) for _ in range(2))
    assert np.array_equal(found.realised, again.realised)
    assert found.realised.mean() > 0.01  # twenty labels more help


def test_brier_by_hand():
    assert brier(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1])) == pytest.approx((0.5 + 2.0) / 2)
