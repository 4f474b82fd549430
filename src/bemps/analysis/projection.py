"""One t-SNE projection of the pool, shared by every strategy, so that batches can be compared by eye."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.types import Array


def projection(
    vectors: Float[Array, "N H"], rng: np.random.Generator, *, perplexity: float = 30.0
) -> Float[Array, "N 2"]:
    """t-SNE from a PCA start; the perplexity is lowered where there are fewer than three times as many items."""
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
    )
    return np.asarray(tsne.fit_transform(np.asarray(vectors, dtype=np.float32)), dtype=float)


def shown_items(count: int, acquired: Iterable[int], limit: int, rng: np.random.Generator) -> Int[Array, " n"]:
    """Positions to project: everything acquired, and an even draw of the others up to the limit."""
    must = np.unique(np.array(list(acquired), dtype=np.int64))
    others = np.setdiff1d(np.arange(count), must)
    room = min(max(limit - len(must), 0), len(others))
    return np.sort(np.concatenate([must, rng.choice(others, room, replace=False)]))
