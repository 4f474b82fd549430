"""The pools of a run as vectors with ids and labels: from embeddings.parquet, else from what the runner shared.

embeddings.parquet                dataset, model (optional), id, label, vector (a list of numbers)
shared/<dataset>/meta.json        ids, labels (codes), classes, and test_labels where there is a test.npy
shared/<dataset>/<form>/pool.npy  one row of numbers for each item; vectors of an encoder before plain rows
shared/<dataset>/<form>/test.npy  the same of the test set
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.data.arrays import read_arrays
from bemps.data.json_text import parse_object
from bemps.errors import InputError
from bemps.statistics import RunFolder
from bemps.types import Array

Key = tuple[str, str | None]
LARGEST = 1e100  # of a number in a vector: its square is still one
LAST = ("plain", "raw")  # forms to take only where there is no encoder's


@dataclass(frozen=True, eq=False)
class PoolItems:
    """Ids, names of the classes and vectors, in one order; vectors may lie on the disk.

    Labels and vectors of the test set are there where the run shared them.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    vectors: Float[Array, "N H"]
    test: tuple[tuple[str, ...], Float[Array, "M H"]] | None = None


@lru_cache(maxsize=1)  # both sections that use it belong to one run
def pools_of(run: RunFolder) -> dict[Key, PoolItems]:
    """By dataset, and model where vectors belong to one; empty where there are none."""
    found = _from_table(run)
    datasets = dict.fromkeys(setting.dataset for setting in run.results.curves)
    learnt = run.tables.get("epochs", {})
    own = dict(zip(learnt["dataset"], learnt["vectors"], strict=True)) if "vectors" in learnt else {}
    for dataset in datasets:
        if not any(key[0] == dataset for key in found):
            shared = _from_shared(run.path / "shared" / re.sub(r"[^A-Za-z0-9._-]+", "_", dataset), own.get(dataset))
            found |= {} if shared is None else {(dataset, None): shared}
    return found


def _from_table(run: RunFolder) -> dict[Key, PoolItems]:
    rows = run.tables.get("embeddings", {})
    models = rows.get("model", [None] * len(rows.get("id", ())))
    groups: dict[Key, list[int]] = {}
    for row, (dataset, model) in enumerate(zip(rows.get("dataset", ()), models, strict=True)):
        groups.setdefault((str(dataset), model), []).append(row)
    return {key: _group(run, numbers) for key, numbers in groups.items()}


def _group(run: RunFolder, numbers: list[int]) -> PoolItems:
    rows = run.tables["embeddings"]
    vectors = [rows["vector"][row] for row in numbers]
    if not all(isinstance(vector, list) and all(map(_is_finite, vector)) for vector in vectors):
        raise InputError(
            f"column vector of {run.path / 'embeddings.parquet'}",
            expected="lists of finite numbers",
            got="something else",
            fix="Write the features of one model, or remove the file.",
        )
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError(
            str(run.path / "embeddings.parquet"),
            expected="vectors of one length",
            got=f"lengths {', '.join(map(str, sorted(lengths)))}",
            fix="Write the features of one model, or remove the file.",
        )
    ids, labels = (tuple(str(rows[name][row]) for row in numbers) for name in ("id", "label"))
    return PoolItems(ids, labels, np.array(vectors, dtype=float))


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < LARGEST


def _from_shared(folder: Path, own: str | None = None) -> PoolItems | None:
    """None where the run shared no rows of numbers (texts that a model reads as they are).

    Of several forms that which the run itself learnt from, where it says so: other runs may share the folder.
    """
    forms = [path for path in folder.glob("*/pool.npy") if path.parent.name != "surprisal"]
    arrays = sorted(forms, key=lambda path: (path.parent.name != own, path.parent.name in LAST, path.parent.name))
    if not (folder / "meta.json").is_file() or not arrays:
        return None
    try:
        meta = parse_object((folder / "meta.json").read_text(encoding="utf-8"), "meta.json")
        vectors = _on_disk(arrays[0])
        labels = tuple(str(meta["classes"][code]) for code in meta["labels"])
        ids = tuple(map(str, meta["ids"]))
        test = _test(meta, arrays[0].with_name("test.npy"))
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise InputError(
            str(folder),
            expected="meta.json and pool.npy as `bemps run` writes them",
            got=f"{type(error).__name__}: {error}",
            fix="Remove this folder and run the same `bemps run` command again, which writes it anew.",
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(ids):
        return None
    return PoolItems(ids, labels, vectors, test)


def _on_disk(path: Path) -> Array:
    vectors = read_arrays(path, path.name, on_disk=True)
    if not isinstance(vectors, np.ndarray) or vectors.dtype.kind not in "fiu":
        raise ValueError(f"{path.name} is no array of numbers")
    return vectors


def _test(meta: dict[str, Any], path: Path) -> tuple[tuple[str, ...], Float[Array, "M H"]] | None:
    if "test_labels" not in meta or not path.is_file():
        return None
    return tuple(str(meta["classes"][code]) for code in meta["test_labels"]), _on_disk(path)
