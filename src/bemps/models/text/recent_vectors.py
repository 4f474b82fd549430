"""A cache of vectors of texts in memory, for an encoder that changes.

A strategy asks for the probabilities of the pool, then for its features, then for those of the labelled items. With a
fine-tuned encoder each of these would read all texts again. Vectors of a frozen encoder belong on disk
(`bemps.models.encoders.feature_cache`); these are useless after the next training.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from bemps.models.base import Items
from bemps.models.text.tokens import check_texts
from bemps.types import Array

ROWS = 20_000  # vectors that are kept: 31 MB of MiniLM's


class RecentVectors:
    """An encoder of texts that keeps the vectors of the texts it was asked for last.

    Parameters
    ----------
    encode : callable
        Gives one vector for each of a list of texts. The vector of a text must not depend on the others.
    rows : int, optional
        How many vectors are kept at most. When more come, the oldest are forgotten.
    """

    def __init__(self, encode: Callable[[Sequence[str]], Float[Array, "N H"]], rows: int = ROWS) -> None:
        self.encode, self.rows = encode, rows
        self._vectors: dict[str, Float[Array, " H"]] = {}

    def __call__(self, items: Items) -> Float[Array, "N H"]:
        texts = check_texts(items)
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not texts:
            return self.encode(texts)
        if new:
            self._vectors |= dict(zip(new, self.encode(new), strict=True))
        vectors = np.stack([self._vectors[text] for text in texts])
        for oldest in list(self._vectors)[: max(0, len(self._vectors) - self.rows)]:
            del self._vectors[oldest]
        return vectors
