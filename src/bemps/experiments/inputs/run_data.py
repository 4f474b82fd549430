"""The data of a run, written once into its folder and memory-mapped by every worker.

shared/<dataset>/meta.json                  ids, labels, classes, fingerprint
shared/<dataset>/raw/{pool,test}.*          texts (.json), rows or images (.npy), names of image files (.files.json)
shared/<dataset>/<form>/{pool,test}.npy     what a model learns from: plain rows, or vectors of an encoder
shared/<dataset>/surprisal/pool.npy         vectors for the strategies that need them
shared/<dataset>/cache                      what models compute once: tokens, hidden states, an adapted head

Beside each file, except those of the cache, is its checksum. Files that were cut or changed are written again when a
run starts.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.files import check_output, drafted, link_folder, mark_folder, slug
from bemps.data import Dataset, ImageArray, ImageFiles, Images, Table
from bemps.data.arrays import read_arrays, save_array
from bemps.data.checksums import is_intact, write_checksum
from bemps.data.json_text import parse_object
from bemps.errors import InputError, parameter
from bemps.experiments.journal import write_atomically
from bemps.experiments.run_errors import write_errors
from bemps.models.base import Items
from bemps.types import Array

PARTS = ("pool", "test")
SHARED = "folder of shared data"  # what the marker of a folder for several runs says
PLAIN, IMAGES, SURPRISAL = "plain", "images", "surprisal"
FALLBACK_FORMS = (PLAIN, "raw")  # forms to look at only where there is no encoder's
LARGEST_ROW = 64 * 64 * 3  # numbers of a flattened image; more need an encoder
BLOCK = 1024


def folder_of(out: Path, dataset: str) -> Path:
    """The folder of a dataset in the folder of a run."""
    return out / "shared" / slug(dataset)


def check_shared(shared: Path) -> None:
    """Refuse a folder with other contents. A folder of an earlier release has no marker, and only datasets in it."""
    names = [path.name for path in shared.iterdir()] if shared.is_dir() else []
    if not names or not all(re.fullmatch(r".+-[0-9a-f]{12}", name) for name in names):
        check_output(shared, option=parameter("shared") or "shared", folder=SHARED, resume=True)


def link_shared(out: Path, shared: Path, fingerprints: Mapping[str, str]) -> None:
    """Link the datasets of a run to a folder that several runs use.

    Parameters
    ----------
    out : Path
        The folder of the run.
    shared : Path
        The folder that several runs use.
    fingerprints : mapping of str to str
        The fingerprint of each dataset. Datasets with other contents have other folders.
    """
    with write_errors(shared):
        shared.mkdir(parents=True, exist_ok=True)
        mark_folder(shared, SHARED)
    for dataset, fingerprint in fingerprints.items():
        folder = folder_of(out, dataset)
        with write_errors(folder):
            target = (shared / f"{folder.name}-{fingerprint[:12]}").resolve()
            target.mkdir(parents=True, exist_ok=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            if not folder.exists():
                link_folder(folder, target)


def cache_of(folder: Path) -> Path:
    """The folder in which models cache what they compute once."""
    return folder / "cache"


@dataclass(frozen=True, eq=False)
class CellData:
    """The data of a cell.

    Attributes
    ----------
    ids : tuple of str
        The ids of the pool.
    classes : tuple of str
        The names of the classes.
    labels : array of int (N,)
        The codes of the pool.
    test_labels : array of int (M,)
        The codes of the test set.
    items : Items
        The pool, in the form that the model learns from.
    test_items : Items
        The test set, in the same form.
    surprisal : array of float (N, T), optional
        Surprisal vectors of the pool.
    """

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    labels: Int[Array, " N"]
    test_labels: Int[Array, " M"]
    items: Items
    test_items: Items
    surprisal: Float[Array, "N T"] | None = None


@dataclass(frozen=True, eq=False)
class PoolItems:
    """The pool of a dataset as vectors.

    Attributes
    ----------
    ids : tuple of str
        The ids.
    labels : tuple of str
        The names of the classes of the items.
    vectors : array of float (N, H)
        The vectors, which may be on the disk.
    test : tuple, optional
        Labels and vectors of the test set, if the run wrote them.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    vectors: Float[Array, "N H"]
    test: tuple[tuple[str, ...], Float[Array, "M H"]] | None = None


def pool_items(folder: Path, form: str | None = None) -> PoolItems | None:
    """Read the pool of a folder as vectors.

    Parameters
    ----------
    folder : Path
        The folder of the dataset.
    form : str, optional
        The preferred form. Otherwise the vectors of an encoder come before plain rows.

    Returns
    -------
    PoolItems or None
        The pool; None if there are no rows of numbers, because a model reads the texts.

    Raises
    ------
    InputError
        The files are not as `bemps run` writes them.
    """
    forms = [path for path in folder.glob("*/pool.npy") if path.parent.name != SURPRISAL]
    arrays = sorted(
        forms, key=lambda path: (path.parent.name != form, path.parent.name in FALLBACK_FORMS, path.parent.name)
    )
    if not (folder / "meta.json").is_file() or not arrays:
        return None
    try:
        meta = parse_object((folder / "meta.json").read_text(encoding="utf-8"), "meta.json")
        vectors = _numbers(arrays[0])
        labels, ids = _class_names(meta, "labels"), tuple(map(str, meta["ids"]))
        tested = "test_labels" in meta and arrays[0].with_name("test.npy").is_file()
        test = (_class_names(meta, "test_labels"), _numbers(arrays[0].with_name("test.npy"))) if tested else None
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise InputError(
            str(folder),
            expected="meta.json and pool.npy as `bemps run` writes them",
            got=f"{type(error).__name__}: {error}",
            fix="Remove this folder and run the same `bemps run` command again, which writes it anew.",
        ) from error
    return PoolItems(ids, labels, vectors, test) if vectors.ndim == 2 and len(vectors) == len(ids) else None


def _class_names(meta: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(str(meta["classes"][code]) for code in meta[name])


def _numbers(path: Path) -> Array:
    vectors = read_arrays(path, path.name, on_disk=True)
    if not isinstance(vectors, np.ndarray) or vectors.dtype.kind not in "fiu":
        raise ValueError(f"{path.name} is no array of numbers")
    return vectors


@lru_cache(maxsize=4)
def load(folder: Path, form: str) -> CellData:
    """Load the data of a folder. Arrays stay on the disk, and all processes share them."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    items, test_items = (_learnable(folder, form, part) for part in PARTS)
    labels, test_labels = (np.array(meta[name], dtype=np.int64) for name in ("labels", "test_labels"))
    surprisal = folder / SURPRISAL / "pool.npy"
    vectors = np.load(surprisal, mmap_mode="r").view(np.ndarray) if surprisal.exists() else None
    return CellData(tuple(meta["ids"]), tuple(meta["classes"]), labels, test_labels, items, test_items, vectors)


def _learnable(folder: Path, form: str, part: str) -> Items:
    if form == PLAIN and (folder / "raw" / f"{part}.json").exists():
        texts = raw_items(folder, part)
        assert isinstance(texts, list)
        return texts
    rows: Array = np.load(folder / ("raw" if form == IMAGES else form) / f"{part}.npy", mmap_mode="r")
    return rows.view(np.ndarray)


def write(dataset: Dataset, folder: Path, fingerprint: str) -> None:
    """Write a dataset, unless an intact copy is in the folder.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    folder : Path
        Its folder.
    fingerprint : str
        Its fingerprint.
    """
    meta = folder / "meta.json"
    files = [meta, *(_raw_file(table, folder / "raw" / part) for part, table in _tables(dataset))]
    if all(map(is_intact, files)) and json.loads(meta.read_text(encoding="utf-8"))["fingerprint"] == fingerprint:
        return
    for part, table in _tables(dataset):
        _write_raw(table, _raw_file(table, folder / "raw" / part))
    assert dataset.pool.labels is not None
    assert dataset.test.labels is not None
    content = {
        "name": dataset.name,
        "kind": dataset.kind,
        "notes": dataset.notes,
        "classes": dataset.classes,
        "ids": dataset.pool.ids,
        "labels": dataset.pool.labels.tolist(),
        "test_labels": dataset.test.labels.tolist(),
        "fingerprint": fingerprint,
    }
    write_checked(meta, json.dumps(content).encode())


def _tables(dataset: Dataset) -> Iterator[tuple[str, Table]]:
    return zip(PARTS, (dataset.pool, dataset.test), strict=True)


def _raw_file(table: Table, stem: Path) -> Path:
    """The file of a part, by the kind of its items."""
    if isinstance(table.items, list):
        return stem.with_suffix(".json")
    return stem.with_suffix(".files.json" if isinstance(table.items, ImageFiles) else ".npy")


def _write_raw(table: Table, path: Path) -> None:
    items = table.items
    if isinstance(items, list):
        write_checked(path, json.dumps(items).encode())
    elif isinstance(items, ImageFiles):
        content = {"paths": [str(Path(path).resolve()) for path in items.paths], "mode": items.mode}
        write_checked(path, json.dumps(content).encode())
    else:
        write_array(path, items.load() if isinstance(items, Images) else np.asarray(items))


def write_checked(path: Path, content: bytes) -> None:
    """Write a file atomically, with its checksum."""
    write_atomically(path, content)
    with write_errors(path):
        write_checksum(path)


def raw_items(folder: Path, part: str) -> list[str] | Images | Array:
    """Read the items of a part as the dataset has them."""
    stem = folder / "raw" / part
    if stem.with_suffix(".json").exists():
        texts: list[str] = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        return texts
    if stem.with_suffix(".files.json").exists():
        content = json.loads(stem.with_suffix(".files.json").read_text(encoding="utf-8"))
        return ImageFiles(tuple(content["paths"]), content["mode"])
    rows: Array = np.load(stem.with_suffix(".npy"), mmap_mode="r")
    return ImageArray.from_array(rows) if rows.ndim == 4 else rows


def require_images(folder: Path) -> None:
    """Refuse images that are not in one array, which a network needs."""
    if not isinstance(raw_items(folder, "pool"), ImageArray):
        raise InputError(
            "images",
            expected="images of one size, in one array, for a network that is trained on them",
            got="image files",
            fix="Use --model spectral, which learns from features of a pretrained network.",
        )


def write_plain(folder: Path) -> list[str]:
    """Write rows of numbers from arrays and images, divided by the largest value. Texts are not changed."""
    pool = raw_items(folder, "pool")
    if isinstance(pool, list):
        return []
    scale = 255.0 if isinstance(pool, Images) else float(np.abs(pool).max()) or 1.0
    for part in PARTS:
        target = folder / PLAIN / f"{part}.npy"
        if not is_intact(target):
            write_array(target, _rows(raw_items(folder, part), scale))
    return []


def _rows(items: Any, scale: float) -> Array:
    if not isinstance(items, Images):
        return (np.asarray(items) / scale).astype(np.float32)
    width = items[0].size
    if width > LARGEST_ROW:
        raise InputError(
            "images",
            expected=f"at most {LARGEST_ROW:,} numbers each for a model that learns from pixels",
            got=f"{width:,}",
            fix="Use --model spectral, which learns from features of a pretrained network.",
        )
    rows = np.empty((len(items), width), dtype=np.float32)
    for start, block in zip(range(0, len(items), BLOCK), items.batches(BLOCK), strict=True):
        if block[0].size != width:
            raise InputError(
                "images",
                expected="images of one shape for a model that learns from pixels",
                got=f"some of {width:,} and some of {block[0].size:,} numbers",
                fix="Resize them, or use --model spectral.",
            )
        rows[start : start + len(block)] = block.reshape(len(block), -1) / scale
    return rows


def write_array(path: Path, array: Array) -> None:
    """Write an array atomically as a .npy file, with its checksum."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path) as draft:
            save_array(draft, array)
        write_checksum(path)
