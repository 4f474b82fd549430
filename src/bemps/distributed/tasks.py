"""What else a worker is asked: items at some rows, digits of scores, the best of a shard, the nearest to centres."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.distributed import quantile
from bemps.distributed.folder import Folder
from bemps.distributed.quantile import Counts
from bemps.distributed.scorers import Scorer
from bemps.distributed.shards import Shard, Store, batches
from bemps.distributed.visit import Pass, Reading, scores_kind
from bemps.errors import InputError
from bemps.limits import limits
from bemps.types import Array


def answers_at(reading: Reading, shard: Shard, rows: Int[Array, " m"]) -> Float[Array, "E m K"]:
    """The members' answers at some rows, ascending."""
    parts = []
    for start, probs in reading.answers(shard, rows):
        low, high = np.searchsorted(rows, [start, start + probs.shape[1]])
        parts.append(probs[:, rows[low:high] - start])
    return np.concatenate(parts, axis=1)


def names_at(shared: tuple[Store, str], shard: Shard, rows: Int[Array, " m"]) -> list[str]:
    """The ids at some rows, ascending."""
    store, column = shared
    names: list[str] = []
    with store.parquet(shard) as file:
        for start, batch in batches(file, [column], 65_536, rows):
            low, high = np.searchsorted(rows, [start, start + batch.num_rows])
            names += [str(name) for name in batch.column(0).take(rows[low:high] - start).to_pylist()]
    return names


def scores_of(folder: Folder, kind: str, shard: Shard) -> Float[Array, " n"]:
    """The scores that an earlier pass kept."""
    kept = folder.load(kind, shard)
    if kept is None:
        raise InputError(
            str(shard), expected="its scores in the work folder", got="none", fix="Was it cleaned? Run again."
        )
    return kept["scores"]


def count_scores(shared: tuple[Folder, str, int, int], shards: Sequence[Shard]) -> list[Counts]:
    """One level of digits of the scores of each shard."""
    folder, kind, level, prefix = shared
    return [quantile.count(quantile.keys(scores_of(folder, kind, shard)), level, prefix) for shard in shards]


@dataclass(frozen=True, eq=False)
class Above:
    """Which items are meant: those with scores above the edge and, of those equal to it, some by their rank."""

    given: Pass
    scorer: Scorer
    edge: float
    vectors: bool = False

    def rows(self, shard: Shard, ties: Int[Array, " t"]) -> tuple[Int[Array, " m"], Float[Array, " m"]]:
        """Rows and scores: those above in ascending order, then the ties in the order of their ranks."""
        scores = scores_of(self.given.folder, scores_kind(self.scorer), shard)
        rows = np.concatenate([np.flatnonzero(scores > self.edge), np.flatnonzero(scores == self.edge)[ties]])
        return rows, scores[rows]


@dataclass(frozen=True, eq=False)
class Best:
    """Items of a shard with their scores and, where asked for, their vectors."""

    rows: Int[Array, " m"]
    scores: Float[Array, " m"]
    vectors: Float[Array, "m D"]


def best_of(above: Above, shard: Shard, ties: Int[Array, " t"], some: Int[Array, " s"] | None) -> Best:
    """The best items of a shard, or some of them by their rank."""
    rows, scores = above.rows(shard, ties)
    if some is not None:
        rows, scores = rows[some], scores[some]
    return Best(rows, scores, vectors_at(above, shard, rows) if above.vectors else np.zeros((len(rows), 0)))


def vectors_at(above: Above, shard: Shard, rows: Int[Array, " m"]) -> Float[Array, "m D"]:
    """Vectors of some items, in any order, each row group read once."""
    order = np.argsort(rows)
    ascending = rows[order]
    parts = []
    with limits(memory=max(above.given.reading.memory // 4, 2**20)):
        for start, probs in above.given.reading.answers(shard, ascending):
            low, high = np.searchsorted(ascending, [start, start + probs.shape[1]])
            parts.append(above.scorer.rows(probs[:, ascending[low:high] - start]))
    found = np.concatenate(parts)
    vectors = np.empty_like(found)
    vectors[order] = found
    return vectors
