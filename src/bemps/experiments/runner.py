"""The whole run: check, share what is shared, play the cells, write the tables."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bemps.data import Dataset
from bemps.data.checksums import is_intact
from bemps.data.sampling import OTHER_LABELS, TEXT_LABELS
from bemps.errors import InputError
from bemps.experiments import encoding, epochs, material, plugins, sources
from bemps.experiments.config import Config
from bemps.experiments.failures import Failure, needed, writing
from bemps.experiments.folder import held, settle, versions
from bemps.experiments.full import Full, gather, train_full
from bemps.experiments.grid import Cell, cells
from bemps.experiments.journal import write_whole
from bemps.experiments.models import MODELS, model
from bemps.experiments.play import Setting, finished, fixed_size, journal_path, play, schedule
from bemps.experiments.progress import Rounds, Silent, Watcher, polled
from bemps.experiments.sharing import share, share_surprisal, share_texts
from bemps.experiments.tables import write_tables
from bemps.experiments.workers import Executor, Task, run_tasks


@dataclass(frozen=True)
class Outcome:
    """What a run left: rounds in the tables, of how many, and the cells that failed."""

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
    """Run an experiment, or go on with one that was stopped: the same configuration and folder give the same files.

    results, acquired, reliability, timings, epochs (.parquet), full.json, config.json and, where cells failed,
    failures.json.
    Data and vectors lie in `shared`, where given, and other runs there use them again. An `executor` plays the cells
    in place of `jobs` processes, which then only encode.
    """
    needed("pyarrow.parquet", "writing results")
    folder, watcher = Path(out), watcher or Silent()
    grid = cells(config)
    with held(folder):
        datasets = _datasets(config, data_dir, watcher)
        _refuse_unserved(config, datasets)
        work = _work(config, grid, datasets, folder)
        settle(folder, _described(config, datasets))
        fulls = _fulls(config, datasets) if config.full else []
        if shared is not None:
            material.link(folder, Path(shared), {name: sources.fingerprint(one) for name, one in datasets.items()})
        forms = {(cell.dataset, setting.form) for cell, setting in work.items()}
        share(forms, datasets, folder, jobs, watcher)
        share_surprisal(config, folder, jobs, watcher)
        share_texts(work, jobs, watcher)
        learning = epochs.epochs_of(forms, folder) if config.full else []
        try:
            failures = epochs.learn(learning, folder, watcher)
            failures += _play_all(work, fulls, folder, executor or jobs, watcher)
        finally:
            rounds = write_tables(work, config, folder)
            gather(fulls, folder)
            epochs.gather(learning, folder)
        _write_failures(folder, failures)
    return Outcome(rounds, _planned(work), tuple(failures))


def _datasets(config: Config, data_dir: str | None, watcher: Watcher) -> dict[str, Dataset]:
    watcher.stage("reading data", len(config.datasets))
    found = {}
    for number, source in enumerate(config.datasets):
        dataset = sources.load(source, data_dir=data_dir, max_pool=config.max_pool, max_test=config.max_test)
        _refuse_small(config, dataset)
        watcher.note(str(dataset))
        found[source.name] = dataset
        watcher.progress(number + 1)
    return found


def _initial(config: Config, dataset: Dataset) -> int:
    return config.initial or (TEXT_LABELS if dataset.kind == "text" else OTHER_LABELS)


def _refuse_small(config: Config, dataset: Dataset) -> None:
    held = fixed_size(len(dataset.pool)) if "fixed" in config.axes.get("validation", ()) else 0
    wanted = _initial(config, dataset) + config.budget + held
    apart = " and a fixed validation set" if held else ""
    if wanted > len(dataset.pool):
        raise InputError(
            f"dataset {dataset.name}",
            expected=f"a pool of at least {wanted:,} items: the initial labels, the budget{apart}",
            got=f"{len(dataset.pool):,}",
            fix="Lower --budget or --initial.",
        )


def _refuse_unserved(config: Config, datasets: Mapping[str, Dataset]) -> None:
    """Strategies that a model or a dataset has nothing for are refused before anything is computed."""
    for name in config.strategies:
        needs = plugins.entry(name, config.plugin).needs
        without = [one for one in config.models if not model(one).features]
        if without and any("features" in need for need in needs):
            able = ", ".join(one for one in MODELS if model(one).features)
            expected = f"a model with features, which {name} needs: {able}"
            raise InputError("model", expected=expected, got=", ".join(without), fix="Run those strategies apart.")
        wordless = [one for one, dataset in datasets.items() if dataset.kind != "text"]
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
                "fingerprint": sources.fingerprint(dataset),
            }
            for name, dataset in datasets.items()
        },
        "plugin": None if config.plugin is None else plugins.fingerprint(config.plugin),
        "versions": versions(torch=any(model(name).reads != "plain" for name in config.models)),
    }


def _work(config: Config, grid: list[Cell], datasets: Mapping[str, Dataset], out: Path) -> dict[Cell, Setting]:
    """The cells in order, each with what it needs."""
    work = {}
    for cell in grid:
        dataset = datasets[cell.dataset]
        form = encoding.form_of(model(cell.model), dict(cell.options), dataset.kind)
        work[cell] = Setting(out, form, config.budget, _initial(config, dataset), config.plugin)
    return work


def _fulls(config: Config, datasets: Mapping[str, Dataset]) -> list[Full]:
    fulls = []
    for name, dataset in datasets.items():
        for model_name in config.models:
            entry = model(model_name)
            options = {axis: values[0] for axis, values in config.axes.items() if axis in entry.options}
            if options.get("validation") == "fixed":  # it would be a part of the pool, and all of that trains here
                options["validation"] = "none"
            form = encoding.form_of(entry, options, dataset.kind)
            fulls.append(Full(name, model_name, form, tuple(options.items())))
    return fulls


def _planned(work: Mapping[Cell, Setting]) -> int:
    return sum(len(schedule(setting.budget, cell.batch_size)) + 1 for cell, setting in work.items())


def _play_all(
    work: Mapping[Cell, Setting], fulls: list[Full], out: Path, jobs: int | Executor, watcher: Watcher
) -> list[Failure]:
    """Everything that is missing; returns what failed, in the order of the keys."""
    tasks = [Task(full.key, train_full, (full, out)) for full in fulls if not is_intact(full.path(out))]
    tasks += [Task(cell.key, play, (cell, setting)) for cell, setting in work.items() if not finished(cell, setting)]
    failures: list[Failure] = []
    watcher.stage("rounds", _planned(work))
    with (
        polled(Rounds([journal_path(out, cell) for cell in work]), watcher),
        closing(run_tasks(tasks, jobs)) as results,
    ):
        for done in results:
            for sentence in done.told:
                watcher.note(sentence)
            if done.failure is not None:
                failures.append(Failure(done.task.key, done.failure))
    return sorted(failures, key=lambda failure: json.dumps(failure.key))


def _write_failures(out: Path, failures: list[Failure]) -> None:
    path = out / "failures.json"
    if failures:
        write_whole(path, (json.dumps([asdict(one) for one in failures], indent=1) + "\n").encode())
    else:
        with writing(path):
            path.unlink(missing_ok=True)
