"""Batches from scores in shards: the best items of the pool, or the diverse batch of Algorithm 3.

k-means runs on the driver, on the vectors of the top fraction. If these are more than `cluster_memory` bytes, its
centres come from a sample of them, drawn with the generator of the selection. The rest, the nearest item to each centre
and the size of each cluster, is exact and over all of them.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps.acquisition import batch_rules
from bemps.distributed.pools.exact_rank import BucketCounts, ScoreThreshold
from bemps.distributed.pools.nearest import Centres, NearestItems, nearest_in_shard, pick_nearest
from bemps.distributed.pools.scorers import Scorer
from bemps.distributed.pools.shard_pass import ShardPass
from bemps.distributed.pools.sharded_pool import ShardedPool
from bemps.distributed.pools.worker_tasks import TopItems, TopQuery, top_items_of
from bemps.gain import ranking
from bemps.types import Array

VECTORS_PER_CLUSTER = 50  # at least so many vectors for each cluster in a sample


@dataclass(frozen=True, eq=False)
class PoolBatch:
    """A batch of a pool in shards.

    Attributes
    ----------
    indices : array of int (B,)
        Positions in the pool.
    scores : array of float (B,)
        Their scores.
    clusters : tuple of arrays, optional
        The candidates that each item stands for.
    sizes : array of int (B,), optional
        How many they are.
    candidates : int, optional
        How many items were clustered.
    sampled : int, optional
        How many of the candidates k-means saw. None: all.
    """

    indices: Int[Array, " B"]
    scores: Float[Array, " B"]
    clusters: tuple[Int[Array, " _"], ...] | None = None
    sizes: Int[Array, " B"] | None = None
    candidates: int | None = None
    sampled: int | None = None


@dataclass(frozen=True, eq=False)
class TopK:
    """The k best items of the pool: those above a threshold, and some drawn from those equal to it."""

    threshold: ScoreThreshold
    drawn_ties: Int[Array, " t"]  # ranks among all ties of the pool

    def ties(self, number: int) -> Int[Array, " t"]:
        """Return the ranks drawn among the ties of one shard."""
        return self.drawn_ties[self.draw_order(number)] - self._first_tie(number)

    def draw_order(self, number: int) -> Int[Array, " t"]:
        """Return the numbers of the draws that drew the ties of one shard."""
        first = self._first_tie(number)
        return np.flatnonzero((self.drawn_ties >= first) & (self.drawn_ties < first + self.threshold.equal[number]))

    def _first_tie(self, number: int) -> int:
        return int(self.threshold.equal[:number].sum())

    def size(self, number: int) -> int:
        """Return how many of the best items one shard holds."""
        return int(self.threshold.above[number]) + len(self.draw_order(number))


@dataclass(frozen=True, eq=False)
class BatchRules:
    """Batch rules for a pool whose scores are in the work folder.

    Random numbers are used as in `bemps.acquisition.batch_rules`.

    Attributes
    ----------
    pool : ShardedPool
        The pool.
    scorer : Scorer
        Computed the scores.
    shard_pass : ShardPass
        The pass that saved them.
    counts : list
        The scores of each shard, counted by their first digits.
    rng : numpy.random.Generator
        Random numbers.
    """

    pool: ShardedPool
    scorer: Scorer
    shard_pass: ShardPass
    counts: list[BucketCounts]
    rng: np.random.Generator

    def top(self, n: int) -> PoolBatch:
        """Select the n best items, as `bemps.acquisition.batch_rules.top` does."""
        items = self._collect(self._top_k(n), vectors=False)
        return PoolBatch(items.rows, items.scores)

    def diverse(self, n: int, size: int, memory: int) -> PoolBatch:
        """Select a diverse batch, as `batch_rules.diverse` does: by k-means on the vectors of the best items.

        Parameters
        ----------
        n : int
            Size of the batch.
        size : int
            How many of the best items are candidates.
        memory : int
            Bytes of vectors that k-means may see.

        Returns
        -------
        PoolBatch
            The batch.
        """
        top_k = self._top_k(size)
        width = self._vector_bytes(top_k)
        most = max(VECTORS_PER_CLUSTER * n, memory // max(width, 1))
        return self._cluster_all(top_k, n) if size <= most else self._cluster_sample(top_k, n, size, most)

    def _top_k(self, n: int) -> TopK:
        threshold = self.pool.score_threshold(self.shard_pass, self.scorer, self.counts, n)
        ties = int(threshold.equal.sum())
        return TopK(threshold, self.rng.choice(ties, n - int(threshold.above.sum()), replace=False))

    def _shards_with(self, top_k: TopK) -> list[int]:
        """The numbers of the shards that hold any of the best items."""
        return [i for i in range(len(self.pool.shards)) if top_k.size(i)]

    def _vector_bytes(self, top_k: TopK) -> int:
        """Bytes of a vector."""
        number = self._shards_with(top_k)[0]
        items = self._collect(top_k, vectors=True, ranks={number: np.zeros(1, np.int64)})
        return int(items.vectors.shape[1] * items.vectors.itemsize)

    def _collect(self, top_k: TopK, *, vectors: bool, ranks: dict[int, Int[Array, " _"]] | None = None) -> TopItems:
        """The best items of all shards, or some of them by rank, from best to worst. Rows are positions in the pool.

        The order is that of `batch_rules.top`: equal scores by position, ties at the threshold as they were drawn.
        """
        numbers = self._shards_with(top_k) if ranks is None else sorted(ranks)
        picks = [None if ranks is None else ranks[i] for i in numbers]
        jobs = [(self.pool.shards[i], top_k.ties(i), pick) for i, pick in zip(numbers, picks, strict=True)]
        query = TopQuery(self.shard_pass, self.scorer, top_k.threshold.low, top_k.threshold.high, vectors)
        shard_items: list[TopItems] = self.pool.runner.run_all("collecting", top_items_of, query, jobs)
        starts = self.pool.starts
        positions = np.concatenate([items.rows + starts[i] for i, items in zip(numbers, shard_items, strict=True)])
        scores = np.concatenate([items.scores for items in shard_items])
        tie_order = []
        for i, pick in zip(numbers, picks, strict=True):
            # first those above the threshold, by position (their rows are in ascending order); then ties as drawn
            shard_order = np.concatenate(
                [np.arange(top_k.threshold.above[i]) + starts[i], top_k.draw_order(i) + starts[-1]]
            )
            tie_order.append(shard_order if pick is None else shard_order[pick])
        order = np.lexsort((np.concatenate(tie_order), ranking.tie_groups(scores, top_k.threshold.tolerance)))
        rows = np.concatenate([items.vectors for items in shard_items]) if vectors else np.zeros((len(scores), 0))
        return TopItems(positions[order], scores[order], rows[order])

    def _cluster_all(self, top_k: TopK, n: int) -> PoolBatch:
        items = self._collect(top_k, vectors=True)
        picks, labels = batch_rules.representatives(items.vectors, n, self.rng)
        picked = batch_rules.clustered_selection(np.arange(len(items.rows)), picks, labels, items.scores)
        assert picked.clusters is not None
        clusters = tuple(items.rows[cluster] for cluster in picked.clusters)
        sizes = np.array([len(cluster) for cluster in clusters])
        return PoolBatch(items.rows[picked.indices], picked.scores, clusters, sizes, len(items.rows))

    def _cluster_sample(self, top_k: TopK, n: int, size: int, most: int) -> PoolBatch:
        """The batch with centres from a sample; nearest items and sizes of clusters are those of all candidates."""
        drawn = np.sort(self.rng.choice(size, most, replace=False))
        ends = np.cumsum([top_k.size(i) for i in range(len(self.pool.shards))])
        parts = np.split(drawn, np.searchsorted(drawn, ends))[:-1]
        ranks = {i: part - (int(ends[i]) - top_k.size(i)) for i, part in enumerate(parts) if len(part)}
        vectors = self._collect(top_k, vectors=True, ranks=ranks).vectors
        middle = vectors.mean(axis=0, dtype=np.float64)
        centres = Centres(middle, batch_rules.cluster_centres(vectors, n, self.rng) - middle)
        near, sizes = pick_nearest(partial(self._candidates_of_shards, top_k, centres), n)
        order = ranking.ranked(near.scores)
        return PoolBatch(near.positions[order], near.scores[order], None, sizes[order], size, most)

    def _candidates_of_shards(
        self, top_k: TopK, centres: Centres, each: int
    ) -> list[tuple[int, NearestItems, Int[Array, " n"]]]:
        """The candidates of every shard for each centre, with the position of the shard's first row."""
        numbers = self._shards_with(top_k)
        query = TopQuery(self.shard_pass, self.scorer, top_k.threshold.low, top_k.threshold.high)
        jobs = [(self.pool.shards[i], top_k.ties(i), each) for i in numbers]
        results = self.pool.runner.run_all("assigning", nearest_in_shard, (query, centres), jobs)
        return [(int(self.pool.starts[i]), *result) for i, result in zip(numbers, results, strict=True)]
