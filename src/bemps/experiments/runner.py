"""A run: check the settings, write shared data, run the cells, write the tables."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bemps._utils.extras import optional_import
from bemps._utils.watchers import Silent, Watcher
from bemps.data import Dataset
from bemps.data.checksums import is_intact
from bemps.data.sampling import OTHER_LABELS, TEXT_LABELS
from bemps.errors import InputError
from bemps.experiments import epoch_runs, plugins
from bemps.experiments.cell import CellSetting, batch_schedule, fixed_size, is_finished, journal_path, run_cell
from bemps.experiments.config import Config
from bemps.experiments.full_data import FullDataModel, train_full, write_full_scores
from bemps.experiments.grid import Cell, cells
from bemps.experiments.inputs import dataset_sources, pool_encoding, run_data
from bemps.experiments.inputs.preparation import prepare_texts, write_shared_data, write_surprisal_vectors
from bemps.experiments.journal import write_atomically
from bemps.experiments.result_tables import write_tables
from bemps.experiments.run_errors import Failure, write_errors
from bemps.experiments.run_folder import check_config, locked_folder, versions
from bemps.experiments.run_progress import RoundCounter, progress_reports
from bemps.experiments.workers import Executor, Task, run_tasks
from bemps.models.model_registry import grid_model, grid_models


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    Parameters
    ----------
    rounds : int
        Number of rounds in the tables.
    planned : int
        Number of rounds of the grid.
    failures : tuple of Failure
        The cells that failed.
    """

    rounds: int
    planned: int
    failures: tuple[Failure, ...]


def run(
    config: Config,
    out: Path | str,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    data_dir: str | None = None,
    shared: Path | str | None = None,
    watcher: Watcher | None = None,
) -> Outcome:
    """Run an experiment, or continue one that was stopped.

    The same configuration and folder give the same files: results, acquired, reliability, timings and epochs
    (.parquet), full.json, config.json and, if cells failed, failures.json.

    Parameters
    ----------
    config : Config
        The grid.
    out : path or str
        The folder of the run. It is made if needed.
    jobs : int
        Number of processes.
    executor : Executor, optional
        Runs the cells instead of the `jobs` processes, which then only encode.
    data_dir : str, optional
        Folder of the published datasets. None: the default.
    shared : path or str, optional
        Folder for data and vectors that several runs use. None: the folder of the run.
    watcher : Watcher, optional
        Receives stages, progress and notes.

    Returns
    -------
    Outcome
        Numbers of rounds, and the cells that failed.

    Raises
    ------
    InputError
        A setting or dataset does not fit, or another run writes to the folder.
    OtherConfiguration
        The folder holds a run with other settings.
    CannotWrite
        The folder cannot be written to.
    """
    optional_import("pyarrow.parquet", "experiments", "writing results")
    folder, watcher = Path(out), watcher or Silent()
    grid = cells(config)
    if shared is not None:
        run_data.check_shared(Path(shared))
    with locked_folder(folder):
        datasets = _datasets(config, data_dir, watcher)
        _refuse_unmet_needs(config, datasets)
        work = _work(config, grid, datasets, folder)
        check_config(folder, _described(config, datasets))
        fulls = _fulls(config, datasets) if config.full else []
        if shared is not None:
            run_data.link_shared(
                folder, Path(shared), {name: dataset_sources.fingerprint(dataset) for name, dataset in datasets.items()}
            )
        forms = {(cell.dataset, setting.form) for cell, setting in work.items()}
        write_shared_data(forms, datasets, folder, jobs, watcher)
        write_surprisal_vectors(config, folder, jobs, watcher)
        prepare_texts(work, jobs, watcher)
        learning = epoch_runs.epoch_trainings(forms, folder) if config.full else []
        try:
            failures = epoch_runs.train_missing(learning, folder, watcher)
            failures += _play_all(work, fulls, folder, executor or jobs, watcher)
        finally:
            rounds = write_tables(work, config, folder)
            write_full_scores(fulls, folder)
            epoch_runs.write_epoch_table(learning, folder)
        _write_failures(folder, failures)
    return Outcome(rounds, _planned(work), tuple(failures))


def _datasets(config: Config, data_dir: str | None, watcher: Watcher) -> dict[str, Dataset]:
    watcher.stage("reading data", len(config.datasets))
    datasets = {}
    for number, source in enumerate(config.datasets):
        dataset = dataset_sources.load(source, data_dir=data_dir, max_pool=config.max_pool, max_test=config.max_test)
        _refuse_small(config, dataset)
        watcher.note(str(dataset))
        datasets[source.name] = dataset
        watcher.progress(number + 1)
    return datasets


def _initial(config: Config, dataset: Dataset) -> int:
    return config.initial or (TEXT_LABELS if dataset.kind == "text" else OTHER_LABELS)


def _refuse_small(config: Config, dataset: Dataset) -> None:
    validation = fixed_size(len(dataset.pool)) if "fixed" in config.axes.get("validation", ()) else 0
    needed = _initial(config, dataset) + config.budget + validation
    apart = " and a fixed validation set" if validation else ""
    if needed > len(dataset.pool):
        raise InputError(
            f"dataset {dataset.name}",
            expected=f"a pool of at least {needed:,} items: the initial labels, the budget{apart}",
            got=f"{len(dataset.pool):,}",
            fix="Lower --budget or --initial.",
        )


def _refuse_unmet_needs(config: Config, datasets: Mapping[str, Dataset]) -> None:
    """Strategies that a model or a dataset has nothing for are refused before anything is computed."""
    for name in config.strategies:
        needs = plugins.strategy_entry(name, config.plugin).needs
        without = [model for model in config.models if not grid_model(model).features]
        if without and any("features" in need for need in needs):
            able = ", ".join(model for model, row in grid_models().items() if row.features)
            expected = f"a model with features, which {name} needs: {able}"
            raise InputError("model", expected=expected, got=", ".join(without), fix="Run those strategies apart.")
        wordless = [dataset_name for dataset_name, dataset in datasets.items() if dataset.kind != "text"]
        if wordless and "surprisal" in needs:
            expected = f"texts for {name}, which needs the surprisal of words"
            raise InputError("dataset", expected=expected, got=", ".join(wordless), fix="Leave the strategy out.")


def _described(config: Config, datasets: Mapping[str, Dataset]) -> dict[str, Any]:
    """config.json: everything on which the results depend."""
    return {
        "config": config.described(),
        "data": {
            name: {
                "pool": len(dataset.pool),
                "test": len(dataset.test),
                "classes": list(dataset.classes),
                "initial": _initial(config, dataset),
                "fingerprint": dataset_sources.fingerprint(dataset),
            }
            for name, dataset in datasets.items()
        },
        "plugin": None if config.plugin is None else plugins.fingerprint(config.plugin),
        "versions": versions(torch=any(grid_model(name).reads != "plain" for name in config.models)),
    }


def _work(config: Config, grid: list[Cell], datasets: Mapping[str, Dataset], out: Path) -> dict[Cell, CellSetting]:
    """The cells in order, each with what it needs."""
    work = {}
    for cell in grid:
        dataset = datasets[cell.dataset]
        form = pool_encoding.form_of(grid_model(cell.model), dict(cell.options), dataset.kind)
        work[cell] = CellSetting(out, form, config.budget, _initial(config, dataset), config.plugin)
    return work


def _fulls(config: Config, datasets: Mapping[str, Dataset]) -> list[FullDataModel]:
    fulls = []
    for name, dataset in datasets.items():
        for model_name in config.models:
            entry = grid_model(model_name)
            options = {axis: values[0] for axis, values in config.axes.items() if axis in entry.options}
            if options.get("validation") == "fixed":  # it would be a part of the pool, and all of that trains here
                options["validation"] = "none"
            form = pool_encoding.form_of(entry, options, dataset.kind)
            fulls.append(FullDataModel(name, model_name, form, tuple(options.items())))
    return fulls


def _planned(work: Mapping[Cell, CellSetting]) -> int:
    return sum(len(batch_schedule(setting.budget, cell.batch_size)) + 1 for cell, setting in work.items())


def _play_all(
    work: Mapping[Cell, CellSetting], fulls: list[FullDataModel], out: Path, jobs: int | Executor, watcher: Watcher
) -> list[Failure]:
    """Everything that is missing; returns what failed, in the order of the keys."""
    tasks = [Task(full.key, train_full, (full, out)) for full in fulls if not is_intact(full.path(out))]
    tasks += [
        Task(cell.key, run_cell, (cell, setting)) for cell, setting in work.items() if not is_finished(cell, setting)
    ]
    failures: list[Failure] = []
    watcher.stage("rounds", _planned(work))
    with (
        progress_reports(RoundCounter([journal_path(out, cell) for cell in work]), watcher),
        closing(run_tasks(tasks, jobs)) as results,
    ):
        for done in results:
            for sentence in done.notes:
                watcher.note(sentence)
            if done.failure is not None:
                failures.append(Failure(done.task.key, done.failure))
    return sorted(failures, key=lambda failure: json.dumps(failure.key))


def _write_failures(out: Path, failures: list[Failure]) -> None:
    path = out / "failures.json"
    if failures:
        write_atomically(path, (json.dumps([asdict(failure) for failure in failures], indent=1) + "\n").encode())
    else:
        with write_errors(path):
            path.unlink(missing_ok=True)
