"""One pass over a shard on a worker: read it, predict if there is a model, sum, score, and save the results."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from jaxtyping import Bool, Float, Int

from bemps import checks
from bemps.distributed.model_transfer import SerializedModel
from bemps.distributed.pools import exact_rank, parquet_columns
from bemps.distributed.pools.exact_rank import BucketCounts
from bemps.distributed.pools.pool_sums import PoolSums
from bemps.distributed.pools.scorers import Scorer, uniform
from bemps.distributed.pools.shards import CorruptShard, FileStore, Shard, batches
from bemps.distributed.pools.work_folder import WorkFolder, signature
from bemps.errors import InputError
from bemps.limits import limits
from bemps.types import Array

MOST_ROWS = 65_536
PREDICTED_ROWS = 16_384  # items that a model sees in one call


@dataclass(frozen=True, eq=False)
class ProbabilityReader:
    """Reads the members' probabilities of a shard.

    Attributes
    ----------
    store : FileStore
        Access to the files.
    column : str
        The column of the probabilities.
    members_mask : array of bool (E,) or None
        Which members have any weight. None: all.
    memory : int
        Bytes that a worker aims to use.
    """

    store: FileStore
    column: str
    members_mask: Bool[Array, " E"] | None
    memory: int

    def read(self, shard: Shard, rows: Int[Array, " m"] | None = None) -> Iterator[tuple[int, Float[Array, "E n K"]]]:
        """Yield checked probabilities in batches, each with the number of its first row."""
        with self.store.parquet(shard) as file:
            for start, batch in batches(file, [self.column], self._rows(file), rows):
                probs = parquet_columns.probabilities(batch.column(0), str(shard))
                yield start, self.with_weight(checks.probabilities(probs, str(shard)))

    def with_weight(self, probs: Float[Array, "E n K"]) -> Float[Array, "F n K"]:
        """Return the probabilities of the members that have any weight."""
        if self.members_mask is None:
            return probs
        if len(self.members_mask) != len(probs):
            got = f"{len(self.members_mask)} for {len(probs)} members"
            raise InputError("weights", expected="one for each member", got=got, fix="Give them in the members' order.")
        return probs if self.members_mask.all() else probs[self.members_mask]

    def _rows(self, file: pq.ParquetFile) -> int:
        """Rows of a batch: about a sixteenth of the memory, as kernels make float64 copies of their arguments."""
        rows = max(1, file.metadata.num_rows)
        numbers = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)) / rows
        return int(np.clip(self.memory / 16 / max(numbers, 1.0), 256, MOST_ROWS))


@dataclass(frozen=True, eq=False)
class ShardPass:
    """What to compute for every shard in one pass over the pool.

    Attributes
    ----------
    reader : ProbabilityReader
        Reads the probabilities.
    folder : WorkFolder
        Where results are saved.
    weights : array of float (F,) or None
        Weights of the members. None: uniform.
    sum_names : tuple of str
        The sums to compute (`PoolSums.from_probs`).
    scorer : Scorer, optional
        Computes the scores.
    model : SerializedModel, optional
        Predicts the shards.
    items : tuple of str
        The columns that the model reads.
    skip_corrupt : bool
        Whether damaged shards are left out.
    """

    reader: ProbabilityReader
    folder: WorkFolder
    weights: Float[Array, " F"] | None
    sum_names: tuple[str, ...] = ()
    scorer: Scorer | None = None
    model: SerializedModel | None = None
    items: tuple[str, ...] = ()
    skip_corrupt: bool = False

    @property
    def predictions_folder(self) -> str:
        """The folder of predictions in the work folder, named by what they depend on."""
        return f"predictions-{signature(self.model.version if self.model else None, self.items)}"

    @property
    def sums_folder(self) -> str:
        """The folder of sums in the work folder, named by what they depend on."""
        weights = None if self.weights is None else self.weights.tolist()
        return f"facts-{signature(self.predictions_folder, self.sum_names, weights)}"


def scores_folder(scorer: Scorer) -> str:
    """The folder of scores in the work folder, named by what they depend on."""
    return f"scores-{scorer.signature}"


@dataclass(frozen=True)
class ShardResult:
    """The result of a pass over a shard.

    Attributes
    ----------
    shard : Shard
        The shard that holds the probabilities.
    sums : PoolSums
        Its sums.
    counts : tuple of arrays, or None
        Its scores, counted by their first digits.
    """

    shard: Shard
    sums: PoolSums
    counts: BucketCounts | None


def process_shard(shard_pass: ShardPass, shard: Shard) -> ShardResult | None:
    """Load or compute the result of a pass over a shard. None: the shard is corrupt and may be skipped."""
    shard_pass.folder.check_reachable()
    try:
        with limits(memory=max(shard_pass.reader.memory // 4, 2**20)):
            return _load_result(shard_pass, shard) or _compute_result(shard_pass, shard)
    except CorruptShard:
        if shard_pass.skip_corrupt:
            return None
        raise


def _load_result(shard_pass: ShardPass, shard: Shard) -> ShardResult | None:
    arrays = shard_pass.folder.load(shard_pass.sums_folder, shard)
    if arrays is None:
        return None
    prob_shard = probability_shard(shard_pass, shard, str(arrays["digest"]))
    if shard_pass.model is not None and not _is_predicted(shard_pass, shard):
        return None
    counts = None
    if shard_pass.scorer is not None:
        scored = shard_pass.folder.load(scores_folder(shard_pass.scorer), prob_shard)
        if scored is None:
            return None
        counts = exact_rank.count_digits(exact_rank.sortable_keys(scored["scores"]), 0, 0)
    return ShardResult(prob_shard, PoolSums.from_arrays(arrays), counts)


def _compute_result(shard_pass: ShardPass, shard: Shard) -> ShardResult:
    digest = shard.digest or shard_pass.reader.store.digest(shard)
    prob_shard = probability_shard(shard_pass, shard, digest)
    ready = shard_pass.model is None or _is_predicted(shard_pass, shard)
    sums, scores = [], []
    for _, probs in shard_pass.reader.read(prob_shard) if ready else _predict_batches(shard_pass, shard, digest):
        weights = uniform(len(probs)) if shard_pass.weights is None else shard_pass.weights
        sums.append(PoolSums.from_probs(probs, weights, shard_pass.sum_names))
        if shard_pass.scorer is not None:
            scores.append(shard_pass.scorer.scores(probs))
    total = reduce(add, sums)
    shard_pass.folder.save(shard_pass.sums_folder, shard, digest, total.arrays)
    counts = None
    if shard_pass.scorer is not None:
        column = np.concatenate(scores).astype(np.float64) + 0.0  # a negative zero is equal to zero but has other bits
        shard_pass.folder.save(scores_folder(shard_pass.scorer), prob_shard, prob_shard.digest, {"scores": column})
        counts = exact_rank.count_digits(exact_rank.sortable_keys(column), 0, 0)
    return ShardResult(prob_shard, total, counts)


def probability_shard(shard_pass: ShardPass, shard: Shard, digest: str) -> Shard:
    """The shard that holds the probabilities: the shard, or its file of predictions.

    Parameters
    ----------
    shard_pass : ShardPass
        The pass.
    shard : Shard
        The shard.
    digest : str
        The digest of its content.

    Returns
    -------
    Shard
        The shard of the probabilities.
    """
    if shard_pass.model is None:
        return replace(shard, digest=digest)
    kind = shard_pass.predictions_folder
    url = f"{shard_pass.folder.url}/{shard_pass.folder.path(kind, shard, 'parquet')}"
    return replace(shard, url=url, stamp=f"{shard.stamp} {kind}", digest=f"{digest} {kind}")


def _is_predicted(shard_pass: ShardPass, shard: Shard) -> bool:
    """Whether predictions of the shard's present content are saved."""
    prob_shard = probability_shard(shard_pass, shard, "")
    system, path = shard_pass.folder.store.resolve(prob_shard.url)
    if not system.exists(path):
        return False
    with shard_pass.folder.store.parquet(prob_shard) as file:
        metadata = file.schema_arrow.metadata or {}
    return shard_pass.folder.is_current(shard, *(metadata.get(name, b"").decode() for name in (b"stamp", b"digest")))


def _predict_batches(shard_pass: ShardPass, shard: Shard, digest: str) -> Iterator[tuple[int, Float[Array, "E n K"]]]:
    """Predictions, batch by batch, saved in a file that gets its name when all are written."""
    assert shard_pass.model is not None
    writer: pq.ParquetWriter | None = None
    with (
        shard_pass.folder.writing(shard_pass.folder.path(shard_pass.predictions_folder, shard, "parquet")) as file,
        shard_pass.reader.store.parquet(shard) as source,
    ):
        for start, batch in batches(source, shard_pass.items, PREDICTED_ROWS):
            probs = shard_pass.model.predict(parquet_columns.items_of(batch, shard_pass.items, str(shard)), str(shard))
            column = parquet_columns.as_column(probs)
            if writer is None:
                metadata = {"stamp": shard.stamp, "digest": digest}
                schema = pa.schema([pa.field(parquet_columns.PROBS, column.type)], metadata=metadata)
                writer = pq.ParquetWriter(file, schema, **parquet_columns.WRITING)
            writer.write_batch(pa.record_batch([column], schema=writer.schema))
            yield start, shard_pass.reader.with_weight(probs)
        if writer is not None:
            writer.close()
