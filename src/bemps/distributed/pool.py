"""The pool as the driver sees it: shards with places, and the few questions that it asks of all of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.distributed import quantile, tasks
from bemps.distributed.facts import Facts
from bemps.distributed.flow import Flow
from bemps.distributed.quantile import Counts, Edge
from bemps.distributed.scorers import Scorer
from bemps.distributed.shards import Shard
from bemps.distributed.visit import Pass, Visited, scores_kind, visit
from bemps.errors import InputError
from bemps.experiments.progress import Watcher
from bemps.types import Array

GROUP = 16  # shards in one task where each takes milliseconds


@dataclass(frozen=True, eq=False)
class Asking:
    """How the driver reaches the workers, and who is told how far it is."""

    flow: Flow
    watcher: Watcher

    def every(self, stage: str, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of all jobs, in their order."""
        return [result for _, result in sorted(self.each(stage, work, shared, jobs), key=lambda pair: pair[0])]

    def each(
        self, stage: str, work: Callable[..., Any], shared: object, jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Pairs of a job's number and its result, as they come."""
        self.watcher.stage(stage, len(jobs))
        for done, pair in enumerate(self.flow.map(work, shared, jobs)):
            yield pair
            self.watcher.progress(done + 1)


@dataclass(frozen=True, eq=False)
class Pool:
    """Shards in the order of their names; item i of the pool is row i - start of the shard that holds it."""

    asking: Asking
    shards: tuple[Shard, ...]

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    @property
    def starts(self) -> Int[Array, " S1"]:
        """Where each shard begins, and at last the end."""
        return np.cumsum([0, *(shard.rows for shard in self.shards)])

    def visited(self, given: Pass, stage: str) -> "tuple[Pool, Facts, list[Counts] | None]":
        """A pass over all shards: the pool as it is after it, its facts and, with a scorer, its scores counted."""
        found: list[Visited | None] = self.asking.every(stage, visit, given, [(shard,) for shard in self.shards])
        whole = [one for one in found if one is not None]
        if not whole:
            raise InputError("source", expected="a shard that can be read", got="only corrupt ones", fix="Check them.")
        for one in whole:
            whole[0].facts.refuse_unlike(one.facts, str(one.shard))
        # sums in the order of the shards: the same to the last bit however the tasks came in
        facts = reduce(add, (one.facts for one in whole))
        counts = [one.counts for one in whole if one.counts is not None]
        return Pool(self.asking, tuple(one.shard for one in whole)), facts, counts or None

    def split(self, positions: Int[Array, " n"]) -> list[tuple[Shard, Int[Array, " _"], Int[Array, " _"]]]:
        """For each shard with some of the positions: which of them, and their rows there in ascending order."""
        order = np.argsort(positions, kind="stable")
        edges = np.searchsorted(positions[order], self.starts)
        parts = []
        for shard, start, (low, high) in zip(self.shards, self.starts, pairwise(edges), strict=False):
            if high > low:
                which = order[low:high]
                parts.append((shard, which, positions[which] - start))
        return parts

    def gather(self, given: Pass, positions: Int[Array, " n"]) -> Float[Array, "E n K"]:
        """The members' answers for some items."""
        parts = self.split(positions)
        jobs = [(shard, rows) for shard, _, rows in parts]
        found = self.asking.every("reading items", tasks.answers_at, given.reading, jobs)
        E, _, K = found[0].shape
        probs = np.empty((E, len(positions), K), found[0].dtype)
        for (_, which, _), part in zip(parts, found, strict=True):
            probs[:, which] = part
        return probs

    def edge(self, given: Pass, scorer: Scorer, counts: list[Counts], n: int) -> Edge:
        """The n-th largest score of the pool."""
        groups = [self.shards[i : i + GROUP] for i in range(0, len(self.shards), GROUP)]

        def deeper(level: int, prefix: int) -> list[Counts]:
            shared = (given.folder, scores_kind(scorer), level, prefix)
            jobs = [(group,) for group in groups]
            return [one for part in self.asking.every("ranking", tasks.count_scores, shared, jobs) for one in part]

        return quantile.find_edge(n, counts, deeper)
