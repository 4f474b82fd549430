"""Which items are alike, by the cosine of their vectors: what an item stands for, and what stands nearest to it.

N  items    B  items in question    L  labelled    H  length of a vector
"""

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

EXAMPLES = 3


class Likeness:
    """Cosines between items by their rows; how near each is to something labelled is kept from call to call."""

    def __init__(self, vectors: Float[Array, "N H"]) -> None:
        self.vectors = unit(vectors)
        self._covered: frozenset[int] = frozenset()
        self._nearest = np.full(len(vectors), -np.inf, np.float32)

    def stands_for(
        self, rows: Int[Array, " B"], waiting: Int[Array, " n"], labelled: Int[Array, " L"]
    ) -> tuple[list[int], list[list[int]]]:
        """How many waiting items are more like each of these than like anything labelled, and the most alike of them.

        Each item is judged by itself, so that the number does not depend on how many others are in question.
        """
        like = self.vectors[waiting] @ self.vectors[rows].T  # (n, B)
        nearer = (like > self._nearest_labelled(labelled)[waiting, None]) & (waiting[:, None] != rows)
        examples = []
        for column, inside in zip(like.T, nearer.T, strict=True):
            own = np.flatnonzero(inside)
            examples.append(waiting[own[np.argsort(-column[own], kind="stable")[:EXAMPLES]]].tolist())
        return nearer.sum(0).tolist(), examples

    def nearest(self, vectors: Float[Array, "B H"], labelled: Int[Array, " L"]) -> list[list[int]]:
        """The labelled items that are most like these vectors of length one."""
        like = vectors @ self.vectors[labelled].T
        return [labelled[np.argsort(-line, kind="stable")[:EXAMPLES]].tolist() for line in like]

    def _nearest_labelled(self, labelled: Int[Array, " L"]) -> Float[Array, " N"]:
        """The cosine of every item with the labelled item most like it: only new labels are compared."""
        rows = frozenset(labelled.tolist())
        if not self._covered <= rows:  # a label was taken back
            self._covered, self._nearest = frozenset(), np.full_like(self._nearest, -np.inf)
        new = sorted(rows - self._covered)
        if new:
            self._nearest = np.maximum(self._nearest, (self.vectors @ self.vectors[new].T).max(1))
        self._covered = rows
        return self._nearest


def unit(vectors: Float[Array, "N H"]) -> Float[Array, "N H"]:
    """The vectors with length one, those of length zero as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
