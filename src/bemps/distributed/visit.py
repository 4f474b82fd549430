"""What a worker does with a shard: read it once, predict if need be, add up, score, and keep the results."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from jaxtyping import Bool, Float, Int

from bemps import checks
from bemps.distributed import columns, quantile
from bemps.distributed.facts import Facts
from bemps.distributed.folder import Folder, signature
from bemps.distributed.models import Carried
from bemps.distributed.quantile import Counts
from bemps.distributed.scorers import Scorer, uniform
from bemps.distributed.shards import CorruptShard, Shard, Store, batches
from bemps.errors import InputError
from bemps.limits import limits
from bemps.types import Array

MOST_ROWS = 65_536
PREDICTED_ROWS = 16_384  # items that a model sees in one call


@dataclass(frozen=True, eq=False)
class Reading:
    """How the members' answers for a shard are had: `kept` says which members have any weight."""

    store: Store
    column: str
    kept: Bool[Array, " E"] | None
    memory: int

    def answers(
        self, shard: Shard, wanted: Int[Array, " m"] | None = None
    ) -> Iterator[tuple[int, Float[Array, "E n K"]]]:
        """Checked probabilities in batches, each with the place of its first row."""
        with self.store.parquet(shard) as file:
            for start, batch in batches(file, [self.column], self._rows(file), wanted):
                probs = columns.probabilities(batch.column(0), str(shard))
                yield start, self.members(checks.probabilities(probs, str(shard)))

    def members(self, probs: Float[Array, "E n K"]) -> Float[Array, "F n K"]:
        """The members of some weight."""
        if self.kept is None:
            return probs
        if len(self.kept) != len(probs):
            got = f"{len(self.kept)} for {len(probs)} members"
            raise InputError("weights", expected="one for each member", got=got, fix="Give them in the members' order.")
        return probs if self.kept.all() else probs[self.kept]

    def _rows(self, file: pq.ParquetFile) -> int:
        """Rows of a batch: about a sixteenth of the memory, as kernels make float64 copies of what they are given."""
        rows = max(1, file.metadata.num_rows)
        numbers = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)) / rows
        return int(np.clip(self.memory / 16 / max(numbers, 1.0), 256, MOST_ROWS))


@dataclass(frozen=True, eq=False)
class Pass:
    """What is wanted of every shard in one pass over the pool."""

    reading: Reading
    folder: Folder
    weights: Float[Array, " F"] | None  # None: uniform over as many members as there turn out to be
    wanted: tuple[str, ...] = ()
    scorer: Scorer | None = None
    model: Carried | None = None
    items: tuple[str, ...] = ()
    skip_corrupt: bool = False

    @property
    def predictions(self) -> str:
        """Where predictions are kept, by what they depend on."""
        return f"predictions-{signature(self.model.version if self.model else None, self.items)}"

    @property
    def facts(self) -> str:
        known = None if self.weights is None else self.weights.tolist()
        return f"facts-{signature(self.predictions, self.wanted, known)}"


def scores_kind(scorer: Scorer) -> str:
    return f"scores-{scorer.signature}"


@dataclass(frozen=True)
class Visited:
    """A shard that is done: where its probabilities are from now on, its facts, its scores counted by first digits."""

    shard: Shard
    facts: Facts
    counts: Counts | None


def visit(given: Pass, shard: Shard) -> Visited | None:
    """Everything that the pass wants of a shard, made or found; None for a corrupt one that may be skipped."""
    given.folder.require()
    try:
        with limits(memory=max(given.reading.memory // 4, 2**20)):
            return _found(given, shard) or _made(given, shard)
    except CorruptShard:
        if given.skip_corrupt:
            return None
        raise


def _found(given: Pass, shard: Shard) -> Visited | None:
    kept = given.folder.load(given.facts, shard)
    if kept is None:
        return None
    there = answered(given, shard, str(kept["digest"]))
    if given.model is not None and not _is_predicted(given, shard):
        return None
    counts = None
    if given.scorer is not None:
        scored = given.folder.load(scores_kind(given.scorer), there)
        if scored is None:
            return None
        counts = quantile.count(quantile.keys(scored["scores"]), 0, 0)
    return Visited(there, Facts.from_arrays(kept), counts)


def _made(given: Pass, shard: Shard) -> Visited:
    digest = shard.digest or given.reading.store.digest(shard)
    there = answered(given, shard, digest)
    ready = given.model is None or _is_predicted(given, shard)
    facts, scores = [], []
    for _, probs in given.reading.answers(there) if ready else _predicting(given, shard, digest):
        weights = uniform(len(probs)) if given.weights is None else given.weights
        facts.append(Facts.of(probs, weights, given.wanted))
        if given.scorer is not None:
            scores.append(given.scorer.scores(probs))
    total = reduce(add, facts)
    given.folder.save(given.facts, shard, digest, total.arrays)
    counts = None
    if given.scorer is not None:
        plain = np.concatenate(scores).astype(np.float64) + 0.0  # a negative zero is equal to zero but has other bits
        given.folder.save(scores_kind(given.scorer), there, there.digest, {"scores": plain})
        counts = quantile.count(quantile.keys(plain), 0, 0)
    return Visited(there, total, counts)


def answered(given: Pass, shard: Shard, digest: str) -> Shard:
    """The shard of the members' answers: itself, or the file of predictions, known by what it is made from."""
    if given.model is None:
        return replace(shard, digest=digest)
    kind = given.predictions
    url = f"{given.folder.url}/{given.folder.place(kind, shard, 'parquet')}"
    return replace(shard, url=url, stamp=f"{shard.stamp} {kind}", digest=f"{digest} {kind}")


def _is_predicted(given: Pass, shard: Shard) -> bool:
    """Whether there are predictions of this very content."""
    there = answered(given, shard, "")
    system, path = given.folder.store.at(there.url)
    if not system.exists(path):
        return False
    with given.folder.store.parquet(there) as file:
        told = file.schema_arrow.metadata or {}
    return given.folder.is_of(shard, *(told.get(name, b"").decode() for name in (b"stamp", b"digest")))


def _predicting(given: Pass, shard: Shard, digest: str) -> Iterator[tuple[int, Float[Array, "E n K"]]]:
    """Predictions, batch by batch, kept in a file that gets its name when all are there."""
    assert given.model is not None
    writer: pq.ParquetWriter | None = None
    with (
        given.folder.writing(given.folder.place(given.predictions, shard, "parquet")) as file,
        given.reading.store.parquet(shard) as source,
    ):
        for start, batch in batches(source, given.items, PREDICTED_ROWS):
            probs = given.model.predict(columns.items_of(batch, given.items, str(shard)), str(shard))
            column = columns.as_column(probs)
            if writer is None:
                told = {"stamp": shard.stamp, "digest": digest}
                schema = pa.schema([pa.field(columns.PROBS, column.type)], metadata=told)
                writer = pq.ParquetWriter(file, schema, **columns.WRITING)
            writer.write_batch(pa.record_batch([column], schema=writer.schema))
            yield start, given.reading.members(probs)
        if writer is not None:
            writer.close()
