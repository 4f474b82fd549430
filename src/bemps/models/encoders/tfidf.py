"""TF-IDF for raw texts, without torch: a classifier for the labelled texts, vectors for the whole pool."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.models.base import Items
from bemps.types import Array

RARE_FROM = 1000  # texts from which words of a single one are left out


def _vectoriser() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    # One-letter words count: "I" and "a" tell questions and roles apart.
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b|[?!]")


def tfidf_classifier(classifier: Any = None) -> Any:
    """Make a scikit-learn pipeline from texts to probabilities: TF-IDF of words and word pairs, then a classifier.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        The last step. None takes logistic regression with C = 10.

    Returns
    -------
    scikit-learn pipeline
        An unfitted classifier. `SklearnEnsemble(tfidf_classifier())` makes members of it.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if classifier is None:
        classifier = LogisticRegression(C=10.0, max_iter=1000)
    return make_pipeline(_vectoriser(), classifier)


def _fitted(pool: Sequence[str], least: int) -> Any:
    """The vectoriser of words that are in at least so many texts; in one, where no word is in more."""
    try:
        return _vectoriser().set_params(min_df=least).fit(pool)
    except ValueError as cause:  # scikit-learn's word for an empty vocabulary
        if least > 1:
            return _fitted(pool, 1)
        fix = "Give raw texts, or use vectors without TF-IDF (minilm)."
        raise InputError("pool", expected="texts with words", got=str(cause), fix=fix) from cause


class TfidfEncoder:
    """Latent semantic analysis of texts: TF-IDF fitted on a pool, then its leading directions.

    Parameters
    ----------
    pool : sequence of str
        The texts that words and directions come from.
    dimensions : int, optional
        How many directions there are at most.
    seed : int, optional
        The seed of the random numbers that find the directions.
    """

    def __init__(self, pool: Sequence[str], *, dimensions: int = 256, seed: int = 0) -> None:
        self.pool = pool if isinstance(pool, list) else list(pool)
        self.dimensions, self.seed = dimensions, seed
        self._fitted: tuple[Any, Any, int] | None = None

    def __call__(self, texts: Items) -> Float[Array, "N D"]:
        if self._fitted is None:
            self._fitted = self._fit()
        vectoriser, reduce, width = self._fitted
        if len(texts) == 0:
            return np.zeros((0, width))
        vectors: Array = reduce.transform(vectoriser.transform(texts))
        return vectors

    def arrays(self) -> tuple[list[str], Float[Array, " V"], Float[Array, "V D"]]:
        """The words in the order of the columns of TF-IDF, the weight of each, and the directions."""
        vectoriser, reduce, width = self._fitted = self._fitted or self._fit()
        words = sorted(vectoriser.vocabulary_, key=vectoriser.vocabulary_.__getitem__)
        directions = reduce.components_.T if len(words) > 1 else np.eye(width)
        return words, vectoriser.idf_, directions

    def _fit(self) -> tuple[Any, Any, int]:
        """The vectoriser, what reduces its rows, and their width."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.preprocessing import FunctionTransformer

        vectoriser = _fitted(self.pool, 2 if len(self.pool) > RARE_FROM else 1)
        words = len(vectoriser.vocabulary_)
        width = min(self.dimensions, max(words - 1, 1))
        reduce = FunctionTransformer(lambda rows: rows.toarray())  # a single word: one column is all there is
        if words > 1:
            reduce = TruncatedSVD(width, random_state=self.seed)
        with np.errstate(invalid="ignore"):  # texts that are all the same: no variance to explain
            reduce.fit(vectoriser.transform(self.pool))
        return vectoriser, reduce, len(reduce.components_) if words > 1 else width  # no more directions than texts


def tfidf_vectors(pool: Sequence[str], *, dimensions: int = 256, rng: np.random.Generator) -> TfidfEncoder:
    """Make an encoder of texts, fitted on a pool.

    Parameters
    ----------
    pool : sequence of str
        The texts that words and directions come from.
    dimensions : int
        The largest length of a vector.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    TfidfEncoder
        A function from texts to vectors, for `SpectralLaplace(pool, encode=tfidf_vectors(pool, rng=rng))`.
    """
    encoder = TfidfEncoder(pool, dimensions=dimensions, seed=int(rng.integers(2**31)))
    encoder(())
    return encoder
