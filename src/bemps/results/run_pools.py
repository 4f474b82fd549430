"""The pools of a run as vectors with ids and labels: from embeddings.parquet, else from the data of the run.

embeddings.parquet    dataset, model (optional), id, label, vector (a list of numbers)
"""

from functools import lru_cache

import numpy as np

from bemps.errors import InputError
from bemps.experiments.inputs.run_data import PoolItems, folder_of, pool_items
from bemps.results.run_reading import RunFolder

PoolKey = tuple[str, str | None]  # dataset, and model where vectors belong to one
LARGEST = 1e100  # of a number in a vector: its square is still one


@lru_cache(maxsize=1)  # all that is derived from pools belongs to one run
def pools_of(run: RunFolder) -> dict[PoolKey, PoolItems]:
    """The pools of a run, by dataset, and by model if vectors belong to one; empty if there are none."""
    pools = _from_table(run)
    datasets = dict.fromkeys(setting.dataset for setting in run.results.curves)
    epochs = run.tables.get("epochs", {})
    forms = dict(zip(epochs["dataset"], epochs["vectors"], strict=True)) if "vectors" in epochs else {}
    for dataset in datasets:
        if not any(key[0] == dataset for key in pools):
            items = pool_items(folder_of(run.path, dataset), forms.get(dataset))
            pools |= {} if items is None else {(dataset, None): items}
    return pools


def _from_table(run: RunFolder) -> dict[PoolKey, PoolItems]:
    rows = run.tables.get("embeddings", {})
    models = rows.get("model", [None] * len(rows.get("id", ())))
    groups: dict[PoolKey, list[int]] = {}
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
