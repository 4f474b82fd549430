"""One t-SNE projection of the pool for all strategies, to compare batches by eye."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.types import Array


def projection(
    vectors: Float[Array, "N H"], rng: np.random.Generator, *, perplexity: float = 30.0, iterations: int = 1_000
) -> Float[Array, "N 2"]:
    """Project vectors to two dimensions with t-SNE, from a PCA start.

    Parameters
    ----------
    vectors : array of float (N, H)
        The vectors, at least four.
    rng : numpy.random.Generator
        Random numbers of the projection.
    perplexity : float
        The perplexity of t-SNE. It is lowered if there are fewer than three times as many items.
    iterations : int
        The steps of t-SNE, at least 250.

    Returns
    -------
    array of float (N, 2)
        A point for each item.

    Raises
    ------
    InputError
        There are fewer than four items, or a vector is not finite.
    """
    from sklearn.manifold import TSNE

    if len(vectors) < 4:
        fix = "Give more items of the pool."
        raise InputError("vectors", expected="at least four items", got=str(len(vectors)), fix=fix)
    if not np.isfinite(vectors).all():
        fix = "Check the model that made them."
        raise InputError("vectors", expected="finite numbers", got="NaN or infinity", fix=fix)
    tsne = TSNE(
        init="pca" if vectors.shape[1] > 1 else "random",
        perplexity=min(perplexity, (len(vectors) - 1) / 3),
        random_state=int(rng.integers(2**31)),
        max_iter=iterations,
    )
    return np.asarray(tsne.fit_transform(np.asarray(vectors, dtype=np.float32)), dtype=float)


def shown_items(count: int, acquired: Iterable[int], limit: int, rng: np.random.Generator) -> Int[Array, " n"]:
    """Choose the items to project: all acquired ones, and a uniform draw of the others.

    Parameters
    ----------
    count : int
        The number of items of the pool.
    acquired : iterable of int
        Positions of acquired items.
    limit : int
        The largest number of items, unless more are acquired.
    rng : numpy.random.Generator
        Random numbers of the draw.

    Returns
    -------
    array of int (n,)
        Positions.
    """
    must = np.unique(np.array(list(acquired), dtype=np.int64))
    others = np.setdiff1d(np.arange(count), must)
    room = min(max(limit - len(must), 0), len(others))
    return np.sort(np.concatenate([must, rng.choice(others, room, replace=False)]))
