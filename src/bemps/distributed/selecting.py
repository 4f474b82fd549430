"""`bemps.distributed.select`: `bemps.select` for pools that do not fit in memory."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bemps import checks
from bemps.distributed import tasks
from bemps.distributed.cluster import Place, connected, needed_ray
from bemps.distributed.clustering import Picked
from bemps.distributed.columns import PROBS
from bemps.distributed.flow import Flow, Here, RayFlow
from bemps.distributed.folder import Folder
from bemps.distributed.models import Carried
from bemps.distributed.plans import Choosing, find_plan
from bemps.distributed.pool import Asking, Pool
from bemps.distributed.shards import Store, find_shards, look, refuse_other_schema
from bemps.distributed.visit import Pass, Reading
from bemps.errors import InputError
from bemps.experiments.progress import Silent, Watcher
from bemps.members.base import HasWeights
from bemps.selection import AUTO, automatic
from bemps.types import Array, Seed, Selection

HERE = "here"


@dataclass(frozen=True, eq=False)
class PoolSelection(Selection):
    """A batch from shards. `indices` count through the shards in the order of their names.

    shards, rows   where each item is
    ids            from the id column, where one was named
    cluster_sizes  how many candidates each pick stands for, where the strategy clusters
    candidates     how many items were clustered: the top fraction
    sampled        how many of them k-means saw, None if all (then the batch is that of `bemps.select`)
    skipped        corrupt shards that were left out
    """

    shards: tuple[str, ...] = ()
    rows: Int[Array, " B"] = field(default_factory=lambda: np.zeros(0, np.int64))
    ids: tuple[str, ...] | None = None
    cluster_sizes: Int[Array, " B"] | None = None
    candidates: int | None = None
    sampled: int | None = None
    skipped: tuple[str, ...] = ()


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
    """Choose n items of a pool in Parquet shards: the batch of `bemps.select` on the same probabilities and seed.

    source     a folder or any fsspec URL of Parquet files
    model      a fitted model (or a function that makes one) to predict the shards with; None: they hold probabilities
    items      with a model: the column of texts or of lists of numbers that it reads, or several columns of numbers
    probs      without a model: the column of probabilities, E lists of K for each item
    id         a column of ids to report
    on         `ray` (this machine), `ray://host:port`, `host:port`; `?gpus=0.5` after it says what a task needs;
               `here`: one shard after the other in this process, without Ray
    work       a folder or URL that every node reaches: with it, a selection that was stopped goes on
    version    a word for the model's content, where its bytes differ between runs though the model does not
    memory     bytes that a worker aims for beside the model; cluster_memory: bytes of vectors that k-means may see
    The other arguments and the strategy's options are those of `bemps.select`.
    """
    strategy = automatic(probs=True, vectors=False) if strategy == AUTO else strategy
    plan, every = find_plan(strategy, options)
    rng = checks.generator(seed)
    place = _place(on, work)
    store, watcher = Store(dict(storage_options or {})), watcher or Silent()
    carried = None if model is None else Carried.of(model, version)
    given_weights = weights if weights is not None or not isinstance(model, HasWeights) else model.weights
    kept, w = _weights(given_weights)
    with ExitStack() as stack:
        folder = Folder(stack.enter_context(_work(work)), store)
        folder.begin()
        asking = Asking(stack.enter_context(_flow(place)), watcher)
        columns = _columns(carried, items, probs)
        reading = Reading(store, probs, kept, checks.whole(memory, "memory", 2**22))
        given = Pass(reading, folder, w, model=carried, items=columns if carried else (), skip_corrupt=skip_corrupt)
        points = None if estimation is None else reading.members(checks.probabilities(estimation, "estimation"))
        pool, damaged = _pool(asking, str(source), store, [*columns, *([id] if id else [])], skip_corrupt)
        checks.batch_size(n, pool.size)
        choosing = Choosing(
            strategy, plan, every, n, rng, given, w, points, checks.whole(cluster_memory, "cluster_memory", 1)
        )
        left, picked = choosing.batch(pool)
        kept_names = {shard.name for shard in left.shards}
        skipped = [*damaged, *(shard.name for shard in pool.shards if shard.name not in kept_names)]
        originals = Pool(asking, tuple(shard for shard in pool.shards if shard.name in kept_names))
        return _told(originals, picked, id, store, tuple(sorted(skipped)))


def _place(on: str, work: str | Path | None) -> Place | None:
    """Where the work is done; None: here."""
    if on == HERE:
        return None
    place = Place.of(on)
    if place.address is not None and work is None:
        raise InputError("work", expected="a folder or URL that all nodes reach", got="none", fix="Pass work=...")
    needed_ray(place)
    return place


def _weights(given: ArrayLike | None) -> tuple[Any, Float[Array, " F"] | None]:
    """Which members count, and their weights; (None, None) for all alike."""
    if given is None:
        return None, None
    w = checks.distribution(given, len(np.asarray(given)), "weights")
    kept = w > checks.NO_WEIGHT
    return kept, w[kept] / w[kept].sum() if not kept.all() else w


def _columns(model: Carried | None, items: str | Sequence[str] | None, probs: str) -> tuple[str, ...]:
    if model is None:
        return (probs,)
    if not items:
        fix = "For example items='text'."
        raise InputError("items", expected="the column that the model reads", got="none", fix=fix)
    return (items,) if isinstance(items, str) else tuple(items)


@contextmanager
def _work(work: str | Path | None) -> Iterator[str]:
    """The work folder; without one, a folder that is gone afterwards."""
    if work is not None:
        text = str(work)
        yield text if "://" in text else str(Path(text).resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="bemps-") as folder:
            yield folder


@contextmanager
def _flow(place: Place | None) -> Iterator[Flow]:
    if place is None:
        yield Here()
    else:
        with connected(place) as ray:
            yield RayFlow(ray, place.needs)


def _pool(asking: Asking, source: str, store: Store, columns: list[str], skip_corrupt: bool) -> tuple[Pool, list[str]]:
    """The shards that have rows, and the names of those whose footers are damaged."""
    shards = find_shards(source, store)
    jobs = [(shard, columns, skip_corrupt) for shard in shards]
    found = asking.every("looking", look, store, jobs)
    footers = [footer for footer in found if footer is not None]
    if not footers:
        raise InputError("source", expected="a shard that can be read", got="only corrupt ones", fix="Check them.")
    refuse_other_schema(footers)
    whole = tuple(footer.shard for footer in footers if footer.shard.rows)
    if not whole:
        raise InputError("source", expected="at least one item", got="empty shards", fix="Check the source.")
    return Pool(asking, whole), [s.name for s, footer in zip(shards, found, strict=True) if footer is None]


def _told(pool: Pool, picked: Picked, id: str | None, store: Store, skipped: tuple[str, ...]) -> PoolSelection:
    """The batch with the places of its items."""
    names = np.empty(len(picked.indices), object)
    ids = np.empty(len(picked.indices), object)
    rows = np.empty(len(picked.indices), np.int64)
    parts = pool.split(picked.indices)
    for shard, which, there in parts:
        names[which], rows[which] = shard.name, there
    if id is not None:
        jobs = [(shard, there) for shard, _, there in parts]
        found = pool.asking.every("reading ids", tasks.names_at, (store, id), jobs)
        for (_, which, _), some in zip(parts, found, strict=True):
            ids[which] = some
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
        skipped=skipped,
    )
