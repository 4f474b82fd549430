"""One cell: the annotator is played with the true labels, round by round.

Round r: fit on the labels so far, measure on the test set, choose the next batch, write the record. A round is on the
disk, with the batch that it chose, before the next one starts; so a cell that goes on repeats nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from bemps.data import Table, initial_labels
from bemps.experiments import material as materials
from bemps.experiments import plugins
from bemps.experiments.encoding import views
from bemps.experiments.grid import ESTIMATION, Cell
from bemps.experiments.journal import Record, contents, opened
from bemps.experiments.material import Material
from bemps.experiments.measures import confidence_bins, measures, peak_memory_mb, restart_peak
from bemps.experiments.models import model
from bemps.experiments.workers import check_parent
from bemps.learner import ActiveLearner
from bemps.limits import library_threads
from bemps.members.base import take
from bemps.members.splits import Fixed
from bemps.types import Array

FIXED_SIZE = 1_000  # labelled items that only validate, as in the paper; of small pools a quarter


@dataclass(frozen=True)
class Setting:
    """What a cell needs beside its key; `form` is what its model learns from."""

    out: Path
    form: str
    budget: int
    initial: int
    plugin: str | None = None


def journal_path(out: Path, cell: Cell) -> Path:
    return out / "journals" / f"{cell.slug}.jsonl"


def schedule(budget: int, batch_size: int) -> list[int]:
    """The sizes of the batches: the last one is what is left of the budget."""
    full, rest = divmod(budget, batch_size)
    return [batch_size] * full + ([rest] if rest else [])


def finished(cell: Cell, setting: Setting) -> bool:
    """Whether every round of a cell is on the disk."""
    found = contents(journal_path(setting.out, cell), cell.key)
    return found.damage is None and len(found.rounds) > len(schedule(setting.budget, cell.batch_size))


def play(cell: Cell, setting: Setting) -> list[str]:
    """Play what is missing of a cell; returns what is worth telling."""
    batches = schedule(setting.budget, cell.batch_size)
    with opened(journal_path(setting.out, cell), cell.key) as journal, one_thread():
        told = [] if journal.damage is None else [f"{cell}: {journal.damage}"]
        if len(journal.rounds) > len(batches):
            return told
        material = materials.load(materials.folder_of(setting.out, cell.dataset), setting.form)
        learner = _learner(cell, setting, material)
        for record in [_start(cell, setting, material), *journal.rounds]:
            _tell(learner, material, record)
        for number in range(len(journal.rounds), len(batches) + 1):
            record = _round(learner, material, number, batches[number] if number < len(batches) else 0)
            check_parent()
            journal.append(record)
            _tell(learner, material, record)
    return told


@contextmanager
def one_thread() -> Iterator[None]:
    """Cells run side by side, each on one core; and sums are made in one order, whatever the machine does besides."""
    import sklearn.cluster  # noqa: F401  its thread pool has to be there to be held

    with library_threads(1):
        yield


def _learner(cell: Cell, setting: Setting, material: Material) -> ActiveLearner:
    entry, chosen = model(cell.model), plugins.entry(cell.strategy, setting.plugin)
    options = dict(cell.options)
    size = {ESTIMATION: options.pop(ESTIMATION)} if ESTIMATION in options and "estimation" in chosen.needs else {}
    mine = entry.options.keys() - {"encoder"}
    own: dict[str, Any] = views(setting.form, entry)
    own |= {name: value for name, value in options.items() if name in mine}
    held = _held(cell, setting, material) if own.get("validation") == "fixed" else np.array([], dtype=np.int64)
    if len(held):
        own["validation"] = Fixed(take(material.items, held), material.labels[held])
    learner = ActiveLearner(
        entry.make(material.items, materials.cache_of(materials.folder_of(setting.out, cell.dataset)), **own),
        material.items,
        ids=material.ids,
        classes=material.classes,
        strategy=plugins.strategy(cell.strategy, setting.plugin),
        options={name: value for name, value in options.items() if name in chosen.options},
        seed=cell.learner_seed,
        explain=False,
        surprisal=material.surprisal,
        **size,  # type: ignore[arg-type]
    )
    # not by `skip`, which counts as a change: cells are compared under the same random numbers
    learner.pool.skipped |= {material.ids[row] for row in held}
    return learner


def fixed_size(pool: int) -> int:
    """How many items of a pool `validation = "fixed"` sets apart."""
    return min(FIXED_SIZE, pool // 4)


def _held(cell: Cell, setting: Setting, material: Material) -> Int[Array, " V"]:
    """The items of a fixed validation set: the same for every strategy and model, none labelled at the start."""
    initial = set(initial_ids(material, setting.initial, cell.seed))
    free = np.array([row for row, name in enumerate(material.ids) if name not in initial])
    rng = np.random.default_rng([cell.seed, len(material.ids)])
    return np.sort(rng.choice(free, fixed_size(len(material.ids)), replace=False))


def _start(cell: Cell, setting: Setting, material: Material) -> Record:
    """The initial labels, by dataset and seed alone, as if a round had chosen them."""
    return {"next": initial_ids(material, setting.initial, cell.seed)}


def initial_ids(material: Material, size: int, seed: int) -> list[str]:
    table = Table(material.ids, np.zeros((len(material.ids), 1)), material.labels, material.classes)
    return [material.ids[row] for row in initial_labels(table, size, seed=seed)]


def _tell(learner: ActiveLearner, material: Material, record: Record) -> None:
    """Once for each round: the learner counts what it is told, and its random numbers follow that count."""
    rows = learner.pool.positions(record["next"])
    names = [material.classes[code] for code in material.labels[rows]]
    learner.tell(dict(zip(record["next"], names, strict=True)))


def _round(learner: ActiveLearner, material: Material, number: int, size: int) -> Record:
    restart_peak()
    train, _ = _timed(learner.knowledge.fitted)
    probs = learner.predict(material.test_items)
    query, batch = _timed(lambda: learner.ask(size)) if size else (None, None)
    return {
        "round": number,
        "labels": len(learner.pool.labels),
        **measures(probs, material.test_labels),
        "bins": confidence_bins(probs, material.test_labels),
        "remaining_gain": learner.remaining_gain(),
        "next": [] if batch is None else list(batch.items),
        "train_seconds": train,
        "query_seconds": query,
        "peak_memory_mb": peak_memory_mb(),
    }


def _timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
