"""The pool on the driver: its shards, and the tasks that the driver runs over all of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.watchers import Watcher
from bemps.distributed.job_executor import TaskExecutor
from bemps.distributed.pools import exact_rank, worker_tasks
from bemps.distributed.pools.exact_rank import BucketCounts, ScoreThreshold
from bemps.distributed.pools.pool_sums import PoolSums
from bemps.distributed.pools.scorers import Scorer
from bemps.distributed.pools.shard_pass import ShardPass, ShardResult, process_shard, scores_folder
from bemps.distributed.pools.shards import Shard
from bemps.errors import InputError
from bemps.gain import ranking
from bemps.types import Array

SHARDS_PER_TASK = 16  # for tasks that take milliseconds for a shard


@dataclass(frozen=True, eq=False)
class TaskRunner:
    """Runs tasks through an executor and reports their progress to a watcher."""

    executor: TaskExecutor
    watcher: Watcher

    def run_all(
        self, stage: str, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Run all jobs, and return their results in the order of the jobs.

        Parameters
        ----------
        stage : str
            The name of the stage for the watcher.
        work : callable
            The function.
        shared : object
            Its first argument, the same for all jobs.
        jobs : sequence of tuple
            The further arguments of each job.

        Returns
        -------
        list
            The results.
        """
        return [result for _, result in sorted(self.run(stage, work, shared, jobs), key=lambda pair: pair[0])]

    def run(
        self, stage: str, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield pairs of the number of a job and its result, in the order in which jobs finish.

        Parameters
        ----------
        stage, work, shared, jobs
            As in `run_all`.

        Returns
        -------
        iterator of tuple
            Number and result of each job.
        """
        self.watcher.stage(stage, len(jobs))
        for done, pair in enumerate(self.executor.map(work, shared, jobs)):
            yield pair
            self.watcher.progress(done + 1)


@dataclass(frozen=True, eq=False)
class ShardedPool:
    """A pool: shards in the order of their names.

    Attributes
    ----------
    runner : TaskRunner
        Runs tasks over the shards.
    shards : tuple of Shard
        The shards. Item i of the pool is row i - start of the shard that holds it.
    """

    runner: TaskRunner
    shards: tuple[Shard, ...]

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.starts[-1])

    @property
    def starts(self) -> Int[Array, " S1"]:
        """The position of each shard's first item, and at the end the size of the pool."""
        return np.cumsum([0, *(shard.rows for shard in self.shards)])

    def run_pass(self, shard_pass: ShardPass, stage: str) -> "tuple[ShardedPool, PoolSums, list[BucketCounts] | None]":
        """Process all shards. Return the pool without skipped shards, its sums and its counted scores (or None)."""
        jobs = [(shard,) for shard in self.shards]
        results: list[ShardResult | None] = self.runner.run_all(stage, process_shard, shard_pass, jobs)
        readable = [result for result in results if result is not None]
        if not readable:
            raise InputError("source", expected="a shard that can be read", got="only corrupt ones", fix="Check them.")
        for result in readable:
            readable[0].sums.refuse_other_shape(result.sums, str(result.shard))
        # sums in the order of the shards: the same to the last bit however the tasks came in
        sums = reduce(add, (result.sums for result in readable))
        counts = [result.counts for result in readable if result.counts is not None]
        return ShardedPool(self.runner, tuple(result.shard for result in readable)), sums, counts or None

    def split(self, positions: Int[Array, " n"]) -> list[tuple[Shard, Int[Array, " _"], Int[Array, " _"]]]:
        """Return for each shard with some of the positions which of them, and their rows in ascending order."""
        order = np.argsort(positions, kind="stable")
        edges = np.searchsorted(positions[order], self.starts)
        parts = []
        for shard, start, (low, high) in zip(self.shards, self.starts, pairwise(edges), strict=False):
            if high > low:
                which = order[low:high]
                parts.append((shard, which, positions[which] - start))
        return parts

    def gather(self, shard_pass: ShardPass, positions: Int[Array, " n"]) -> Float[Array, "E n K"]:
        """Return the members' probabilities of some items."""
        parts = self.split(positions)
        jobs = [(shard, rows) for shard, _, rows in parts]
        shard_probs = self.runner.run_all("reading items", worker_tasks.probabilities_at, shard_pass.reader, jobs)
        E, _, K = shard_probs[0].shape
        probs = np.empty((E, len(positions), K), shard_probs[0].dtype)
        for (_, which, _), part in zip(parts, shard_probs, strict=True):
            probs[:, which] = part
        return probs

    def score_threshold(
        self, shard_pass: ShardPass, scorer: Scorer, counts: list[BucketCounts], n: int
    ) -> ScoreThreshold:
        """Find the threshold between the n best scores of the pool and the others.

        Parameters
        ----------
        shard_pass : ShardPass
            The pass that saved the scores.
        scorer : Scorer
            Computed the scores.
        counts : list
            The scores of each shard, counted by their first digits.
        n : int
            How many of the best.

        Returns
        -------
        ScoreThreshold
            The threshold.
        """
        groups = [self.shards[i : i + SHARDS_PER_TASK] for i in range(0, len(self.shards), SHARDS_PER_TASK)]

        def count_level(level: int, prefix: int) -> list[BucketCounts]:
            shared = (shard_pass.folder, scores_folder(scorer), level, prefix)
            parts = self.runner.run_all("ranking", worker_tasks.count_scores, shared, [(group,) for group in groups])
            return [shard_counts for group_counts in parts for shard_counts in group_counts]

        score = exact_rank.nth_largest(n, counts, count_level)
        margin = ranking.tolerance(exact_rank.largest_size(counts))
        low, high = score - margin, score + margin
        shared = (shard_pass.folder, scores_folder(scorer), low, high)
        parts = self.runner.run_all("ranking", worker_tasks.count_at_threshold, shared, [(group,) for group in groups])
        above, equal = np.array([pair for group_counts in parts for pair in group_counts], np.int64).T
        return ScoreThreshold(low, high, margin, above, equal)
