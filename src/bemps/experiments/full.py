"""The line to reach: the classifier trained on the labels of the whole pool, once per dataset and model."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bemps.data.checksums import is_intact
from bemps.experiments import material as materials
from bemps.experiments.encoding import views
from bemps.experiments.grid import Cell
from bemps.experiments.journal import write_whole
from bemps.experiments.measures import measures
from bemps.experiments.models import model
from bemps.experiments.play import one_thread
from bemps.members.base import HasWeights


@dataclass(frozen=True)
class Full:
    """One classifier: `options` of the model are the first value of each axis that applies to it."""

    dataset: str
    model: str
    form: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "model": self.model, "strategy": "all labels"} | dict(self.options)

    def path(self, out: Path) -> Path:
        return out / "full" / (re.sub(r"[^A-Za-z0-9._-]+", "_", f"{self.dataset}-{self.model}") + ".json")


def train_full(full: Full, out: Path) -> list[str]:
    """Fit, measure, write."""
    with one_thread():
        folder = materials.folder_of(out, full.dataset)
        material = materials.load(folder, full.form)
        entry = model(full.model)
        options: dict[str, Any] = views(full.form, entry)
        options |= {name: value for name, value in full.options if name != "encoder"} | dict(entry.full)
        classifier = entry.make(material.items, materials.cache_of(folder), **options)
        seed = Cell(full.dataset, full.model, "all labels", 0, 0).learner_seed
        classifier.fit(material.items, material.labels, list(material.classes), np.random.default_rng(seed))
        probs = classifier.predict(material.test_items)
        weights = classifier.weights if isinstance(classifier, HasWeights) else np.full(len(probs), 1 / len(probs))
        found = measures(np.tensordot(weights, probs, 1), material.test_labels)
    told = {"dataset": full.dataset, "model": full.model, "labels": len(material.labels)} | found
    materials.write_checked(full.path(out), json.dumps(told, indent=1).encode())
    return []


def gather(fulls: list[Full], out: Path) -> None:
    """full.json: a list of what there is, in the order of dataset and model."""
    there = [full.path(out) for full in fulls if is_intact(full.path(out))]
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in there]
    rows.sort(key=lambda row: (row["dataset"], row["model"]))
    write_whole(out / "full.json", (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
