"""Calibration over epochs: the ECE of a classifier on the test set after every epoch, once per dataset.

The classifier is that of the data maps: a softmax regression on the labels of the full pool, on the vectors of an
encoder if the run has them, else on plain rows. Datasets whose texts or images models read directly have neither.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.files import slug
from bemps._utils.watchers import Watcher
from bemps.data.checksums import is_intact
from bemps.experiments.cell import one_thread
from bemps.experiments.epoch_training import ece_of_epochs
from bemps.experiments.inputs import run_data
from bemps.experiments.result_tables import write_columns
from bemps.experiments.run_errors import Failure
from bemps.experiments.workers import Task, run_tasks
from bemps.metrics import running_average

COLUMNS = ("dataset", "vectors", "epoch", "kind", "ece", "running_ece")


@dataclass(frozen=True)
class EpochTraining:
    """The training on one dataset. `form` is the form of the data that it learns from."""

    dataset: str
    form: str

    @property
    def key(self) -> dict[str, Any]:
        """The key of the task in reports."""
        return {"dataset": self.dataset, "vectors": self.form, "strategy": "epochs on all labels"}

    def path(self, out: Path) -> Path:
        """The file of its results."""
        return out / "epochs" / f"{slug(self.dataset)}.json"


def epoch_trainings(forms: Iterable[tuple[str, str]], out: Path) -> list[EpochTraining]:
    """One training for every dataset with rows of numbers in the run. Vectors of an encoder come before plain rows."""
    form_of_dataset: dict[str, str] = {}
    for dataset, form in sorted(forms, key=lambda pair: (pair[0], pair[1] == run_data.PLAIN, pair[1])):
        if (run_data.folder_of(out, dataset) / form / "pool.npy").exists():
            form_of_dataset.setdefault(dataset, form)
    return [EpochTraining(dataset, form) for dataset, form in form_of_dataset.items()]


def train_missing(epochs: list[EpochTraining], out: Path, watcher: Watcher) -> list[Failure]:
    """Run the trainings that have no results, in this process. Each takes a few seconds.

    Parameters
    ----------
    epochs : list of EpochTraining
        The trainings.
    out : Path
        The folder of the run.
    watcher : Watcher
        Receives the progress.

    Returns
    -------
    list of Failure
        The trainings that failed.
    """
    tasks = [
        Task(training.key, measure_training, (training, out))
        for training in epochs
        if not is_intact(training.path(out))
    ]
    if tasks:
        watcher.stage("calibration over epochs", len(tasks))
    failures = []
    for number, done in enumerate(run_tasks(tasks, 1)):
        failures += [] if done.failure is None else [Failure(done.task.key, done.failure)]
        watcher.progress(number + 1)
    return failures


def measure_training(training: EpochTraining, out: Path) -> list[str]:
    """Train, measure after every epoch, and write the results."""
    cell_data = run_data.load(run_data.folder_of(out, training.dataset), training.form)
    pool, test = np.asarray(cell_data.items), np.asarray(cell_data.test_items)
    with one_thread():
        errors = ece_of_epochs(pool, cell_data.labels, test, cell_data.test_labels, np.random.default_rng(0))
    rows = [
        dict(zip(COLUMNS, (training.dataset, training.form, epoch, kind, *values), strict=True))
        for kind, values_of_kind in errors.items()
        for epoch, values in enumerate(
            zip(values_of_kind.tolist(), running_average(values_of_kind).tolist(), strict=True), start=1
        )
    ]
    run_data.write_checked(training.path(out), json.dumps(rows, indent=1).encode())
    return []


def write_epoch_table(epochs: list[EpochTraining], out: Path) -> None:
    """Write epochs.parquet: a row for every dataset, kind of bins and epoch that was measured."""
    paths = [training.path(out) for training in epochs if is_intact(training.path(out))]
    rows = [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))]
    write_columns(out / "epochs.parquet", {name: [row[name] for row in rows] for name in COLUMNS}, {})
