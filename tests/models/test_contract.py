"""Every model that needs no torch keeps the contract."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from bemps.models.encoders.tfidf import tfidf_classifier, tfidf_vectors
from bemps.models.from_file import FromFile
from bemps.models.linear.spectral_classifiers import SpectralLaplace, SpectralLogistic
from bemps.models.scikit_learn.forest import ForestMembers
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble
from bemps.testing import MODEL_CHECKS, ModelCase, model_contract

DIGITS = load_digits(n_class=4)
X, Y = (DIGITS.data / 16).astype(np.float32), DIGITS.target
FEW, CLASSES = np.arange(40), ["zero", "one", "two", "three"]

TEXTS = {
    "food": [
        "Knead the dough until it is smooth and let it rise for an hour.",
        "The soup needs salt, a bay leaf and another potato.",
        "Fry the onions slowly in butter before the rice goes in.",
        "This bakery sells the best rye bread in town.",
        "Roast the carrots with honey and serve the bread warm.",
        "A good soup starts with onions fried in butter.",
    ],
    "weather": [
        "Heavy rain and wind are expected along the coast tonight.",
        "The storm passed and the sky was clear by noon.",
        "Snow fell all night, and the wind blew it across the road.",
        "Tomorrow will be sunny with a light wind from the south.",
        "The forecast says rain in the morning and fog at night.",
        "A cold front brings snow and wind to the coast.",
    ],
    "football": [
        "The striker scored twice in the second half of the match.",
        "Their goalkeeper saved a penalty and the team won.",
        "The match ended without a goal after extra time.",
        "The coach changed the team before the final.",
        "A late goal gave the team its first win of the season.",
        "The referee stopped the match and gave a penalty.",
    ],
}
SENTENCES = [text for texts in TEXTS.values() for text in texts]
TOPICS = np.repeat(np.arange(3), 6)


@pytest.fixture(scope="session")
def probabilities_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("members") / "probs.npz"
    np.savez(path, probs=np.random.default_rng(0).dirichlet(np.ones(4), (3, 40)), ids=np.arange(40))
    return path


def digits(name, make, **options):
    return ModelCase(name, make, X[FEW], Y[FEW], CLASSES, **options)


def texts(name, make, **options):
    return ModelCase(name, make, SENTENCES, TOPICS, list(TEXTS), **options)


CASES = [
    digits("logistic", lambda: SklearnEnsemble(LogisticRegression(), members=3)),
    digits("naive-bayes", lambda: SklearnEnsemble(GaussianNB(), members=3, validation="dynamic", calibrate=True)),
    digits("neighbours", lambda: SklearnEnsemble(KNeighborsClassifier(2), members=4, resample="bootstrap")),
    digits(
        "weighted-trees",
        lambda: SklearnEnsemble(DecisionTreeClassifier(), members=4, validation="constant", weighting="likelihood"),
    ),
    digits("random-forest", lambda: ForestMembers(RandomForestClassifier(5))),
    digits("extra-trees", lambda: ForestMembers(ExtraTreesClassifier(5))),
    digits("spectral-logistic", lambda: SpectralLogistic(X), members_differ=False),
    digits("spectral-laplace", lambda: SpectralLaplace(X, members=4)),
    digits("spectral-laplace-shared", lambda: SpectralLaplace(X, members=4, covariance="shared", temperature=1.0)),
    texts("tfidf", lambda: SklearnEnsemble(tfidf_classifier(), members=3)),
    texts("tfidf-forest", lambda: ForestMembers(tfidf_classifier(RandomForestClassifier(10)))),
    texts(
        "tfidf-spectral",
        lambda: SpectralLaplace(
            SENTENCES, members=4, encode=tfidf_vectors(SENTENCES, dimensions=8, rng=np.random.default_rng(0))
        ),
    ),
]


@model_contract(*CASES)
def test_models(case, check):
    check(case)


@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__)
def test_probabilities_from_a_file(check, probabilities_file):
    ids = np.arange(40)
    check(ModelCase("file", lambda: FromFile(probabilities_file), ids, Y[FEW], CLASSES, learns=False))
