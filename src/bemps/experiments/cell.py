"""One cell of the grid: an active learner is run with the true labels as answers.

Round r: fit on the labels so far, measure on the test set, choose the next batch, write the record. A round is on the
disk, with the batch that it chose, before the next one starts. A cell that is continued repeats nothing.
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
from bemps.experiments import plugins
from bemps.experiments.grid import ESTIMATION, Cell
from bemps.experiments.inputs import run_data
from bemps.experiments.inputs.pool_encoding import view_options
from bemps.experiments.inputs.run_data import CellData
from bemps.experiments.journal import Record, open_journal, read_journal
from bemps.experiments.memory import peak_memory_mb, restart_peak
from bemps.experiments.workers import check_parent
from bemps.learner import ActiveLearner
from bemps.limits import library_threads
from bemps.metrics import confidence_bins, measure_all
from bemps.models.base import take
from bemps.models.model_registry import grid_model
from bemps.models.validation_splits import Fixed
from bemps.types import Array

FIXED_SIZE = 1_000  # labelled items that only validate, as in the paper; of small pools a quarter


@dataclass(frozen=True)
class CellSetting:
    """The setting of a cell, beside its key.

    Attributes
    ----------
    out : Path
        The folder of the run.
    form : str
        The form of the data that its model learns from (`run_data`).
    budget : int
        Labels acquired beyond the initial ones.
    initial : int
        Labels before the first round.
    plugin : str, optional
        A Python file with strategies.
    """

    out: Path
    form: str
    budget: int
    initial: int
    plugin: str | None = None


def journal_path(out: Path, cell: Cell) -> Path:
    """The journal of a cell."""
    return out / "journals" / f"{cell.slug}.jsonl"


def batch_schedule(budget: int, batch_size: int) -> list[int]:
    """The sizes of the batches. The last one is the rest of the budget."""
    full, rest = divmod(budget, batch_size)
    return [batch_size] * full + ([rest] if rest else [])


def is_finished(cell: Cell, setting: CellSetting) -> bool:
    """Whether every round of a cell is on the disk."""
    journal = read_journal(journal_path(setting.out, cell), cell.key)
    return journal.damage is None and len(journal.rounds) > len(batch_schedule(setting.budget, cell.batch_size))


def run_cell(cell: Cell, setting: CellSetting) -> list[str]:
    """Run the missing rounds of a cell, and return notes for the user."""
    batches = batch_schedule(setting.budget, cell.batch_size)
    with open_journal(journal_path(setting.out, cell), cell.key) as journal, one_thread():
        notes = [] if journal.damage is None else [f"{cell}: {journal.damage}"]
        if len(journal.rounds) > len(batches):
            return notes
        cell_data = run_data.load(run_data.folder_of(setting.out, cell.dataset), setting.form)
        learner = _learner(cell, setting, cell_data)
        for record in [_start(cell, setting, cell_data), *journal.rounds]:
            _tell(learner, cell_data, record)
        for number in range(len(journal.rounds), len(batches) + 1):
            record = _round(learner, cell_data, number, batches[number] if number < len(batches) else 0)
            check_parent()
            journal.append(record)
            _tell(learner, cell_data, record)
    return notes


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: cells run side by side, and sums are in one order on every machine."""
    import sklearn.cluster  # noqa: F401  its thread pool must be loaded to be limited

    with library_threads(1):
        yield


def _learner(cell: Cell, setting: CellSetting, cell_data: CellData) -> ActiveLearner:
    entry, strategy = grid_model(cell.model), plugins.strategy_entry(cell.strategy, setting.plugin)
    options = dict(cell.options)
    size = {ESTIMATION: options.pop(ESTIMATION)} if ESTIMATION in options and "estimation" in strategy.needs else {}
    mine = entry.options.keys() - {"encoder"}
    own: dict[str, Any] = view_options(setting.form, entry, options)
    own |= {name: value for name, value in options.items() if name in mine}
    validation_rows = (
        _validation_rows(cell, setting, cell_data) if own.get("validation") == "fixed" else np.array([], dtype=np.int64)
    )
    if len(validation_rows):
        own["validation"] = Fixed(take(cell_data.items, validation_rows), cell_data.labels[validation_rows])
    learner = ActiveLearner(
        entry.make(cell_data.items, run_data.cache_of(run_data.folder_of(setting.out, cell.dataset)), **own),
        cell_data.items,
        ids=cell_data.ids,
        classes=cell_data.classes,
        strategy=plugins.strategy(cell.strategy, setting.plugin),
        options={name: value for name, value in options.items() if strategy.option_name(name) in strategy.options},
        seed=cell.learner_seed,
        explain=False,
        surprisal=cell_data.surprisal,
        **size,  # type: ignore[arg-type]
    )
    # not by `skip`, which counts as a change: cells are compared under the same random numbers
    pool = learner.pool
    pool.sync(pool.labels, {cell_data.ids[row] for row in validation_rows}, pool.classes, pool.version)
    return learner


def fixed_size(pool: int) -> int:
    """The number of items of a pool that `validation = "fixed"` uses."""
    return min(FIXED_SIZE, pool // 4)


def _validation_rows(cell: Cell, setting: CellSetting, cell_data: CellData) -> Int[Array, " V"]:
    """The items of a fixed validation set: the same for every strategy and model, none labelled at the start."""
    initial = set(initial_ids(cell_data, setting.initial, cell.seed))
    free = np.array([row for row, name in enumerate(cell_data.ids) if name not in initial])
    rng = np.random.default_rng([cell.seed, len(cell_data.ids)])
    return np.sort(rng.choice(free, fixed_size(len(cell_data.ids)), replace=False))


def _start(cell: Cell, setting: CellSetting, cell_data: CellData) -> Record:
    """The initial labels, by dataset and seed alone, as if a round had chosen them."""
    return {"next": initial_ids(cell_data, setting.initial, cell.seed)}


def initial_ids(cell_data: CellData, size: int, seed: int) -> list[str]:
    """The ids of the initial labels.

    Parameters
    ----------
    cell_data : CellData
        The dataset.
    size : int
        The number of labels.
    seed : int
        The seed of the draw.

    Returns
    -------
    list of str
        The ids.
    """
    table = Table(cell_data.ids, np.zeros((len(cell_data.ids), 1)), cell_data.labels, cell_data.classes)
    return [cell_data.ids[row] for row in initial_labels(table, size, seed=seed)]


def _tell(learner: ActiveLearner, cell_data: CellData, record: Record) -> None:
    """Once for each round: the learner counts what it is told, and its random numbers follow that count."""
    rows = learner.pool.positions(record["next"])
    names = [cell_data.classes[code] for code in cell_data.labels[rows]]
    learner.tell(dict(zip(record["next"], names, strict=True)))


def _round(learner: ActiveLearner, cell_data: CellData, number: int, size: int) -> Record:
    restart_peak()
    train, _ = _timed(learner.fitted_model.fitted)
    probs = learner.predict(cell_data.test_items)
    query, batch = _timed(lambda: learner.ask(size)) if size else (None, None)
    return {
        "round": number,
        "labels": len(learner.pool.labels),
        **measure_all(probs, cell_data.test_labels),
        "bins": confidence_bins(probs, cell_data.test_labels),
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
