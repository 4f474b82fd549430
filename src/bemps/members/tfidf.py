"""TF-IDF for raw texts, without torch: a classifier for the labelled texts, vectors for the whole pool."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.members.base import Items
from bemps.types import Array


def _vectoriser() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    # One-letter words count: "I" and "a" tell questions and roles apart.
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b|[?!]")


def tfidf_classifier(classifier: Any = None) -> Any:
    """A scikit-learn pipeline from texts to probabilities: TF-IDF of words and word pairs, then `classifier`.

    Without one: logistic regression with C = 10. Members: `SklearnEnsemble(tfidf_classifier())`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if classifier is None:
        classifier = LogisticRegression(C=10.0, max_iter=1000)
    return make_pipeline(_vectoriser(), classifier)


def tfidf_vectors(
    pool: Sequence[str], *, dimensions: int = 256, rng: np.random.Generator
) -> Callable[[Items], Float[Array, "N D"]]:
    """An encoder of texts (latent semantic analysis): TF-IDF fitted on the pool, then its leading directions.

    It is what `SpectralLaplace(pool, encode=tfidf_vectors(pool, rng=rng))` needs to learn from raw texts.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.pipeline import make_pipeline

    vectoriser = _vectoriser().set_params(min_df=2 if len(pool) > 1000 else 1)
    try:
        words = len(vectoriser.fit(pool).vocabulary_)
    except ValueError as cause:  # scikit-learn's word for an empty vocabulary
        raise InputError("pool", expected="texts with words", got=str(cause), fix="Give raw texts.") from cause
    svd = TruncatedSVD(min(dimensions, max(words - 1, 1)), random_state=int(rng.integers(2**31)))
    encoder = make_pipeline(vectoriser, svd).fit(pool)

    def encode(texts: Items) -> Float[Array, "N D"]:
        if len(texts) == 0:
            return np.zeros((0, svd.n_components))
        vectors: Array = encoder.transform(texts)
        return vectors

    return encode
