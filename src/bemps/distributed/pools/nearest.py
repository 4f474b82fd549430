"""The item nearest to each centre among items in many shards. No item is used twice."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.distributed.pools.shards import Shard
from bemps.distributed.pools.worker_tasks import TopQuery
from bemps.limits import limits
from bemps.types import Array

FIRST_CANDIDATES = 8  # of a shard for each centre in the first round; more if centres share theirs


@dataclass(frozen=True, eq=False)
class Centres:
    """Centres of clusters, relative to `middle`: far from the origin, differences of squares would lose digits."""

    middle: Float[Array, " D"]
    centres: Float[Array, "n D"]

    def distances(self, vectors: Float[Array, "m D"]) -> Float[Array, "m n"]:
        """Return the squared distance of each vector to each centre."""
        rows = vectors - self.middle
        norms = np.einsum("vd,vd->v", rows, rows)[:, None] + np.einsum("nd,nd->n", self.centres, self.centres)
        return norms - 2 * (rows @ self.centres.T)


@dataclass(frozen=True, eq=False)
class NearestItems:
    """Items near centres.

    Attributes
    ----------
    positions : array of int
        Positions of the items; in one shard their rows.
    scores : array of float
        Their scores.
    distances : array of float
        Their squared distances to their centres.
    """

    positions: Int[Array, "*of"]
    scores: Float[Array, "*of"]
    distances: Float[Array, "*of"]


def nearest_in_shard(
    shared: tuple[TopQuery, Centres], shard: Shard, ties: Int[Array, " t"], each: int
) -> tuple[NearestItems, Int[Array, " n"]]:
    """Find the best items of a shard that are nearest to each centre.

    Parameters
    ----------
    shared : tuple of TopQuery and Centres
        The query for the best items, and the centres.
    shard : Shard
        The shard.
    ties : array of int (t,)
        Ranks drawn among the ties of the shard.
    each : int
        How many items for each centre.

    Returns
    -------
    nearest : NearestItems
        The items.
    sizes : array of int (n,)
        How many items belong to each cluster.
    """
    query, centres = shared
    rows, scores = query.rows(shard, ties)
    order = np.argsort(rows)
    rows, scores = rows[order], scores[order]
    n = len(centres.centres)
    best = NearestItems(np.zeros((n, 0), np.int64), np.zeros((n, 0)), np.zeros((n, 0)))
    sizes = np.zeros(n, np.int64)
    with limits(memory=max(query.shard_pass.reader.memory // 4, 2**20)):
        for start, probs in query.shard_pass.reader.read(shard, rows):
            low, high = np.searchsorted(rows, [start, start + probs.shape[1]])
            for part in np.array_split(np.arange(low, high), -(-(high - low) * n // 2**20) or 1):
                vectors = query.scorer.rows(probs[:, rows[part] - start])
                distances = centres.distances(vectors)
                sizes += np.bincount(distances.argmin(1), minlength=n)
                best = _merge_nearest(best, rows[part], scores[part], distances.T, each)
    return best, sizes


def _merge_nearest(
    best: NearestItems, rows: Int[Array, " m"], scores: Float[Array, " m"], distances: Float[Array, "n m"], each: int
) -> NearestItems:
    """For each centre the nearest of the items so far and of further rows, in no order."""
    n, m = distances.shape
    fields = (
        np.concatenate([best.positions, np.broadcast_to(rows, (n, m))], axis=1),
        np.concatenate([best.scores, np.broadcast_to(scores, (n, m))], axis=1),
        np.concatenate([best.distances, distances], axis=1),
    )
    if each >= fields[2].shape[1]:
        return NearestItems(*fields)
    columns = np.sort(np.argpartition(fields[2], each - 1, axis=1)[:, :each], axis=1)
    return NearestItems(*(np.take_along_axis(field, columns, axis=1) for field in fields))


def pick_nearest(
    candidates_of_shards: Callable[[int], list[tuple[int, NearestItems, Int[Array, " n"]]]], n: int
) -> tuple[NearestItems, Int[Array, " n"]]:
    """For each centre in turn pick the nearest item that is not taken. Shards name more candidates if lists run out."""
    each = min(FIRST_CANDIDATES, n)
    while True:
        answers = candidates_of_shards(each)
        sizes = np.sum([sizes for _, _, sizes in answers], axis=0)
        merged = _sorted_by_distance(answers)
        picked = _greedy(merged, n, each)
        if picked is not None:
            return picked, sizes
        each = min(2 * each, n)


def _sorted_by_distance(answers: list[tuple[int, NearestItems, Int[Array, " n"]]]) -> NearestItems:
    positions = np.concatenate([near.positions + start for start, near, _ in answers], axis=1)
    scores, distances = (
        np.concatenate([getattr(near, name) for _, near, _ in answers], axis=1) for name in ("scores", "distances")
    )
    order = np.argsort(distances, axis=1, kind="stable")
    return NearestItems(*(np.take_along_axis(field, order, axis=1) for field in (positions, scores, distances)))


def _greedy(near: NearestItems, n: int, each: int) -> NearestItems | None:
    """The picks, or None if a list may end too early: only its first `each` are known to be the nearest of all."""
    taken: dict[int, tuple[float, float]] = {}
    for i in range(n):
        sure = near.positions.shape[1] if each >= n else min(each, near.positions.shape[1])
        free = next((j for j in range(sure) if int(near.positions[i, j]) not in taken), None)
        if free is None:
            return None
        taken[int(near.positions[i, free])] = float(near.scores[i, free]), float(near.distances[i, free])
    scores, distances = np.array(list(taken.values())).T
    return NearestItems(np.array(list(taken)), scores, distances)
