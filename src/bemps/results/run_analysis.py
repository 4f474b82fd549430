"""Analysis of the pools of a run: data maps, calibration over epochs, projections.

A data map and its errors are those that the run wrote, or else those of a softmax regression on the vectors of the
pool. Results are stored in the folder `analysis` of the run, and computed again only if their inputs change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from jaxtyping import Float

from bemps._utils.files import make_folder, slug, written_whole
from bemps.data.arrays import read_arrays
from bemps.errors import InputError
from bemps.experiments.epoch_training import ece_of_epochs
from bemps.experiments.inputs.run_data import PoolItems
from bemps.limits import library_threads
from bemps.results.data_maps import DataMap, data_map, training_dynamics
from bemps.results.learning_curves import Setting
from bemps.results.run_cells import Batches, acquired_ids, model_matches
from bemps.results.run_epochs import Errors, ItemMap, errors_of, maps_of
from bemps.results.run_pools import PoolKey, pools_of
from bemps.results.run_reading import RunFolder
from bemps.results.tsne import projection, shown_items
from bemps.types import Array

MOST_PROJECTED = 1500  # items of a projection
VERSION = b"1"  # of the computations; with another one everything is computed again
Arrays = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Projection:
    """The projected items of a dataset.

    Attributes
    ----------
    positions : dict of str to int
        The position of each item, by id.
    points : array of float (N, 2)
        The coordinates.
    labels : tuple of str
        The names of the classes.
    """

    positions: dict[str, int]
    points: Float[Array, "N 2"]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RunAnalysis:
    """Everything that is computed from pools, by dataset and model.

    Attributes
    ----------
    maps : dict
        Data maps.
    errors : dict
        Calibration errors over epochs, by the kind of the bins.
    projections : dict
        t-SNE projections of the acquired items and a draw of the rest.
    """

    maps: dict[PoolKey, ItemMap]
    errors: dict[PoolKey, Errors]
    projections: dict[PoolKey, Projection]


def analyse_run(run: RunFolder, progress: Callable[[str], None] = lambda words: None) -> RunAnalysis:
    """Compute what the run did not write itself, as far as its files allow.

    Parameters
    ----------
    run : RunFolder
        The run.
    progress : callable
        Is called with words for what is being done.

    Returns
    -------
    RunAnalysis
        The analysis.
    """
    acquired = acquired_ids(run)
    pools = pools_of(run) if run.tables.get("acquired") else {}
    maps, errors = maps_of(run), errors_of(run)
    written = {dataset for dataset, _ in maps}
    for key, items in pools.items():
        if key[0] not in written:
            progress(f"data map of {key[0]}")
            maps[key] = _trained_map(run, key, items)
            if key not in errors and items.test is not None:
                errors[key] = _trained_errors(run, key, items, items.test)
    projections = {}
    for key, items in pools.items():
        batches = [names for setting, names in acquired.items() if pool_matches(key, setting)]
        if batches:
            progress(f"projection of {key[0]}")
            projections[key] = _projected(run, key, items, batches)
    return RunAnalysis(maps, errors, projections)


def pool_matches(key: PoolKey, setting: Setting) -> bool:
    """Whether the results of a pool belong to a setting."""
    return setting.dataset == key[0] and model_matches(key[1], setting)


def _trained_map(run: RunFolder, key: PoolKey, items: PoolItems) -> ItemMap:
    """The map of a softmax regression on the vectors."""
    _, codes = np.unique(np.array(items.labels), return_inverse=True)

    def compute() -> Arrays:
        dynamics = training_dynamics(np.asarray(items.vectors, dtype=float), codes, np.random.default_rng(0))
        return dict(vars(data_map(*dynamics)))

    return list(items.ids), DataMap(**cached_arrays(_file(run, "map", key), [items.vectors, codes], compute))


def _trained_errors(
    run: RunFolder, key: PoolKey, items: PoolItems, test: tuple[tuple[str, ...], Float[Array, "M H"]]
) -> Errors:
    """The errors of a softmax regression on the vectors."""
    names, codes = np.unique(np.array(items.labels), return_inverse=True)
    code = {name: number for number, name in enumerate(names.tolist())}
    # a class that is not in the pool is never predicted
    test_codes = np.array([code.get(name, -1) for name in test[0]])

    def compute() -> Arrays:
        vectors, test_vectors = (np.asarray(rows, dtype=float) for rows in (items.vectors, test[1]))
        with library_threads(1):
            return ece_of_epochs(vectors, codes, test_vectors, test_codes, np.random.default_rng(0))

    return cached_arrays(_file(run, "epochs", key), [items.vectors, codes, test[1], test_codes], compute)


def _projected(run: RunFolder, key: PoolKey, items: PoolItems, acquired: Sequence[Batches]) -> Projection:
    """Everything that was acquired with the first seed, and a draw of the rest, projected."""
    position = {name: i for i, name in enumerate(items.ids)}
    batches = [batch for names in acquired for seeds in names.values() for batch in seeds[min(seeds)]]
    marked = {position[name] for batch in batches for name in batch if name in position}
    rng = np.random.default_rng(0)
    rows = shown_items(len(position), marked, MOST_PROJECTED, rng)
    vectors = np.asarray(items.vectors[rows], dtype=float)
    points = cached_arrays(_file(run, "tsne", key), [vectors, rows], lambda: {"points": projection(vectors, rng)})[
        "points"
    ]
    shown = rows.tolist()
    return Projection({items.ids[row]: i for i, row in enumerate(shown)}, points, tuple(items.labels[i] for i in shown))


def _file(run: RunFolder, kind: str, key: PoolKey) -> Path:
    return run.path / "analysis" / f"{slug('-'.join([kind, *filter(None, key)]))}.npz"


def cached_arrays(path: Path, inputs: Sequence[Array], compute: Callable[[], Arrays]) -> Arrays:
    """Read arrays from a file, or compute and write them if the file does not hold those of the same inputs.

    Parameters
    ----------
    path : Path
        The file.
    inputs : sequence of array
        The inputs. Their digest is in the file.
    compute : callable
        Computes the arrays by name.

    Returns
    -------
    dict of str to array
        The arrays.
    """
    digest = _digest(inputs)
    arrays = _read(path)
    if str(arrays.pop("digest", "")) == digest:
        return dict(arrays)
    computed = compute()
    make_folder(path.parent, "folder")
    with written_whole(path, "analysis") as draft:
        np.savez(draft, allow_pickle=False, digest=np.array(digest), **computed)
    return computed


def _digest(inputs: Sequence[Array]) -> str:
    digest = blake2b(VERSION, digest_size=16)
    for array in inputs:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _read(path: Path) -> Arrays:
    try:
        arrays = read_arrays(path, path.name)
    except InputError:  # missing or damaged: computed again
        return {}
    return dict(arrays) if isinstance(arrays, Mapping) else {}
