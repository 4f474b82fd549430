"""Texts from two sides: what a sentence encoder takes them to mean, and how they say it.

The first view is the last layer of MiniLM, trained to bring texts of one meaning together. What kind of question it is,
or which part of an abstract, it has learnt to leave out; a layer in the middle and the words themselves still have it.
Which side matters the labels say: `SpectralLaplace(vectors, first=MEANING)`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from bemps.members.base import Items
from bemps.members.tfidf import tfidf_vectors
from bemps.types import Array

Encode = Callable[[Items], Float[Array, "N _"]]

LAYERS = (-1, 4)  # of MiniLM's six
BGE_LAYERS = (-1, 6)  # of the twelve of bge-small
MEANING = 384  # columns of the first view
WIDTHS = (MEANING, MEANING)  # of the layers side by side; the words come after them


def spreads(views: Sequence[Float[Array, "N _"]]) -> list[float]:
    """The root-mean-square distance from the mean in each view of a pool."""
    found = [float(np.sqrt(view.var(axis=0, dtype=np.float64).sum())) for view in views]
    return [spread or 1.0 for spread in found]  # a view in which nothing varies says nothing at any scale


def side_by_side(
    layers: Float[Array, "N _"], words: Float[Array, "N _"], scales: Sequence[float]
) -> Float[Array, "N D"]:
    """The views divided by their spreads on the pool, so that each counts alike for whoever does not weigh them."""
    views = views_of(layers, words)
    return np.hstack([view / scale for view, scale in zip(views, scales, strict=True)], dtype=np.float32)


def views_of(layers: Float[Array, "N _"], words: Float[Array, "N _"]) -> list[Float[Array, "N _"]]:
    """The vectors of each layer, and the words."""
    return [*np.split(layers, np.cumsum(WIDTHS)[:-1], axis=1), words]


def with_words(encode: Encode, pool: Sequence[str]) -> Encode:
    """An encoder of both sides, from one of the layers; words and scales come from the pool."""
    words = tfidf_vectors(pool, rng=np.random.default_rng(0))
    scales = spreads(views_of(encode(pool), words(pool)))
    return lambda texts: side_by_side(encode(texts), words(texts), scales)
