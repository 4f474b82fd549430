import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB

from bemps.errors import InputError
from bemps.models.encoders.tfidf import tfidf_classifier, tfidf_vectors
from bemps.models.linear.spectral_classifiers import SpectralLogistic
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble


@pytest.fixture(scope="module")
def questions(data_dir):
    """TREC-6 questions of the pool and of the test set, with their types."""
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = [parquet.read_table(data_dir / "trec6" / f"{part}.parquet").to_pydict() for part in ("train", "test")]
    return [(table["text"], np.array(table["label"])) for table in tables]


def test_any_classifier_can_follow_the_words():
    assert type(tfidf_classifier(MultinomialNB())[-1]) is MultinomialNB


def test_vectors_of_texts_are_seeded_and_of_the_asked_length():
    pool = ["a red apple", "a green apple", "red and green", "an apple a day"]
    first, second = (tfidf_vectors(pool, dimensions=2, rng=np.random.default_rng(0)) for _ in range(2))
    assert first(pool).shape == (4, 2)
    assert np.array_equal(first(pool), second(pool))
    assert first([]).shape == (0, 2)
    assert np.isfinite(first(["words never seen"])).all()


@pytest.mark.parametrize(
    "pool",
    [
        ["hello"],
        ["hello", "hello"],
        ["a", "b"],
        ["same text"] * 5,
        ["more words than texts", "so few directions"],
        [f"name{i}" for i in range(1200)],
    ],
)
def test_pools_of_hardly_any_words_have_vectors(pool):
    encode = tfidf_vectors(pool, rng=np.random.default_rng(0))
    assert len(encode(pool)) == len(pool)
    assert np.isfinite(encode([*pool, "other"])).all()
    assert encode([]).shape[1] == encode(pool).shape[1]


def test_a_pool_without_words_is_refused():
    with pytest.raises(InputError):
        tfidf_vectors(["", "..."], rng=np.random.default_rng(0))


def test_real_questions_are_told_apart_without_torch(questions):
    (texts, types), (asked, answers) = questions
    classes = [str(code) for code in range(6)]
    few = np.random.default_rng(0).permutation(len(texts))[:300]
    items, labels = [texts[i] for i in few], types[few]
    words = SklearnEnsemble(tfidf_classifier(), members=3).fit(items, labels, classes, np.random.default_rng(0))
    encode = tfidf_vectors(texts, rng=np.random.default_rng(0))
    spectral = SpectralLogistic(texts, encode=encode).fit(items, labels, classes, np.random.default_rng(0))
    most_common = np.bincount(answers).max() / len(answers)
    for model in (words, spectral):
        assert (model.predict(asked).mean(0).argmax(1) == answers).mean() > most_common + 0.2
