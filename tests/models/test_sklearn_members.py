import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bemps.errors import InputError
from bemps.models.base import Diverged
from bemps.models.scikit_learn.estimators import seeded_clone, weight_argument
from bemps.models.scikit_learn.forest import ForestMembers
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble
from bemps.models.validation_splits import Fixed

DIGITS = load_digits()
X, Y = DIGITS.data / 16, DIGITS.target
CLASSES = [str(digit) for digit in range(10)]


def fitted(model, labels=60, seed=0):
    return model.fit(X[:labels], Y[:labels], CLASSES, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LogisticRegression(), "sample_weight"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "logisticregression__sample_weight"),
        (KNeighborsClassifier(), None),
    ],
)
def test_weights_find_their_way_into_pipelines(estimator, name):
    assert weight_argument(estimator) == name


def test_every_random_state_is_seeded_also_inside():
    estimator = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    first, second = (seeded_clone(estimator, np.random.default_rng(s)) for s in (0, 1))
    assert first[-1].random_state != second[-1].random_state
    assert estimator[-1].random_state is None


def test_dirichlet_members_learn_from_weights_and_agree_with_weighted_fits():
    model = fitted(SklearnEnsemble(LogisticRegression(), members=3, smoothing=0.0))
    probs = model.predict(X[60:])
    plain = LogisticRegression().fit(X[:60], Y[:60]).predict_proba(X[60:])
    assert np.abs(probs - plain).max() > 0.01
    assert (probs.mean(0).argmax(1) == Y[60:]).mean() > 0.7


def test_without_sample_weight_the_bayesian_bootstrap_is_refused_not_replaced():
    with pytest.raises(InputError, match="resample='bootstrap'"):
        fitted(SklearnEnsemble(KNeighborsClassifier()))
    assert fitted(SklearnEnsemble(KNeighborsClassifier(), resample="bootstrap")).predict(X[:5]).shape == (5, 5, 10)


def test_no_resampling_of_a_deterministic_estimator_gives_equal_members():
    probs = fitted(SklearnEnsemble(GaussianNB(), members=2, resample="none")).predict(X[:9])
    assert np.array_equal(probs[0], probs[1])


def test_classes_missing_from_a_members_sample_keep_their_column():
    labels = Y[:12].copy()
    model = SklearnEnsemble(LogisticRegression(), members=20, resample="bootstrap", smoothing=0.0)
    model.fit(X[:12], labels, CLASSES, np.random.default_rng(0))
    probs = model.predict(X[:30])
    known = [set(member.codes) for member in model.members_]
    assert len({frozenset(codes) for codes in known}) > 1
    for e, codes in enumerate(known):
        unseen = sorted(set(range(10)) - codes)
        assert (probs[e][:, unseen] == 0).all()
    assert np.allclose(probs.sum(-1), 1)


def test_a_single_class_is_predicted_with_room_for_doubt():
    model = SklearnEnsemble(LogisticRegression(), members=2)
    model.fit(X[:4], np.full(4, 7), CLASSES, np.random.default_rng(0))
    row = model.predict(X[:1])[0, 0]
    assert row[7] == pytest.approx(4.1 / 5)
    assert row[0] == pytest.approx(0.1 / 5)


def test_warnings_of_scikit_learn_do_not_leak():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(SklearnEnsemble(LogisticRegression(max_iter=1), members=2), labels=11)
        model.predict(X)


@pytest.mark.parametrize("estimator", [Perceptron(), "logistic", LogisticRegression])
def test_what_has_no_probabilities_is_refused(estimator):
    with pytest.raises(InputError):
        fitted(SklearnEnsemble(estimator))


@pytest.mark.parametrize(
    "options",
    [
        {"resample": "jackknife"},
        {"weighting": "likelyhood"},
        {"validation": "dinamic"},
        {"calibrate": True},
        {"weighting": "likelihood"},
        {"members": 0},
    ],
)
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(InputError):
        fitted(SklearnEnsemble(GaussianNB(), **options))


def test_an_estimator_that_keeps_failing_is_reported_with_its_cause():
    class Broken(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise FloatingPointError("overflow in the loss")

    with pytest.raises(Diverged, match="overflow in the loss"):
        fitted(SklearnEnsemble(Broken()))


def test_probabilities_that_are_nan_are_reported():
    class Lost(GaussianNB):
        def predict_proba(self, items):
            return np.full((len(items), 10), np.nan)

    with pytest.raises(Diverged):
        fitted(SklearnEnsemble(Lost(), validation="dynamic"))


def test_likelihood_weights_prefer_members_that_explain_the_held_out_labels():
    fixed = Fixed(X[500:700], Y[500:700])
    model = fitted(SklearnEnsemble(DecisionTreeClassifier(), members=6, validation=fixed, weighting="likelihood"))
    scores = [member.log_likelihood for member in model.members_]
    assert model.weights.sum() == pytest.approx(1)
    assert model.weights.argmax() == int(np.argmax(scores))
    uniform = fitted(SklearnEnsemble(DecisionTreeClassifier(), members=6)).weights
    assert uniform == pytest.approx(np.full(6, 1 / 6))


def test_calibration_makes_overconfident_members_less_sure():
    fixed = Fixed(X[500:700], Y[500:700])
    sharp = GaussianNB()
    plain = fitted(SklearnEnsemble(sharp, validation=fixed, resample="none", members=1))
    tempered = fitted(SklearnEnsemble(sharp, validation=fixed, resample="none", members=1, calibrate=True))
    rows = np.arange(700, 1797)

    def loss(model):
        return -np.log(model.predict(X[rows])[0, np.arange(len(rows)), Y[rows]]).mean()

    assert tempered.members_[0].temperature > 1
    assert loss(tempered) < loss(plain)


@pytest.mark.parametrize(
    "forest",
    [RandomForestClassifier(12), ExtraTreesClassifier(12), make_pipeline(StandardScaler(), ExtraTreesClassifier(12))],
)
def test_trees_are_members_and_average_to_the_forest(forest):
    model = fitted(ForestMembers(forest, smoothing=0.0))
    probs = model.predict(X[60:])
    assert probs.shape == (12, len(X) - 60, 10)
    assert probs.mean(0) == pytest.approx(model.fitted_.predict_proba(X[60:]), abs=1e-6)


def test_what_is_no_forest_is_refused():
    for estimator in (GradientBoostingClassifier(), DummyClassifier()):
        with pytest.raises(InputError, match="SklearnEnsemble"):
            fitted(ForestMembers(estimator))


@pytest.mark.parametrize(
    "model",
    [
        SklearnEnsemble(LogisticRegression(C="much"), members=2),
        SklearnEnsemble(make_pipeline(TfidfVectorizer(ngram_range=([1], 2)), LogisticRegression()), members=2),
        SklearnEnsemble(make_pipeline(TfidfVectorizer(token_pattern="(*"), LogisticRegression()), members=2),
        ForestMembers(RandomForestClassifier(max_depth="deep")),
    ],
)
def test_an_estimator_that_cannot_be_fitted_is_refused_in_a_sentence(model):
    with pytest.raises(InputError, match="settings and items that it can be fitted with"):
        model.fit(["a b", "b c", "c d", "d e"], np.array([0, 1, 0, 1]), ["x", "y"], np.random.default_rng(0))
