"""A run: check the settings, write shared data, run the cells, write the tables."""

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from bemps._utils.extras import optional_import
from bemps._utils.watchers import Silent, Watcher
from bemps.data.checksums import is_intact
from bemps.experiments import epoch_runs
from bemps.experiments.cell import is_finished, journal_path, run_cell
from bemps.experiments.config import Config
from bemps.experiments.full_data import train_full, write_full_scores
from bemps.experiments.grid import cells
from bemps.experiments.inputs import run_data
from bemps.experiments.inputs.preparation import prepare_texts, write_shared_data, write_surprisal_vectors
from bemps.experiments.journal import write_atomically
from bemps.experiments.result_tables import write_tables
from bemps.experiments.run_errors import Failure, write_errors
from bemps.experiments.run_folder import check_config, check_folder, locked_folder
from bemps.experiments.run_plan import RunPlan, plan_run
from bemps.experiments.run_progress import RoundCounter, progress_reports
from bemps.experiments.workers import Executor, Task, run_tasks


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

    A folder has one configuration, and a later run may add datasets, models, strategies, batch sizes, seeds or values
    of an axis: cells that are there are not computed again.

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
        The folder holds a run with other settings, or one of a larger grid.
    CannotWrite
        The folder cannot be written to.
    """
    optional_import("pyarrow.parquet", "experiments", "writing results")
    folder, watcher = Path(out), watcher or Silent()
    grid = cells(config)
    if shared is not None:
        run_data.check_shared(Path(shared))
    check_folder(folder)
    plan = plan_run(config, grid, folder, data_dir, watcher)  # what it refuses leaves no folder behind
    with locked_folder(folder):
        check_config(folder, plan.described())
        if shared is not None:
            run_data.link_shared(folder, Path(shared), plan.fingerprints())
        _write_inputs(plan, folder, jobs, watcher)
        learning = epoch_runs.epoch_trainings(plan.forms, folder) if config.full else []
        try:
            failures = epoch_runs.train_missing(learning, folder, watcher)
            failures += _play_all(plan, folder, executor or jobs, watcher)
        finally:
            rounds = write_tables(plan.work, config, folder)
            write_full_scores(plan.fulls, folder)
            epoch_runs.write_epoch_table(learning, folder)
        _write_failures(folder, failures)
    return Outcome(rounds, plan.rounds, tuple(failures))


def _write_inputs(plan: RunPlan, out: Path, jobs: int, watcher: Watcher) -> None:
    """What the cells read; what is there already is used again."""
    write_shared_data(plan.forms, plan.datasets, out, jobs, watcher)
    write_surprisal_vectors(plan.config, out, jobs, watcher)
    prepare_texts(plan.work, jobs, watcher)


def _play_all(plan: RunPlan, out: Path, jobs: int | Executor, watcher: Watcher) -> list[Failure]:
    """Everything that is missing; returns what failed, in the order of the keys."""
    tasks = [Task(full.key, train_full, (full, out)) for full in plan.fulls if not is_intact(full.path(out))]
    unfinished = [(cell, setting) for cell, setting in plan.work.items() if not is_finished(cell, setting)]
    tasks += [Task(cell.key, run_cell, (cell, setting)) for cell, setting in unfinished]
    failures: list[Failure] = []
    watcher.stage("rounds", plan.rounds)
    with (
        progress_reports(RoundCounter([journal_path(out, cell) for cell in plan.work]), watcher),
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
