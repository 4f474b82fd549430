"""Calibration over the epochs of a training run on all labels: the error after each, and its running mean.

From epochs.parquet (dataset, model (optional), epoch, kind of the bins, ece on the test set); where a dataset has none
there, from the softmax regression of its data map, trained here.
"""

import numpy as np
from jaxtyping import Float

from bemps.analysis.calibration import KINDS, running_average
from bemps.analysis.epochs import ece_of_epochs
from bemps.errors import InputError
from bemps.limits import library_threads
from bemps.report.figures import Lines, Series
from bemps.report.sections.pools import Key, PoolItems
from bemps.report.style import COLOURS, DASHES, MARKS, Style
from bemps.report.tables import Table
from bemps.report.words import score
from bemps.statistics import RunFolder
from bemps.types import Array

Errors = dict[str, Float[Array, " T"]]


def errors_of(run: RunFolder) -> dict[Key, Errors]:
    """For each dataset and model of epochs.parquet: the error after every epoch, by the kind of the bins."""
    rows = run.tables.get("epochs", {})
    models = rows.get("model", [None] * len(rows.get("epoch", ())))
    found: dict[Key, dict[str, dict[int, float]]] = {}
    for row, (dataset, model) in enumerate(zip(rows.get("dataset", ()), models, strict=True)):
        by_epoch = found.setdefault((str(dataset), model), {}).setdefault(str(rows["kind"][row]), {})
        by_epoch[int(rows["epoch"][row])] = float(rows["ece"][row])
    return {key: _sorted(run, key, kinds) for key, kinds in found.items()}


def _sorted(run: RunFolder, key: Key, kinds: dict[str, dict[int, float]]) -> Errors:
    """In the order of the epochs, which must be the same for every kind of bins."""
    expected = list(range(1, 1 + max(len(found) for found in kinds.values())))
    wrong = [kind for kind in KINDS if sorted(kinds.get(kind, {})) != expected]
    if wrong:
        raise InputError(
            str(run.path / "epochs.parquet"),
            expected=f"a row of {key[0]} for every epoch from 1 to {expected[-1]} and for {', '.join(KINDS)}",
            got=f"other epochs for {', '.join(wrong)}",
            fix="Run the same `bemps run` command again, or remove the file.",
        )
    return {kind: np.array([kinds[kind][epoch] for epoch in expected]) for kind in KINDS}


def trained(items: PoolItems) -> Errors | None:
    """The errors of a softmax regression on the vectors; None where there is no test set."""
    if items.test is None:
        return None
    names, codes = np.unique(np.array(items.labels), return_inverse=True)
    code = {name: number for number, name in enumerate(names.tolist())}
    # a class that is not in the pool is never predicted
    test_labels = np.array([code.get(name, -1) for name in items.test[0]])
    pool, test = (np.asarray(vectors, dtype=float) for vectors in (items.vectors, items.test[1]))
    with library_threads(1):
        return ece_of_epochs(pool, codes, test, test_labels, np.random.default_rng(0))


def figure(dataset: str, errors: Errors) -> Lines:
    """The error in bins of equal mass after every epoch, and its running mean."""
    values = errors["equal-mass"]
    epochs = np.arange(1, len(values) + 1)
    after, mean = Style(COLOURS[0], DASHES[2], MARKS[0]), Style(COLOURS[1], DASHES[0], MARKS[1])
    series = (
        Series("ECE after the epoch", after, epochs, values),
        Series("running mean", mean, epochs, running_average(values)),
    )
    highest = max(float(values.max()), 0.01)
    return Lines(
        f"Calibration over epochs: {dataset}", "epoch", "ECE on the test set", series, y_range=(0.0, 1.05 * highest)
    )


def table(errors: Errors) -> Table:
    """All kinds of bins, the error and its running mean."""
    means = {kind: running_average(values) for kind, values in errors.items()}
    columns = ("epoch", *(f"{what} {kind}" for kind in KINDS for what in ("ECE", "mean")))
    epochs = range(len(errors[KINDS[0]]))
    raw = tuple((epoch + 1, *(float(of[kind][epoch]) for kind in KINDS for of in (errors, means))) for epoch in epochs)
    told = tuple((str(number), *map(score, values)) for number, *values in raw)
    names = ("epoch", *(f"{what}_{kind.replace('-', '_')}" for kind in KINDS for what in ("ece", "running_ece")))
    return Table(columns, told, names, raw)
