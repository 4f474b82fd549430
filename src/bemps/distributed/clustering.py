"""Batches from scores that lie in shards: the best of all, or the diverse batch of Algorithm 3.

k-means runs on the driver, on the vectors of the top fraction. Where these are more than `cluster_memory` bytes, its
centres come from a sample of them, drawn with the generator of the selection (so the same every time); everything
after the centres, the nearest item to each and the size of each cluster, is exact and over all of them.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps import batch
from bemps.distributed.nearest import Centres, Near, nearest_of, pick_nearest
from bemps.distributed.pool import Pool
from bemps.distributed.quantile import Counts, Edge
from bemps.distributed.scorers import Scorer
from bemps.distributed.tasks import Above, Best, best_of
from bemps.distributed.visit import Pass
from bemps.types import Array

FEWEST = 50  # vectors for each cluster that a sample has at least


@dataclass(frozen=True, eq=False)
class Picked:
    """A batch: `sampled` vectors of `candidates` were enough for the centres, None where all were used."""

    indices: Int[Array, " B"]
    scores: Float[Array, " B"]
    clusters: tuple[Int[Array, " _"], ...] | None = None
    sizes: Int[Array, " B"] | None = None
    candidates: int | None = None
    sampled: int | None = None


@dataclass(frozen=True, eq=False)
class Top:
    """The best items: above an edge, and of those equal to it the ones drawn."""

    edge: Edge
    drawn: Int[Array, " t"]  # ranks among all ties of the pool

    def ties(self, number: int) -> Int[Array, " t"]:
        """The ranks drawn among the ties of one shard."""
        return self.drawn[self.turns(number)] - self._first(number)

    def turns(self, number: int) -> Int[Array, " t"]:
        """When, in the course of drawing, they were drawn."""
        first = self._first(number)
        return np.flatnonzero((self.drawn >= first) & (self.drawn < first + self.edge.equal[number]))

    def _first(self, number: int) -> int:
        return int(self.edge.equal[:number].sum())

    def size(self, number: int) -> int:
        return int(self.edge.above[number]) + len(self.turns(number))


@dataclass(frozen=True, eq=False)
class Batches:
    """Batch rules over a pool whose scores are in the work folder; random numbers are used as in `bemps.batch`."""

    pool: Pool
    scorer: Scorer
    given: Pass
    counts: list[Counts]
    rng: np.random.Generator

    def top(self, n: int) -> Picked:
        """`bemps.batch.top`."""
        found = self._collected(self._best(n), vectors=False)
        return Picked(found.rows, found.scores)

    def diverse(self, n: int, size: int, memory: int) -> Picked:
        """`bemps.batch.diverse`: k-means on the vectors of the best `size`."""
        best = self._best(size)
        width = self._width(best)
        most = max(FEWEST * n, memory // max(width, 1))
        return self._exact(best, n) if size <= most else self._sampled(best, n, size, most)

    def _best(self, n: int) -> Top:
        edge = self.pool.edge(self.given, self.scorer, self.counts, n)
        ties = int(edge.equal.sum())
        return Top(edge, self.rng.choice(ties, n - int(edge.above.sum()), replace=False))

    def _holding(self, best: Top) -> list[int]:
        """The numbers of the shards that hold any of the best."""
        return [i for i in range(len(self.pool.shards)) if best.size(i)]

    def _width(self, best: Top) -> int:
        """Bytes of a vector."""
        number = self._holding(best)[0]
        found = self._collected(best, vectors=True, some={number: np.zeros(1, np.int64)})
        return int(found.vectors.shape[1] * found.vectors.itemsize)

    def _collected(self, best: Top, *, vectors: bool, some: dict[int, Int[Array, " _"]] | None = None) -> Best:
        """The best items of all shards, or some of them by their rank, from best to worst; rows are positions.

        In the order of `bemps.batch.top`: equal scores by position, but ties at the edge as they were drawn.
        """
        numbers = self._holding(best) if some is None else sorted(some)
        picks = [None if some is None else some[i] for i in numbers]
        jobs = [(self.pool.shards[i], best.ties(i), pick) for i, pick in zip(numbers, picks, strict=True)]
        above = Above(self.given, self.scorer, best.edge.score, vectors)
        found: list[Best] = self.pool.asking.every("collecting", best_of, above, jobs)
        starts = self.pool.starts
        positions = np.concatenate([one.rows + starts[i] for i, one in zip(numbers, found, strict=True)])
        scores = np.concatenate([one.scores for one in found])
        places = []
        for i, pick in zip(numbers, picks, strict=True):
            # above the edge by position, of which the rows are in ascending order already; then by turn
            place = np.concatenate([np.arange(best.edge.above[i]) + starts[i], best.turns(i)])
            places.append(place if pick is None else place[pick])
        order = np.lexsort((np.concatenate(places), -scores))
        rows = np.concatenate([one.vectors for one in found]) if vectors else np.zeros((len(scores), 0))
        return Best(positions[order], scores[order], rows[order])

    def _exact(self, best: Top, n: int) -> Picked:
        found = self._collected(best, vectors=True)
        picks, labels = batch.representatives(found.vectors, n, self.rng)
        chosen = batch.stands_for(np.arange(len(found.rows)), picks, labels, found.scores)
        assert chosen.clusters is not None
        clusters = tuple(found.rows[cluster] for cluster in chosen.clusters)
        sizes = np.array([len(cluster) for cluster in clusters])
        return Picked(found.rows[chosen.indices], chosen.scores, clusters, sizes, len(found.rows))

    def _sampled(self, best: Top, n: int, size: int, most: int) -> Picked:
        """Centres from a sample; the nearest items and the sizes of the clusters from all."""
        drawn = np.sort(self.rng.choice(size, most, replace=False))
        ends = np.cumsum([best.size(i) for i in range(len(self.pool.shards))])
        parts = np.split(drawn, np.searchsorted(drawn, ends))[:-1]
        some = {i: part - (int(ends[i]) - best.size(i)) for i, part in enumerate(parts) if len(part)}
        vectors = self._collected(best, vectors=True, some=some).vectors
        middle = vectors.mean(axis=0, dtype=np.float64)
        centres = Centres(middle, batch.cluster_centres(vectors, n, self.rng) - middle)
        near, sizes = pick_nearest(partial(self._near, best, centres), n)
        order = np.argsort(-near.scores, kind="stable")
        return Picked(near.positions[order], near.scores[order], None, sizes[order], size, most)

    def _near(self, best: Top, centres: Centres, each: int) -> list[tuple[int, Near, Int[Array, " n"]]]:
        """What every shard names for each centre, with the place where the shard starts."""
        numbers = self._holding(best)
        above = Above(self.given, self.scorer, best.edge.score)
        jobs = [(self.pool.shards[i], best.ties(i), each) for i in numbers]
        found = self.pool.asking.every("assigning", nearest_of, (above, centres), jobs)
        return [(int(self.pool.starts[i]), *one) for i, one in zip(numbers, found, strict=True)]
