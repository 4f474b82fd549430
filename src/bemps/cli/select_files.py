"""The files of `bemps select`: probabilities and other arrays, ids, and labelled items.

E  members    N  items    K  classes
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from bemps.data.arrays import check_ids, read_arrays, read_ids
from bemps.errors import InputError
from bemps.types import Array, Selection

ARRAYS = (
    "probs",
    "weights",
    "estimation",
    "features",
    "embeddings",
    "surprisal",
    "labelled_features",
    "labelled_embeddings",
    "labelled_probs",
    "labelled_classes",
    "estimation_features",
)
ITEM_AXIS = {"probs": 1, "features": 0, "embeddings": 0, "surprisal": 0}  # of the arrays that have a row for each item
SHARDS = (".parquet", ".pq")
TABLES = (".csv", ".tsv", ".jsonl", ".json", ".xlsx")


@dataclass(frozen=True, eq=False)
class Pool:
    """The content of the files.

    Attributes
    ----------
    arrays : dict of str to array or None
        The arrays by their names.
    rows : int array of shape (N,)
        The positions of the unlabelled items among all items.
    ids : tuple of str or None
        The ids of the items, if there are any.
    """

    arrays: dict[str, Array | None]
    rows: Int[Array, " N"]
    ids: tuple[str, ...] | None = None

    def named(self, selection: Selection) -> Selection:
        """A selection among the candidates, as positions among all items."""
        clusters = None if selection.clusters is None else tuple(self.rows[cluster] for cluster in selection.clusters)
        return replace(selection, indices=self.rows[selection.indices], clusters=clusters)


def read_pool(
    path: Path,
    beside: Mapping[str, Array],
    *,
    ids: Path | None = None,
    labelled: Path | None = None,
    members: int | None = None,
) -> Pool:
    """Read the arrays of the main file and of the options.

    Parameters
    ----------
    path : Path
        PROBS: a .npy file of probabilities, or a .npz file of arrays by name.
    beside : mapping of str to array
        The arrays that came as options.
    ids : Path, optional
        A file of one id for each item. By default the array `ids` of a .npz file, if it has one.
    labelled : Path, optional
        A file of ids, or of positions if there are no ids. These items are not chosen.
    members : int, optional
        The number of members that the user stated.

    Returns
    -------
    Pool
        The arrays, the rows of the candidates, and the ids.
    """
    loaded, own = _arrays(path)
    arrays: dict[str, Array | None] = {"probs": None, **loaded, **beside}
    arrays["probs"] = _with_members(arrays["probs"])
    _check_members(arrays["probs"], members)
    if arrays["probs"] is not None and arrays["probs"].ndim == 3 and arrays.get("weights") is None:
        arrays["weights"] = np.ones(len(arrays["probs"]))  # what members there are has been checked
    size = _size(arrays)
    names = own if ids is None else read_ids(ids, "--ids")
    if names is not None and size is not None:
        check_ids(names, size, "--ids" if ids is not None else f"ids of {path}")
    if labelled is None or size is None:
        return Pool(arrays, np.arange(size or 0), names)
    free = _unlabelled(read_ids(labelled, "--labelled"), names, size)
    if not len(free):
        expected, fix = "an item without a label", "There is nothing more to label."
        raise InputError("--labelled", expected=expected, got=f"labels of all {size:,}", fix=fix)
    return Pool(_taken(arrays, free, size), free, names)


def _arrays(path: Path) -> tuple[dict[str, Array], tuple[str, ...] | None]:
    """The arrays of the main file, and its ids."""
    _refuse_tables(path)
    loaded = read_arrays(path, "PROBS")
    if isinstance(loaded, np.ndarray):
        return {"probs": loaded}, None
    ids = loaded.pop("ids", None)
    if not loaded or set(loaded) - set(ARRAYS):
        raise InputError(
            str(path),
            expected=f"arrays named {', '.join(ARRAYS)} or ids",
            got=", ".join(sorted(loaded)) or "no array",
            fix="Save it with np.savez(file, probs=..., features=..., ids=...).",
        )
    return loaded, None if ids is None else tuple(map(str, ids.reshape(-1).tolist()))


def _refuse_tables(path: Path) -> None:
    """Refuse a file of another kind, and say what reads it."""
    if path.is_dir() or path.suffix.lower() in SHARDS:
        fix = f"To read Parquet files with a column probs, add --on here: bemps select {path} --on here -n ..."
        raise InputError("PROBS", expected="a .npy or .npz file, or --on", got=str(path), fix=fix)
    if path.suffix.lower() in TABLES:
        fix = "Save the probabilities of E members as an array (E, N, K) with np.save, or as Parquet for --on here."
        raise InputError("PROBS", expected="a .npy or .npz file", got=f"{path}, a table", fix=fix)


def _with_members(probs: Array | None) -> Array | None:
    """Probabilities (E, N, K); those of one model, (N, K), are of one member."""
    return probs[None] if probs is not None and probs.ndim == 2 else probs


def _check_members(probs: Array | None, members: int | None) -> None:
    """Refuse axes that look exchanged: more members than items, unless the user said how many there are."""
    if probs is None or probs.ndim != 3:
        return
    if members is not None and members != len(probs):
        raise InputError(
            "--members", expected=f"{len(probs)}, the first axis of PROBS", got=str(members), fix="Correct it."
        )
    if members is None and len(probs) > probs.shape[1]:
        raise InputError(
            "PROBS",
            expected="an array (members, items, classes)",
            got=f"shape {probs.shape}: {len(probs)} members for {probs.shape[1]} items",
            fix="If it is (items, members, classes), save probs.transpose(1, 0, 2); "
            f"if there are {len(probs)} members, add --members {len(probs)}.",
        )


def _size(arrays: Mapping[str, Array | None]) -> int | None:
    """How many items there are; None where the arrays will be refused anyway."""
    for name, axis in ITEM_AXIS.items():
        array = arrays.get(name)
        if array is not None and array.ndim > axis:
            return int(array.shape[axis])
    return None


def _unlabelled(labelled: Sequence[str], ids: Sequence[str] | None, size: int) -> Int[Array, " N"]:
    """Positions of all items but the labelled ones."""
    position = {name: row for row, name in enumerate(ids or map(str, range(size)))}
    if labelled and labelled[0].casefold() == "id" and labelled[0] not in position:
        labelled = labelled[1:]  # a header
    unknown = [name for name in labelled if name not in position]
    if unknown:
        what = "ids of the pool" if ids is not None else f"positions in the pool, 0 to {size - 1}"
        got = f"{unknown[0]!r}" + (f" and {len(unknown) - 1} more that are not" if len(unknown) > 1 else "")
        fix = "Correct the file." if ids is not None else "Correct the file, or name the items with --ids."
        raise InputError("--labelled", expected=what, got=got, fix=fix)
    free = np.ones(size, dtype=bool)
    free[[position[name] for name in labelled]] = False
    return np.flatnonzero(free)


def _taken(arrays: Mapping[str, Array | None], rows: Int[Array, " N"], size: int) -> dict[str, Array | None]:
    """The arrays with these items alone; an array of another length is left for `bemps.select` to refuse."""
    taken = dict(arrays)
    for name, axis in ITEM_AXIS.items():
        array = arrays.get(name)
        if array is not None and array.ndim > axis and array.shape[axis] == size:
            taken[name] = np.take(array, rows, axis=axis)
    return taken


def single_array(path: Path, name: str) -> Array:
    """The array of an option: that of a .npy file, or of its name, or the only one of a .npz file."""
    loaded = read_arrays(path, f"--{name.replace('_', '-')}")
    if isinstance(loaded, np.ndarray):
        return loaded
    if name in loaded or len(loaded) == 1:
        return loaded.get(name, next(iter(loaded.values())))
    raise InputError(
        str(path),
        expected=f"one array, or one named {name}",
        got=", ".join(sorted(loaded)) or "no array",
        fix="Save it with np.save.",
    )
