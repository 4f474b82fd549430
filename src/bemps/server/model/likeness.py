"""Which items are alike, by the cosine of their vectors: what an item stands for, and what stands nearest to it.

N  items    B  items in question    L  labelled    H  length of a vector
"""

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

EXAMPLES = 3
BLOCK = 500  # new labels that are compared at once: the memory does not depend on their number


class Likeness:
    """Cosines between items by their rows; how near each is to something labelled is kept from call to call."""

    def __init__(self, vectors: Float[Array, "N H"]) -> None:
        self.vectors = unit(vectors)
        self._covered: frozenset[int] = frozenset()
        self._nearest = np.full(len(vectors), -np.inf, np.float32)

    def stands_for(
        self, rows: Int[Array, " B"], waiting: Int[Array, " n"], labelled: Int[Array, " L"]
    ) -> tuple[list[int], list[list[int]]]:
        """Count the waiting items that are more like each of these items than like anything labelled.

        Each item is judged by itself, so that the number does not depend on how many others are in question.

        Parameters
        ----------
        rows : int array of shape (B,)
            The rows of the items in question.
        waiting : int array of shape (n,)
            The rows of the items without a label.
        labelled : int array of shape (L,)
            The rows of the labelled items.

        Returns
        -------
        counts : list of int
            The number of waiting items for each item in question.
        examples : list of list of int
            The rows of the most alike of them, best first, for each item in question.
        """
        like = self.vectors[waiting] @ self.vectors[rows].T  # (n, B)
        nearer = (like > self.nearest_labelled(labelled)[waiting, None]) & (waiting[:, None] != rows)
        examples = []
        for column, inside in zip(like.T, nearer.T, strict=True):
            own = np.flatnonzero(inside)
            examples.append(waiting[own[np.argsort(-column[own], kind="stable")[:EXAMPLES]]].tolist())
        return nearer.sum(0).tolist(), examples

    def nearest(self, vectors: Float[Array, "B H"], labelled: Int[Array, " L"]) -> list[list[int]]:
        """Return the labelled items that are most like these vectors of length one."""
        like = vectors @ self.vectors[labelled].T
        return [labelled[np.argsort(-line, kind="stable")[:EXAMPLES]].tolist() for line in like]

    def nearest_labelled(self, labelled: Int[Array, " L"]) -> Float[Array, " N"]:
        """Return the cosine of every other item with the labelled item most like it. Only new labels are compared."""
        rows = frozenset(labelled.tolist())
        if not self._covered <= rows:  # a label was taken back
            self._covered, self._nearest = frozenset(), np.full_like(self._nearest, -np.inf)
        new = sorted(rows - self._covered)
        others = np.setdiff1d(np.arange(len(self._nearest)), labelled)  # of a labelled item nobody asks
        vectors, nearest = self.vectors[others], self._nearest[others]
        for start in range(0, len(new), BLOCK):
            like = vectors @ self.vectors[new[start : start + BLOCK]].T
            np.maximum(nearest, like.max(1), out=nearest)
        self._nearest[others] = nearest
        self._covered = rows
        return self._nearest


def unit(vectors: Float[Array, "N H"]) -> Float[Array, "N H"]:
    """Return the vectors scaled to length one; vectors of length zero stay as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
