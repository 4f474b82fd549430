"""Calibration while a classifier learns: its ECE on the test set after every epoch, once per dataset.

The classifier is that of the data maps, a softmax regression trained on the labels of the whole pool, on the vectors of
an encoder where the run has them, else on plain rows. Texts and images that models read as they are have neither.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bemps.analysis.calibration import running_average
from bemps.analysis.epochs import ece_of_epochs
from bemps.data.checksums import is_intact
from bemps.experiments import material as materials
from bemps.experiments.failures import Failure
from bemps.experiments.play import one_thread
from bemps.experiments.progress import Watcher
from bemps.experiments.tables import write_columns
from bemps.experiments.workers import Task, run_tasks

COLUMNS = ("dataset", "vectors", "epoch", "kind", "ece", "running_ece")


@dataclass(frozen=True)
class Epochs:
    """The training of one dataset; `form` is what it learns from."""

    dataset: str
    form: str

    @property
    def key(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "vectors": self.form, "strategy": "epochs on all labels"}

    def path(self, out: Path) -> Path:
        return out / "epochs" / (re.sub(r"[^A-Za-z0-9._-]+", "_", self.dataset) + ".json")


def epochs_of(forms: Iterable[tuple[str, str]], out: Path) -> list[Epochs]:
    """One training for every dataset that has rows of numbers in the run; vectors of an encoder before plain rows."""
    chosen: dict[str, str] = {}
    for dataset, form in sorted(forms, key=lambda one: (one[0], one[1] == materials.PLAIN, one[1])):
        if (materials.folder_of(out, dataset) / form / "pool.npy").exists():
            chosen.setdefault(dataset, form)
    return [Epochs(dataset, form) for dataset, form in chosen.items()]


def learn(epochs: list[Epochs], out: Path, watcher: Watcher) -> list[Failure]:
    """Train where that is missing, a few seconds each, in this process; returns what failed."""
    tasks = [Task(one.key, measure, (one, out)) for one in epochs if not is_intact(one.path(out))]
    if tasks:
        watcher.stage("calibration over epochs", len(tasks))
    failures = []
    for number, done in enumerate(run_tasks(tasks, 1)):
        failures += [] if done.failure is None else [Failure(done.task.key, done.failure)]
        watcher.progress(number + 1)
    return failures


def measure(one: Epochs, out: Path) -> list[str]:
    """Train, measure after every epoch, write."""
    material = materials.load(materials.folder_of(out, one.dataset), one.form)
    pool, test = np.asarray(material.items), np.asarray(material.test_items)
    with one_thread():
        errors = ece_of_epochs(pool, material.labels, test, material.test_labels, np.random.default_rng(0))
    rows = [
        dict(zip(COLUMNS, (one.dataset, one.form, epoch, kind, *values), strict=True))
        for kind, found in errors.items()
        for epoch, values in enumerate(zip(found.tolist(), running_average(found).tolist(), strict=True), start=1)
    ]
    materials.write_checked(one.path(out), json.dumps(rows, indent=1).encode())
    return []


def gather(epochs: list[Epochs], out: Path) -> None:
    """epochs.parquet: a row for every dataset, kind of bins and epoch that is there."""
    there = [one.path(out) for one in epochs if is_intact(one.path(out))]
    rows = [row for path in there for row in json.loads(path.read_text(encoding="utf-8"))]
    write_columns(out / "epochs.parquet", {name: [row[name] for row in rows] for name in COLUMNS}, {})
