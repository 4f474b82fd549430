"""Trainings on all labels that a run wrote: data maps from dynamics.parquet, calibration errors from epochs.parquet.

dynamics.parquet has dataset, model (optional), id, epoch, probability of the true class, correct. epochs.parquet has
dataset, model (optional), epoch, kind of the bins, ece on the test set.
"""

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.metrics import BIN_KINDS
from bemps.results.data_maps import DataMap, data_map
from bemps.results.run_pools import PoolKey
from bemps.results.run_reading import RunFolder
from bemps.types import Array

ItemMap = tuple[list[str], DataMap]  # the ids of the items, and the map in their order
Errors = dict[str, Float[Array, " T"]]  # the error after every epoch, by the kind of the bins


def maps_of(run: RunFolder) -> dict[PoolKey, ItemMap]:
    """The data maps by dataset and model."""
    rows = run.tables.get("dynamics", {})
    models = rows.get("model", [None] * len(rows.get("id", ())))
    groups: dict[PoolKey, list[int]] = {}
    for row, (dataset, model) in enumerate(zip(rows.get("dataset", ()), models, strict=True)):
        groups.setdefault((str(dataset), model), []).append(row)
    return {key: _map(run, key, numbers) for key, numbers in groups.items()}


def _map(run: RunFolder, key: PoolKey, numbers: list[int]) -> ItemMap:
    rows = run.tables["dynamics"]
    ids = list(dict.fromkeys(str(rows["id"][row]) for row in numbers))
    epochs = sorted({rows["epoch"][row] for row in numbers})
    if len(numbers) != len(ids) * len(epochs):
        raise InputError(
            str(run.path / "dynamics.parquet"),
            expected=f"one row for every item and epoch of {key[0]}",
            got=f"{len(numbers)} rows of {len(ids)} items and {len(epochs)} epochs",
            fix="Write every epoch of every item, or remove the file.",
        )
    columns, lines = {name: i for i, name in enumerate(ids)}, {epoch: i for i, epoch in enumerate(epochs)}
    true_class, correct = np.zeros((len(epochs), len(ids))), np.zeros((len(epochs), len(ids)), dtype=bool)
    for row in numbers:
        entry = lines[rows["epoch"][row]], columns[str(rows["id"][row])]
        true_class[entry], correct[entry] = rows["probability"][row], bool(rows["correct"][row])
    return ids, data_map(true_class, correct)


def errors_of(run: RunFolder) -> dict[PoolKey, Errors]:
    """The calibration errors over epochs by dataset and model."""
    rows = run.tables.get("epochs", {})
    models = rows.get("model", [None] * len(rows.get("epoch", ())))
    errors: dict[PoolKey, dict[str, dict[int, float]]] = {}
    for row, (dataset, model) in enumerate(zip(rows.get("dataset", ()), models, strict=True)):
        by_epoch = errors.setdefault((str(dataset), model), {}).setdefault(str(rows["kind"][row]), {})
        by_epoch[int(rows["epoch"][row])] = float(rows["ece"][row])
    return {key: _sorted(run, key, kinds) for key, kinds in errors.items()}


def _sorted(run: RunFolder, key: PoolKey, kinds: dict[str, dict[int, float]]) -> Errors:
    """In the order of the epochs, which must be the same for every kind of bins."""
    expected = list(range(1, 1 + max(len(by_epoch) for by_epoch in kinds.values())))
    wrong = [kind for kind in BIN_KINDS if sorted(kinds.get(kind, {})) != expected]
    if wrong:
        raise InputError(
            str(run.path / "epochs.parquet"),
            expected=f"a row of {key[0]} for every epoch from 1 to {expected[-1]} and for {', '.join(BIN_KINDS)}",
            got=f"other epochs for {', '.join(wrong)}",
            fix="Run the same `bemps run` command again, or remove the file.",
        )
    return {kind: np.array([kinds[kind][epoch] for epoch in expected]) for kind in BIN_KINDS}
