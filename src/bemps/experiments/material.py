"""The data of a run, written once into its folder and memory-mapped by every worker.

shared/<dataset>/meta.json                  ids, labels, classes, fingerprint
shared/<dataset>/raw/{pool,test}.*          texts (.json), rows or images (.npy), names of image files (.files.json)
shared/<dataset>/<form>/{pool,test}.npy     what a model learns from: plain rows, or vectors of an encoder
shared/<dataset>/surprisal/pool.npy         vectors for the strategies that need them
shared/<dataset>/cache                      what models compute once: tokens, hidden states, an adapted head

Beside each file but those of the cache lies its checksum. What was cut or changed is found when a run starts, and
written anew.
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

from bemps.data import Dataset, ImageArray, ImageFiles, Images, Table
from bemps.data.arrays import save_array
from bemps.data.checksums import is_intact, write_checksum
from bemps.errors import InputError
from bemps.experiments.failures import writing
from bemps.experiments.journal import write_whole
from bemps.members.base import Items
from bemps.types import Array

PARTS = ("pool", "test")
PLAIN, IMAGES, SURPRISAL = "plain", "images", "surprisal"
LARGEST_ROW = 64 * 64 * 3  # numbers of a flattened image; more need an encoder
BLOCK = 1024


def folder_of(out: Path, dataset: str) -> Path:
    return out / "shared" / re.sub(r"[^A-Za-z0-9._-]+", "_", dataset)


def link(out: Path, shared: Path, fingerprints: Mapping[str, str]) -> None:
    """Let the datasets of a run lie in a folder that several runs use, apart by what is in them."""
    for dataset, fingerprint in fingerprints.items():
        place = folder_of(out, dataset)
        with writing(place):
            target = (shared / f"{place.name}-{fingerprint[:12]}").resolve()
            target.mkdir(parents=True, exist_ok=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                place.symlink_to(target, target_is_directory=True)


def cache_of(folder: Path) -> Path:
    return folder / "cache"


@dataclass(frozen=True, eq=False)
class Material:
    """A dataset as a cell sees it. `items` and `test_items` are in one form; labels are codes into `classes`."""

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    labels: Int[Array, " N"]
    test_labels: Int[Array, " M"]
    items: Items
    test_items: Items
    surprisal: Float[Array, "N T"] | None = None


@lru_cache(maxsize=4)
def load(folder: Path, form: str) -> Material:
    """The material of a folder; arrays stay on the disk and are shared by all processes."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    items, test_items = (_learnable(folder, form, part) for part in PARTS)
    labels, test_labels = (np.array(meta[name], dtype=np.int64) for name in ("labels", "test_labels"))
    surprisal = folder / SURPRISAL / "pool.npy"
    vectors = np.load(surprisal, mmap_mode="r").view(np.ndarray) if surprisal.exists() else None
    return Material(tuple(meta["ids"]), tuple(meta["classes"]), labels, test_labels, items, test_items, vectors)


def _learnable(folder: Path, form: str, part: str) -> Items:
    if form == PLAIN and (folder / "raw" / f"{part}.json").exists():
        texts = raw(folder, part)
        assert isinstance(texts, list)
        return texts
    rows: Array = np.load(folder / ("raw" if form == IMAGES else form) / f"{part}.npy", mmap_mode="r")
    return rows.view(np.ndarray)


def write(dataset: Dataset, folder: Path, fingerprint: str) -> None:
    """Write a dataset, unless it is there already as it was written."""
    meta = folder / "meta.json"
    files = [meta, *(_raw_file(table, folder / "raw" / part) for part, table in _tables(dataset))]
    if all(map(is_intact, files)) and json.loads(meta.read_text(encoding="utf-8"))["fingerprint"] == fingerprint:
        return
    for part, table in _tables(dataset):
        _write_raw(table, _raw_file(table, folder / "raw" / part))
    assert dataset.pool.labels is not None
    assert dataset.test.labels is not None
    told = {
        "name": dataset.name,
        "kind": dataset.kind,
        "notes": dataset.notes,
        "classes": dataset.classes,
        "ids": dataset.pool.ids,
        "labels": dataset.pool.labels.tolist(),
        "test_labels": dataset.test.labels.tolist(),
        "fingerprint": fingerprint,
    }
    write_checked(meta, json.dumps(told).encode())


def _tables(dataset: Dataset) -> Iterator[tuple[str, Table]]:
    return zip(PARTS, (dataset.pool, dataset.test), strict=True)


def _raw_file(table: Table, place: Path) -> Path:
    """The file of a part, by the kind of its items."""
    if isinstance(table.items, list):
        return place.with_suffix(".json")
    return place.with_suffix(".files.json" if isinstance(table.items, ImageFiles) else ".npy")


def _write_raw(table: Table, path: Path) -> None:
    items = table.items
    if isinstance(items, list):
        write_checked(path, json.dumps(items).encode())
    elif isinstance(items, ImageFiles):
        told = {"paths": [str(Path(path).resolve()) for path in items.paths], "mode": items.mode}
        write_checked(path, json.dumps(told).encode())
    else:
        write_array(path, items.load() if isinstance(items, Images) else np.asarray(items))


def write_checked(path: Path, content: bytes) -> None:
    """A file that is there whole or not at all, with its checksum."""
    write_whole(path, content)
    with writing(path):
        write_checksum(path)


def raw(folder: Path, part: str) -> list[str] | Images | Array:
    """The items as they were given."""
    place = folder / "raw" / part
    if place.with_suffix(".json").exists():
        texts: list[str] = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
        return texts
    if place.with_suffix(".files.json").exists():
        told = json.loads(place.with_suffix(".files.json").read_text(encoding="utf-8"))
        return ImageFiles(tuple(told["paths"]), told["mode"])
    rows: Array = np.load(place.with_suffix(".npy"), mmap_mode="r")
    return ImageArray.of(rows) if rows.ndim == 4 else rows


def require_images(folder: Path) -> None:
    """For a network that reads images: they must be one array."""
    if not isinstance(raw(folder, "pool"), ImageArray):
        raise InputError(
            "images",
            expected="images of one size, in one array, for a network that is trained on them",
            got="image files",
            fix="Use --model spectral, which learns from features of a pretrained network.",
        )


def write_plain(folder: Path) -> list[str]:
    """Rows of numbers from arrays and images, divided by the largest value; texts stay texts."""
    pool = raw(folder, "pool")
    if isinstance(pool, list):
        return []
    scale = 255.0 if isinstance(pool, Images) else float(np.abs(pool).max()) or 1.0
    for part in PARTS:
        target = folder / PLAIN / f"{part}.npy"
        if not is_intact(target):
            write_array(target, _rows(raw(folder, part), scale))
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
    """An array as .npy that is there whole or not at all, with its checksum."""
    draft = path.with_name(path.name + ".part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_array(draft, array)
        draft.replace(path)
        write_checksum(path)
