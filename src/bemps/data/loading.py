"""`load`: a published dataset by name, from a local folder or from the hub."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from jaxtyping import Int

from bemps.data.identity import Items, hashes_of, unique_ids
from bemps.data.published.catalogue import CATALOGUE, Contents, Layout, PublishedDataset
from bemps.data.published.hub import fetch
from bemps.data.sampling import sampled_rows, stratified_holdout
from bemps.data.table import Dataset, Removed, Table, items_at
from bemps.errors import InputError, unknown_name

VARIABLE = "BEMPS_DATA"
PAPER_SEED = 0  # the sample of the paper's size is the same at every seed of an experiment
Raw = tuple[Items, Int[np.ndarray, " N"]]


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    max_pool: int | None = None,
    seed: int = 0,
    sizes: str = "paper",
) -> Dataset:
    """Load a published dataset by name.

    Parameters
    ----------
    name : str
        One of `datasets()`.
    data_dir : path, optional
        The folder of the datasets. None takes the folder in BEMPS_DATA, else the Hugging Face hub.
    max_pool : int, optional
        At most that many rows of the pool, drawn at `seed`.
    seed : int
        The seed of that draw.
    sizes : {"paper", "published"}
        "paper" takes PUBMED as 15,000 sentences and 2,500 to test; "published" takes all of them.

    Returns
    -------
    Dataset
        The pool, the test set, and a dev set where one is published. Rows of the pool (or dev) whose content is also
        in the test set are left out and counted in `removed`.

    Raises
    ------
    InputError
        If the name is unknown, or the dataset is neither in the folder nor on the hub.
    """
    if name not in CATALOGUE:
        raise unknown_name("dataset", name, CATALOGUE, "bemps.data.read takes a file of your own.")
    if sizes not in ("paper", "published"):
        raise unknown_name("sizes", sizes, ["paper", "published"])
    entry = CATALOGUE[name]
    contents, source = _contents(name, entry, data_dir)
    sample_sizes = entry.paper if entry.paper is not None and sizes == "paper" else {}
    dataset = _dataset(
        name, entry, {part: _coded(name, entry, *raw) for part, raw in contents.items()}, source, sample_sizes
    )
    if max_pool is None:
        return dataset
    pool = sampled_rows(dataset.pool, max_pool, seed=seed)
    return Dataset(name, pool, dataset.test, dataset.dev, dataset.removed, source, dataset.notes)


def _dataset(
    name: str, entry: PublishedDataset, raw: dict[str, Raw], source: str, sample_sizes: Mapping[str, int]
) -> Dataset:
    """Tables with content ids, without contents of the test set, at the sizes of the sample."""
    test, _ = _table(entry, raw["test"], set(), sample_sizes.get("test"))
    tested = set(hashes_of(test.items))
    tables: dict[str, Table] = {"test": test}
    removed: dict[str, Removed] = {}
    for part in ("pool", "dev"):
        if part in raw:
            tables[part], removed[part] = _table(entry, raw[part], tested, sample_sizes.get(part))
    notes = tuple(_notes(entry, raw, tables, removed))
    return Dataset(name, tables["pool"], test, tables.get("dev"), MappingProxyType(removed), source, notes)


def _table(entry: PublishedDataset, raw: Raw, tested: set[str], size: int | None) -> tuple[Table, Removed]:
    items, codes = raw
    hashes = hashes_of(items)
    fresh, removed = rows_outside_test(hashes, tested)
    ids = unique_ids(hashes[row] for row in fresh.tolist())
    table = Table(ids, items_at(items, fresh), codes[fresh], entry.classes)
    return sampled_rows(table[table.by_id] if entry.sort else table, size, seed=PAPER_SEED), removed


def rows_outside_test(hashes: list[str], tested: set[str]) -> tuple[Int[np.ndarray, " _"], Removed]:
    """The rows whose content is not in the test set, and a count of the others."""
    shared = [digest for digest in hashes if digest in tested]
    rows = np.array([row for row, digest in enumerate(hashes) if digest not in tested], dtype=np.int64)
    return rows, Removed(len(shared), len(set(shared)))


def _notes(
    entry: PublishedDataset, raw: dict[str, Raw], tables: dict[str, Table], removed: dict[str, Removed]
) -> list[str]:
    notes = []
    for part, published in entry.published.items():
        if part in raw and len(raw[part][1]) != published:
            notes.append(f"{part}: {len(raw[part][1]):,} rows, {published:,} were published")
    for part, gone in removed.items():
        if gone.rows:
            notes.append(f"{part}: {gone.rows:,} rows ({gone.contents:,} contents) also in the test set, left out")
    for part, size in (entry.paper or {}).items():
        if len(tables[part]) == size:
            notes.append(f"{part}: a fixed sample of {size:,}, the size in the paper")
    return notes


def _coded(name: str, entry: PublishedDataset, items: Items, words: list[str]) -> Raw:
    """Class codes of the names in a file, whatever their case."""
    code_of = {word.casefold(): code for code, word in enumerate(entry.classes)}
    for word in set(words):
        if word.casefold() not in code_of:
            raise unknown_name(f"class in {name}", word, entry.classes, "Are these the files of this dataset?")
    return items, np.array([code_of[word.casefold()] for word in words], dtype=np.int64)


def _contents(
    name: str, entry: PublishedDataset, data_dir: str | os.PathLike[str] | None
) -> tuple[dict[str, Contents], str]:
    if name == "digits":
        return _digits(), "scikit-learn"
    root = data_dir if data_dir is not None else os.environ.get(VARIABLE) or None
    for folder in _folders(name, entry, root):
        for layout in entry.layouts:
            parts = layout.existing_files(folder)
            if {"pool", "test"} <= parts.keys():
                return {part: _read(layout, part, parts[part], entry) for part in parts}, f"files: {layout.name}"
    _refuse_unknown_files(name, entry, root)
    assert entry.hub is not None
    try:
        return fetch(entry, entry.hub), f"hub: {entry.hub.name}"
    except Exception as failure:
        raise _nowhere(name, entry, root, failure) from failure


def _folders(name: str, entry: PublishedDataset, root: str | os.PathLike[str] | None) -> list[Path]:
    """Folders that may hold the files: the folder of that name, or those of the archives, beside or inside it."""
    if root is None:
        return []
    parent = Path(root).expanduser()
    if not parent.is_dir():
        raise InputError(
            f"data_dir or {VARIABLE}",
            expected="a folder",
            got=f"{parent}, which is not a folder",
            fix="Correct it or unset it.",
        )
    tried = [
        parent / name,
        *(parent / other for other in entry.folders),
        *(parent / name / other for other in entry.folders),
    ]
    return [folder for folder in tried if folder.is_dir()]


def _read(layout: Layout, part: str, paths: tuple[Path, ...], entry: PublishedDataset) -> Contents:
    try:
        return layout.read(paths, part, entry.classes)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, UnicodeDecodeError) as failure:
        raise InputError(
            ", ".join(map(str, paths)),
            expected=f"complete files ({layout.name})",
            got=f"{type(failure).__name__}: {failure}",
            fix="Fetch them again.",
        ) from failure


def _refuse_unknown_files(name: str, entry: PublishedDataset, root: str | os.PathLike[str] | None) -> None:
    folders = _folders(name, entry, root)
    if not folders:
        return
    files = sorted(path.name for path in folders[0].iterdir())
    pickled = any(file.startswith("data_batch_") and not file.endswith(".bin") for file in files)
    raise InputError(
        f"dataset {name!r} in {folders[0]}",
        expected=" or ".join(map(str, entry.layouts)),
        got=", ".join(files[:12]) or "an empty folder",
        fix="The Python version is pickled and never read: fetch the binary version (cifar-10-binary.tar.gz)."
        if pickled
        else "Put the missing files there, or move the folder away to use the hub.",
    )


def _nowhere(name: str, entry: PublishedDataset, root: str | os.PathLike[str] | None, failure: Exception) -> InputError:
    looked = f"no folder {' or '.join([name, *entry.folders])} in {root}" if root else f"{VARIABLE} is not set"
    assert entry.hub is not None
    return InputError(
        f"dataset {name!r}",
        expected="its files in a folder, or the datasets package and a network",
        got=f"{looked}; hub {entry.hub.name}: {type(failure).__name__}: {failure}",
        fix=f"Put {' or '.join(map(str, entry.layouts))} into <folder>/{name} and set {VARIABLE}=<folder> "
        f"(or data_dir=); or run `pip install datasets` and connect to the network.",
    )


def _digits() -> dict[str, Contents]:
    """1,797 digits as rows of 64 grey levels; 500 of them, stratified, always the same ones, to test on."""
    from sklearn.datasets import load_digits

    features, labels = load_digits(return_X_y=True)
    pool, test = stratified_holdout(labels, 500 / len(labels), np.random.default_rng(PAPER_SEED))
    rows = features.astype(np.float32)
    return {
        part: (rows[where], [str(label) for label in labels[where]]) for part, where in (("pool", pool), ("test", test))
    }
