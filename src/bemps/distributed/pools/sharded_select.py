"""`bemps.distributed.select`: `bemps.select` for pools that do not fit in memory."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bemps import checks
from bemps._utils.watchers import Silent, Watcher
from bemps.acquisition.selection import AUTO, automatic
from bemps.distributed.cluster import Cluster, connected, import_ray
from bemps.distributed.job_executor import InProcessExecutor, RayExecutor, TaskExecutor
from bemps.distributed.model_transfer import SerializedModel
from bemps.distributed.pools import worker_tasks
from bemps.distributed.pools.parquet_columns import PROBS
from bemps.distributed.pools.shard_pass import ProbabilityReader, ShardPass
from bemps.distributed.pools.sharded_batches import PoolBatch
from bemps.distributed.pools.sharded_pool import ShardedPool, TaskRunner
from bemps.distributed.pools.sharded_strategies import PoolSelector, find_plan
from bemps.distributed.pools.shards import FileStore, find_shards, read_footer, refuse_other_schema
from bemps.distributed.pools.work_folder import WorkFolder
from bemps.errors import InputError
from bemps.models.base import HasWeights
from bemps.types import Array, Seed, Selection

IN_PROCESS = "here"


@dataclass(frozen=True, eq=False)
class PoolSelection(Selection):
    """A batch from shards. `indices` count through all shards in the order of their names.

    Attributes
    ----------
    shards : tuple of str
        The name of each item's shard.
    rows : array of int (B,)
        The row of each item in its shard.
    ids : tuple of str, optional
        The ids of the items, if `select` was called with an id column.
    cluster_sizes : array of int (B,), optional
        How many candidates each item stands for, if the strategy clusters.
    candidates : int, optional
        How many items were clustered: the top fraction.
    sampled : int, optional
        How many candidates k-means saw. None: all of them, and the batch is that of `bemps.select`.
    skipped : tuple of str
        The names of corrupt shards that were left out.
    uncounted : tuple of str
        Those of them whose number of rows is unknown. `indices` and `clusters` then count without these shards.
    """

    shards: tuple[str, ...] = ()
    rows: Int[Array, " B"] = field(default_factory=lambda: np.zeros(0, np.int64))
    ids: tuple[str, ...] | None = None
    cluster_sizes: Int[Array, " B"] | None = None
    candidates: int | None = None
    sampled: int | None = None
    skipped: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()


def select(
    source: str | Path,
    model: object | None,
    n: int,
    strategy: str = AUTO,
    *,
    items: str | Sequence[str] | None = None,
    probs: str = PROBS,
    id: str | None = None,
    weights: ArrayLike | None = None,
    estimation: ArrayLike | None = None,
    seed: Seed = 0,
    on: str = "ray",
    work: str | Path | None = None,
    version: str | None = None,
    memory: int = 512 * 2**20,
    cluster_memory: int = 2**30,
    skip_corrupt: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
    **options: object,
) -> PoolSelection:
    """Select n items of a pool in Parquet shards.

    The batch is that of `bemps.select` on the same probabilities and seed.

    Parameters
    ----------
    source : str or Path
        A folder, or any fsspec URL, of Parquet files.
    model : Model, callable or None
        A fitted model that predicts the shards, or a function without arguments that returns one.
        None: the shards hold probabilities.
    n : int
        Size of the batch.
    strategy : str
        Name of the strategy. The default is that of `bemps.select`.
    items : str or sequence of str, optional
        With a model: the column of texts or of lists of numbers that it reads, or several columns of numbers.
    probs : str
        Without a model: the column of probabilities, E lists of K for each item.
    id : str, optional
        A column of ids to report.
    weights : array_like (E,), optional
        Weights of the members. The default is those of the model, or equal ones.
    estimation : array_like (E, M, K), optional
        Probabilities of the estimation pool. The default is a sample of the pool.
    seed : int or numpy.random.Generator
        Seed of the random numbers.
    on : str
        `ray` (this machine), `ray://host:port` or `host:port`, optionally followed by what a task occupies:
        `ray?gpus=0.5`. With `here` the shards are read one after the other in this process, without Ray.
    work : str or Path, optional
        A folder or URL that every node reaches. With it, a stopped selection can go on.
    version : str, optional
        A name of the model's content, for models whose bytes differ between runs.
    memory : int
        Bytes that a worker aims to use besides the model.
    cluster_memory : int
        Bytes of vectors that k-means may see.
    skip_corrupt : bool
        Whether damaged shards are left out. Otherwise they raise `CorruptShard`.
    storage_options : mapping, optional
        Options of the fsspec file system.
    watcher : Watcher, optional
        Is told the stages of the selection and how far each is.
    **options
        Options of the strategy.

    Returns
    -------
    PoolSelection
        The batch, with the shard and row of each item.

    Raises
    ------
    CorruptShard
        A shard is damaged, and `skip_corrupt` is False.
    InputError
        An argument is not valid, or the shards differ in columns, members or classes.
    """
    strategy = automatic(probs=True, vectors=False) if strategy == AUTO else strategy
    plan, all_options = find_plan(strategy, options)
    rng = checks.generator(seed)
    cluster = _cluster(on, work)
    store, watcher = FileStore(dict(storage_options or {})), watcher or Silent()
    serialized = None if model is None else SerializedModel.from_model(model, version)
    model_weights = weights if weights is not None or not isinstance(model, HasWeights) else model.weights
    members_mask, w = _weights(model_weights)
    with ExitStack() as stack:
        folder = WorkFolder(stack.enter_context(_work_folder(work)), store)
        folder.create()
        runner = TaskRunner(stack.enter_context(_executor(cluster)), watcher)
        columns = _columns(serialized, items, probs)
        reader = ProbabilityReader(store, probs, members_mask, checks.integer(memory, "memory", 2**22))
        shard_pass = ShardPass(
            reader, folder, w, model=serialized, items=columns if serialized else (), skip_corrupt=skip_corrupt
        )
        points = None if estimation is None else reader.with_weight(checks.probabilities(estimation, "estimation"))
        pool, uncounted = _pool(runner, str(source), store, [*columns, *([id] if id else [])], skip_corrupt)
        checks.batch_size(n, pool.size)
        most_bytes = checks.integer(cluster_memory, "cluster_memory", 1)
        selector = PoolSelector(strategy, plan, all_options, n, rng, shard_pass, w, points, most_bytes)
        readable, picked = selector.select(pool)
        read_names = {shard.name for shard in readable.shards}
        skipped = [*uncounted, *(shard.name for shard in pool.shards if shard.name not in read_names)]
        originals = ShardedPool(runner, tuple(shard for shard in pool.shards if shard.name in read_names))
        batch = _with_locations(pool, _among_all(pool, originals, picked), id, store)
        return replace(batch, skipped=tuple(sorted(skipped)), uncounted=tuple(uncounted))


def _cluster(on: str, work: str | Path | None) -> Cluster | None:
    """The cluster that does the work; None: this process."""
    if on == IN_PROCESS:
        return None
    cluster = Cluster.parse(on)
    if cluster.address is not None and work is None:
        raise InputError("work", expected="a folder or URL that all nodes reach", got="none", fix="Pass work=...")
    import_ray(cluster)
    return cluster


def _weights(weights: ArrayLike | None) -> tuple[Any, Float[Array, " F"] | None]:
    """A mask of the members that have any weight, and their weights; (None, None): all members are equal."""
    if weights is None:
        return None, None
    w = checks.distribution(weights, len(np.asarray(weights)), "weights")
    members_mask = w > checks.NO_WEIGHT
    return members_mask, w[members_mask] / w[members_mask].sum() if not members_mask.all() else w


def _columns(model: SerializedModel | None, items: str | Sequence[str] | None, probs: str) -> tuple[str, ...]:
    if model is None:
        return (probs,)
    if not items:
        fix = "For example items='text'."
        raise InputError("items", expected="the column that the model reads", got="none", fix=fix)
    return (items,) if isinstance(items, str) else tuple(items)


@contextmanager
def _work_folder(work: str | Path | None) -> Iterator[str]:
    """The work folder; without one, a temporary folder."""
    if work is not None:
        text = str(work)
        yield text if "://" in text else str(Path(text).resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="bemps-") as folder:
            yield folder


@contextmanager
def _executor(cluster: Cluster | None) -> Iterator[TaskExecutor]:
    if cluster is None:
        yield InProcessExecutor()
    else:
        with connected(cluster) as ray:
            yield RayExecutor(ray, cluster.resources)


def _pool(
    runner: TaskRunner, source: str, store: FileStore, columns: list[str], skip_corrupt: bool
) -> tuple[ShardedPool, list[str]]:
    """The shards that have rows, and the names of those whose footers are damaged."""
    shards = find_shards(source, store)
    jobs = [(shard, columns, skip_corrupt) for shard in shards]
    shard_footers = runner.run_all("looking", read_footer, store, jobs)
    footers = [footer for footer in shard_footers if footer is not None]
    if not footers:
        raise InputError("source", expected="a shard that can be read", got="only corrupt ones", fix="Check them.")
    refuse_other_schema(footers)
    with_rows = tuple(footer.shard for footer in footers if footer.shard.rows)
    if not with_rows:
        raise InputError("source", expected="at least one item", got="empty shards", fix="Check the source.")
    return ShardedPool(runner, with_rows), [
        s.name for s, footer in zip(shards, shard_footers, strict=True) if footer is None
    ]


def _among_all(pool: ShardedPool, readable: ShardedPool, picked: PoolBatch) -> PoolBatch:
    """The batch with positions among the items of all shards, also of those that were skipped."""
    if len(readable.shards) == len(pool.shards):
        return picked
    all_starts = dict(zip((shard.name for shard in pool.shards), pool.starts.tolist(), strict=False))
    shifts = np.array([all_starts[shard.name] for shard in readable.shards]) - readable.starts[:-1]

    def shifted(positions: Int[Array, " n"]) -> Int[Array, " n"]:
        moved: Int[Array, " n"] = positions + shifts[np.searchsorted(readable.starts, positions, side="right") - 1]
        return moved

    clusters = None if picked.clusters is None else tuple(map(shifted, picked.clusters))
    return replace(picked, indices=shifted(picked.indices), clusters=clusters)


def _with_locations(pool: ShardedPool, picked: PoolBatch, id: str | None, store: FileStore) -> PoolSelection:
    """The batch, with the shard and row of each item."""
    names = np.empty(len(picked.indices), object)
    ids = np.empty(len(picked.indices), object)
    rows = np.empty(len(picked.indices), np.int64)
    parts = pool.split(picked.indices)
    for shard, which, shard_rows in parts:
        names[which], rows[which] = shard.name, shard_rows
    if id is not None:
        jobs = [(shard, shard_rows) for shard, _, shard_rows in parts]
        id_lists = pool.runner.run_all("reading ids", worker_tasks.ids_at, (store, id), jobs)
        for (_, which, _), shard_ids in zip(parts, id_lists, strict=True):
            ids[which] = shard_ids
    return PoolSelection(
        picked.indices,
        picked.scores,
        picked.clusters,
        shards=tuple(names),
        rows=rows,
        ids=tuple(ids) if id is not None else None,
        cluster_sizes=picked.sizes,
        candidates=picked.candidates,
        sampled=picked.sampled,
    )
