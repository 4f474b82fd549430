"""Classifiers trained on the labels of the full pool, once per dataset and model: the line to reach."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.files import slug
from bemps.data.checksums import is_intact
from bemps.experiments.cell import one_thread
from bemps.experiments.grid import Cell
from bemps.experiments.inputs import run_data
from bemps.experiments.inputs.pool_encoding import view_options
from bemps.experiments.journal import write_atomically
from bemps.metrics import measure_all
from bemps.models.base import HasWeights
from bemps.models.model_registry import grid_model


@dataclass(frozen=True)
class FullDataModel:
    """A classifier that is trained on all labels.

    Attributes
    ----------
    dataset : str
        The dataset.
    model : str
        The model.
    form : str
        The form of the data that it learns from.
    options : tuple of pairs
        Options of the model: the first value of each axis that applies to it.
    """

    dataset: str
    model: str
    form: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> dict[str, Any]:
        """The key of the task in reports."""
        return {"dataset": self.dataset, "model": self.model, "strategy": "all labels"} | dict(self.options)

    def path(self, out: Path) -> Path:
        """The file of its scores."""
        return out / "full" / f"{slug(f'{self.dataset}-{self.model}')}.json"


def train_full(full: FullDataModel, out: Path) -> list[str]:
    """Train a classifier, measure it, and write its scores."""
    with one_thread():
        folder = run_data.folder_of(out, full.dataset)
        cell_data = run_data.load(folder, full.form)
        entry = grid_model(full.model)
        options: dict[str, Any] = view_options(full.form, entry, dict(full.options))
        options |= {name: value for name, value in full.options if name != "encoder"} | dict(entry.full)
        classifier = entry.make(cell_data.items, run_data.cache_of(folder), **options)
        seed = Cell(full.dataset, full.model, "all labels", 0, 0).learner_seed
        classifier.fit(cell_data.items, cell_data.labels, list(cell_data.classes), np.random.default_rng(seed))
        probs = classifier.predict(cell_data.test_items)
        weights = classifier.weights if isinstance(classifier, HasWeights) else np.full(len(probs), 1 / len(probs))
        scores = measure_all(np.tensordot(weights, probs, 1), cell_data.test_labels)
    row = {"dataset": full.dataset, "model": full.model, "labels": len(cell_data.labels)} | scores
    run_data.write_checked(full.path(out), json.dumps(row, indent=1).encode())
    return []


def write_full_scores(fulls: list[FullDataModel], out: Path) -> None:
    """Write full.json: the scores of every trained classifier, in the order of dataset and model."""
    paths = [full.path(out) for full in fulls if is_intact(full.path(out))]
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    rows.sort(key=lambda row: (row["dataset"], row["model"]))
    write_atomically(out / "full.json", (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
