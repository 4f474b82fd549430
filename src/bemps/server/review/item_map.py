"""A picture of the items: two dimensions in which what is alike lies together.

t-SNE of a sample: every labelled item, and others drawn at random. The vectors never change, so the positions are
computed once for each set of items.

n  items of the picture    N  items    H  length of a vector
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from bemps.results.tsne import projection, shown_items
from bemps.types import Array

MOST = 800  # items of the picture: t-SNE of so many takes seconds
ITERATIONS = 500  # groups are apart by then
DIRECTIONS = 50  # principal directions that t-SNE sees
FEWEST = 4  # items of which a picture can be made


class ItemMap:
    """Positions between 0 and 1 of some rows; drawn again when items are labelled that are not among them."""

    def __init__(self, vectors: Float[Array, "N H"]) -> None:
        self._vectors = vectors
        self.rows: Int[Array, " n"] = np.zeros(0, np.int64)
        self.positions: Float[Array, "n 2"] = np.zeros((0, 2))

    def draw(self, labelled: Iterable[int]) -> tuple[Int[Array, " n"], Float[Array, "n 2"]]:
        """Return the rows on the map and their positions."""
        must = list(labelled)[-MOST:]
        if len(self._vectors) >= FEWEST and (not len(self.rows) or not set(must) <= set(self.rows.tolist())):
            rng = np.random.default_rng(0)
            self.rows = shown_items(len(self._vectors), must, MOST, rng)
            self.positions = _scaled(projection(_leading(self._vectors[self.rows]), rng, iterations=ITERATIONS))
        return self.rows, self.positions


def _leading(vectors: Float[Array, "n H"]) -> Float[Array, "n D"]:
    """The vectors along their leading directions."""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return centred @ directions[:, ::-1][:, :DIRECTIONS]


def _scaled(points: Float[Array, "n 2"]) -> Float[Array, "n 2"]:
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - low) / np.maximum(high - low, 1e-9)
