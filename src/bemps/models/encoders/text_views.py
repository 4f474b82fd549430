"""Two views of a text: its meaning to a sentence encoder, and its wording.

The first view is the last layer of a sentence encoder, trained to bring texts of one meaning together. It has learnt to
leave out the kind of a question, or the part of an abstract. A layer in the middle and the words themselves still have
these. The labels decide which view counts: `SpectralLaplace(vectors, first_view=MEANING)`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from bemps.models.base import Items
from bemps.models.encoders.tfidf import tfidf_vectors
from bemps.types import Array

Encode = Callable[[Items], Float[Array, "N _"]]

MEANING = 384  # columns of the first view, the width of a layer, in the small encoders


def spreads(views: Sequence[Float[Array, "N _"]]) -> list[float]:
    """The root-mean-square distance from the mean in each view of a pool."""
    distances = [float(np.sqrt(view.var(axis=0, dtype=np.float64).sum())) for view in views]
    return [spread or 1.0 for spread in distances]  # a view in which nothing varies says nothing at any scale


def side_by_side(
    layers: Float[Array, "N _"], words: Float[Array, "N _"], scales: Sequence[float], width: int = MEANING
) -> Float[Array, "N D"]:
    """The views divided by their spreads on the pool, so that each counts alike in a model without weights.

    Parameters
    ----------
    layers : array (N, layers * width)
        The vectors of the layers, side by side.
    words : array (N, words)
        The vectors of the words.
    scales : sequence of float
        The spread of each view on the pool.
    width : int, optional
        The columns of one layer.

    Returns
    -------
    array (N, D)
        The scaled views, side by side.
    """
    views = views_of(layers, words, width)
    return np.hstack([view / scale for view, scale in zip(views, scales, strict=True)], dtype=np.float32)


def views_of(
    layers: Float[Array, "N _"], words: Float[Array, "N _"], width: int = MEANING
) -> list[Float[Array, "N _"]]:
    """The vectors of each layer, all of one width, and the words.

    Parameters
    ----------
    layers : array (N, layers * width)
        The vectors of the layers, side by side.
    words : array (N, words)
        The vectors of the words.
    width : int, optional
        The columns of one layer.

    Returns
    -------
    list of array
        One array for each layer, then the words.
    """
    return [*np.split(layers, layers.shape[1] // width, axis=1), words]


def with_words(encode: Encode, pool: Sequence[str], width: int = MEANING) -> Encode:
    """An encoder of both views, from an encoder of the layers; words and scales come from the pool.

    Parameters
    ----------
    encode : callable
        Turns texts into the vectors of the layers, side by side.
    pool : sequence of str
        The texts of the pool.
    width : int, optional
        The columns of one layer.

    Returns
    -------
    callable
        Turns texts into the scaled views, side by side.
    """
    words = tfidf_vectors(pool, rng=np.random.default_rng(0))
    scales = spreads(views_of(encode(pool), words(pool), width))
    return lambda texts: side_by_side(encode(texts), words(texts), scales, width)
