"""The item nearest each centre among items that lie in many shards, every item used once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.distributed.shards import Shard
from bemps.distributed.tasks import Above
from bemps.limits import limits
from bemps.types import Array

EACH = 8  # candidates that a shard names for each centre at first; more where centres share theirs


@dataclass(frozen=True, eq=False)
class Centres:
    """Centres, and the point that distances are taken from: far from the origin they cancel."""

    middle: Float[Array, " D"]
    centres: Float[Array, "n D"]

    def distances(self, vectors: Float[Array, "m D"]) -> Float[Array, "m n"]:
        """Squared distances."""
        rows = vectors - self.middle
        norms = np.einsum("vd,vd->v", rows, rows)[:, None] + np.einsum("nd,nd->n", self.centres, self.centres)
        return norms - 2 * (rows @ self.centres.T)


@dataclass(frozen=True, eq=False)
class Near:
    """Candidates: positions (rows of a shard at first), their scores, and their distances to their centres."""

    positions: Int[Array, "*of"]
    scores: Float[Array, "*of"]
    distances: Float[Array, "*of"]


def nearest_of(
    shared: tuple[Above, Centres], shard: Shard, ties: Int[Array, " t"], each: int
) -> tuple[Near, Int[Array, " n"]]:
    """For each centre the nearest `each` of the shard's best items, and how many belong to it."""
    above, centres = shared
    rows, scores = above.rows(shard, ties)
    order = np.argsort(rows)
    rows, scores = rows[order], scores[order]
    n = len(centres.centres)
    best = Near(np.zeros((n, 0), np.int64), np.zeros((n, 0)), np.zeros((n, 0)))
    sizes = np.zeros(n, np.int64)
    with limits(memory=max(above.given.reading.memory // 4, 2**20)):
        for start, probs in above.given.reading.answers(shard, rows):
            low, high = np.searchsorted(rows, [start, start + probs.shape[1]])
            for part in np.array_split(np.arange(low, high), -(-(high - low) * n // 2**20) or 1):
                vectors = above.scorer.rows(probs[:, rows[part] - start])
                distances = centres.distances(vectors)
                sizes += np.bincount(distances.argmin(1), minlength=n)
                best = _nearer(best, rows[part], scores[part], distances.T, each)
    return best, sizes


def _nearer(
    best: Near, rows: Int[Array, " m"], scores: Float[Array, " m"], distances: Float[Array, "n m"], each: int
) -> Near:
    """The nearest of both, in no order."""
    n, m = distances.shape
    every = (
        np.concatenate([best.positions, np.broadcast_to(rows, (n, m))], axis=1),
        np.concatenate([best.scores, np.broadcast_to(scores, (n, m))], axis=1),
        np.concatenate([best.distances, distances], axis=1),
    )
    width = every[2].shape[1]
    kept = np.sort(np.argpartition(every[2], each - 1, axis=1)[:, :each], axis=1) if each < width else np.arange(width)
    return Near(*(np.take_along_axis(one, np.broadcast_to(kept, (n, kept.shape[-1])), axis=1) for one in every))


def pick_nearest(
    ask: Callable[[int], list[tuple[int, Near, Int[Array, " n"]]]], n: int
) -> tuple[Near, Int[Array, " n"]]:
    """For each centre in turn the nearest item not taken yet; shards are asked for more where their lists run out."""
    each = min(EACH, n)
    while True:
        answers = ask(each)
        sizes = np.sum([sizes for _, _, sizes in answers], axis=0)
        merged = _merged(answers)
        picked = _greedy(merged, n, each)
        if picked is not None:
            return picked, sizes
        each = min(2 * each, n)


def _merged(answers: list[tuple[int, Near, Int[Array, " n"]]]) -> Near:
    positions = np.concatenate([near.positions + start for start, near, _ in answers], axis=1)
    scores, distances = (
        np.concatenate([getattr(near, name) for _, near, _ in answers], axis=1) for name in ("scores", "distances")
    )
    order = np.argsort(distances, axis=1, kind="stable")
    return Near(*(np.take_along_axis(one, order, axis=1) for one in (positions, scores, distances)))


def _greedy(near: Near, n: int, each: int) -> Near | None:
    """None where a list may have ended too early: only its first `each` are surely the nearest of all."""
    taken: dict[int, tuple[float, float]] = {}
    for i in range(n):
        sure = near.positions.shape[1] if each >= n else min(each, near.positions.shape[1])
        free = next((j for j in range(sure) if int(near.positions[i, j]) not in taken), None)
        if free is None:
            return None
        taken[int(near.positions[i, free])] = float(near.scores[i, free]), float(near.distances[i, free])
    scores, distances = np.array(list(taken.values())).T
    return Near(np.array(list(taken)), scores, distances)
