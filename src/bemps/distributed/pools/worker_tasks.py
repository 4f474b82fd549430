"""Tasks of a worker beside a pass: items at some rows, counts of scores, the best items of a shard."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.distributed.pools import exact_rank
from bemps.distributed.pools.exact_rank import BucketCounts
from bemps.distributed.pools.scorers import Scorer
from bemps.distributed.pools.shard_pass import ProbabilityReader, ShardPass, scores_folder
from bemps.distributed.pools.shards import FileStore, Shard, batches
from bemps.distributed.pools.work_folder import WorkFolder
from bemps.errors import InputError
from bemps.limits import limits
from bemps.types import Array


def probabilities_at(reader: ProbabilityReader, shard: Shard, rows: Int[Array, " m"]) -> Float[Array, "E m K"]:
    """Read the members' probabilities at some rows.

    Parameters
    ----------
    reader : ProbabilityReader
        Reads the shard.
    shard : Shard
        The shard.
    rows : array of int (m,)
        The rows, ascending.

    Returns
    -------
    array of float (E, m, K)
        The probabilities.
    """
    parts = []
    for start, probs in reader.read(shard, rows):
        low, high = np.searchsorted(rows, [start, start + probs.shape[1]])
        parts.append(probs[:, rows[low:high] - start])
    return np.concatenate(parts, axis=1)


def ids_at(shared: tuple[FileStore, str], shard: Shard, rows: Int[Array, " m"]) -> list[str]:
    """Read the ids at some rows.

    Parameters
    ----------
    shared : tuple of FileStore and str
        Access to the files, and the column of ids.
    shard : Shard
        The shard.
    rows : array of int (m,)
        The rows, ascending.

    Returns
    -------
    list of str
        The ids.
    """
    store, column = shared
    ids: list[str] = []
    with store.parquet(shard) as file:
        for start, batch in batches(file, [column], 65_536, rows):
            low, high = np.searchsorted(rows, [start, start + batch.num_rows])
            ids += [str(item_id) for item_id in batch.column(0).take(rows[low:high] - start).to_pylist()]
    return ids


def load_scores(folder: WorkFolder, kind: str, shard: Shard) -> Float[Array, " n"]:
    """Load the scores that an earlier pass saved.

    Parameters
    ----------
    folder : WorkFolder
        The work folder.
    kind : str
        The folder of the scores in it.
    shard : Shard
        The shard.

    Returns
    -------
    array of float (n,)
        The scores.
    """
    saved = folder.load(kind, shard)
    if saved is None:
        raise InputError(
            str(shard), expected="its scores in the work folder", got="none", fix="Was it cleaned? Run again."
        )
    return saved["scores"]


def count_scores(shared: tuple[WorkFolder, str, int, int], shards: Sequence[Shard]) -> list[BucketCounts]:
    """Count the digits of the scores of each shard at one level."""
    folder, kind, level, prefix = shared
    return [
        exact_rank.count_digits(exact_rank.sortable_keys(load_scores(folder, kind, shard)), level, prefix)
        for shard in shards
    ]


def count_at_threshold(shared: tuple[WorkFolder, str, float, float], shards: Sequence[Shard]) -> list[tuple[int, int]]:
    """Count the scores of each shard above a threshold, and those equal to it."""
    folder, kind, low, high = shared
    return [exact_rank.count_above_and_equal(load_scores(folder, kind, shard), low, high) for shard in shards]


@dataclass(frozen=True, eq=False)
class TopQuery:
    """A query for the best items: those with scores above a threshold and, of those equal to it, some by rank.

    Attributes
    ----------
    shard_pass : ShardPass
        The pass that saved the scores.
    scorer : Scorer
        Computed the scores.
    low, high : float
        The threshold.
    vectors : bool
        Whether vectors are needed.
    """

    shard_pass: ShardPass
    scorer: Scorer
    low: float
    high: float
    vectors: bool = False

    def rows(self, shard: Shard, ties: Int[Array, " t"]) -> tuple[Int[Array, " m"], Float[Array, " m"]]:
        """Return rows and scores: those above in ascending order, then the ties in the order of their ranks."""
        scores = load_scores(self.shard_pass.folder, scores_folder(self.scorer), shard)
        above = scores > self.high
        rows = np.concatenate([np.flatnonzero(above), np.flatnonzero((scores >= self.low) & ~above)[ties]])
        return rows, scores[rows]


@dataclass(frozen=True, eq=False)
class TopItems:
    """Some items of a shard.

    Attributes
    ----------
    rows : array of int (m,)
        Their rows.
    scores : array of float (m,)
        Their scores.
    vectors : array of float (m, D)
        Their vectors, if the query needs them.
    """

    rows: Int[Array, " m"]
    scores: Float[Array, " m"]
    vectors: Float[Array, "m D"]


def top_items_of(query: TopQuery, shard: Shard, ties: Int[Array, " t"], ranks: Int[Array, " s"] | None) -> TopItems:
    """Find the best items of a shard, or some of them by rank.

    Parameters
    ----------
    query : TopQuery
        The query.
    shard : Shard
        The shard.
    ties : array of int (t,)
        Ranks drawn among the ties of the shard.
    ranks : array of int (s,), optional
        Which of the best items. None: all.

    Returns
    -------
    TopItems
        The items.
    """
    rows, scores = query.rows(shard, ties)
    if ranks is not None:
        rows, scores = rows[ranks], scores[ranks]
    return TopItems(rows, scores, vectors_at(query, shard, rows) if query.vectors else np.zeros((len(rows), 0)))


def vectors_at(query: TopQuery, shard: Shard, rows: Int[Array, " m"]) -> Float[Array, "m D"]:
    """Compute the vectors of some items. Each row group is read once.

    Parameters
    ----------
    query : TopQuery
        The query.
    shard : Shard
        The shard.
    rows : array of int (m,)
        The rows, in any order.

    Returns
    -------
    array of float (m, D)
        The vectors.
    """
    order = np.argsort(rows)
    ascending = rows[order]
    parts = []
    with limits(memory=max(query.shard_pass.reader.memory // 4, 2**20)):
        for start, probs in query.shard_pass.reader.read(shard, ascending):
            low, high = np.searchsorted(ascending, [start, start + probs.shape[1]])
            parts.append(query.scorer.rows(probs[:, ascending[low:high] - start]))
    ordered = np.concatenate(parts)
    vectors = np.empty_like(ordered)
    vectors[order] = ordered
    return vectors
