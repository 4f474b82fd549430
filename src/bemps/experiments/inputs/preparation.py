"""Shared data of the cells of a run, written before they start: items, vectors, surprisal, tokens, states."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from bemps._utils.watchers import Watcher
from bemps.data import Dataset
from bemps.data.checksums import is_intact
from bemps.errors import InputError
from bemps.experiments import plugins
from bemps.experiments.cell import CellSetting, is_finished
from bemps.experiments.config import Config
from bemps.experiments.grid import Cell
from bemps.experiments.inputs import dataset_sources, pool_encoding, run_data
from bemps.experiments.run_errors import Failure
from bemps.experiments.workers import Task, run_tasks
from bemps.models.model_registry import grid_model
from bemps.models.text.hidden_store import remove_damaged


def write_shared_data(
    forms: Mapping[tuple[str, str], str | None],
    datasets: Mapping[str, Dataset],
    out: Path,
    jobs: int,
    watcher: Watcher,
) -> None:
    """Write every dataset in every form that a model learns from. Damaged files are written again.

    Parameters
    ----------
    forms : mapping of pairs of str to str or None
        Dataset and form, with the encoder where it is not one of the table.
    datasets : mapping of str to Dataset
        The datasets by name.
    out : Path
        The folder of the run.
    jobs : int
        Number of processes.
    watcher : Watcher
        Receives the progress.
    """
    run_data.load.cache_clear()  # it may map files that are replaced here
    for name, dataset in datasets.items():
        folder = run_data.folder_of(out, name)
        run_data.write(dataset, folder, dataset_sources.fingerprint(dataset))
        if (name, run_data.PLAIN) in forms:
            run_data.write_plain(folder)
    for name, form in sorted(forms, reverse=True):  # minilm-words before minilm, whose vectors it holds
        if form == run_data.IMAGES:
            run_data.require_images(run_data.folder_of(out, name))
        elif form != run_data.PLAIN:
            sizes = {"pool": len(datasets[name].pool), "test": len(datasets[name].test)}
            _encode((form, forms[name, form]), run_data.folder_of(out, name), sizes, jobs, watcher)


def write_surprisal_vectors(config: Config, out: Path, jobs: int, watcher: Watcher) -> None:
    """Write surprisal vectors of every pool, if a strategy needs them.

    Parameters
    ----------
    config : Config
        The configuration.
    out : Path
        The folder of the run.
    jobs : int
        Number of processes.
    watcher : Watcher
        Receives the progress.
    """
    if not any("surprisal" in plugins.strategy_entry(name, config.plugin).needs for name in config.strategies):
        return
    folders = [run_data.folder_of(out, source.name) for source in config.datasets]
    missing = [folder for folder in folders if not is_intact(folder / run_data.SURPRISAL / "pool.npy")]
    tasks = [
        Task({"dataset": folder.name, "encoder": "surprisal"}, pool_encoding.write_surprisal, (folder,))
        for folder in missing
    ]
    _run_stage("surprisal vectors", tasks, jobs, watcher)


def prepare_texts(work: Mapping[Cell, CellSetting], jobs: int, watcher: Watcher) -> None:
    """Compute the inputs of networks, once for each dataset and number of top layers. Existing ones are used again.

    These are token numbers if all layers learn, and otherwise also the hidden states below those that learn.

    Parameters
    ----------
    work : mapping of Cell to CellSetting
        The cells.
    jobs : int
        Number of processes.
    watcher : Watcher
        Receives the progress.
    """
    arguments_of = {}
    for cell, setting in work.items():
        entry = grid_model(cell.model)
        top = dict(cell.options).get("top_layers", entry.options.get("top_layers"))
        if entry.reads == "text" and top is not None and not is_finished(cell, setting):
            arguments_of[cell.dataset, top] = (run_data.folder_of(setting.out, cell.dataset), entry.make, top)
    tasks = [
        Task(
            {"dataset": name, "encoder": f"below {top} layers" if top else "tokens"},
            pool_encoding.prepare_text_model,
            arguments,
        )
        for (name, top), arguments in arguments_of.items()
    ]
    for folder in {folder for folder, _, _ in arguments_of.values()}:
        for store in ("tokens", "hidden"):
            remove_damaged(run_data.cache_of(folder) / store)
    if tasks:
        _run_stage("tokens and hidden states", tasks, jobs, watcher)


def _encode(
    form_and_own: tuple[str, str | None], folder: Path, sizes: dict[str, int], jobs: int, watcher: Watcher
) -> None:
    form, own = form_and_own
    parts = pool_encoding.missing_parts(form, own, folder, sizes)
    tasks = [Task({"dataset": folder.name, "encoder": own or form}, pool_encoding.encode_part, part) for part in parts]
    _run_stage(f"{own or form} vectors of {folder.name}", tasks, jobs, watcher)
    pool_encoding.join_parts(form, own, folder, sizes)


def _run_stage(stage: str, tasks: list[Task], jobs: int, watcher: Watcher) -> None:
    """Carry out what the cells need; the first failure is the run's."""
    watcher.stage(stage, len(tasks))
    with closing(run_tasks(tasks, jobs)) as results:
        for number, done in enumerate(results):
            if done.failure is not None:
                raise _unencoded(str(done.task.key["encoder"]), Failure(done.task.key, done.failure))
            watcher.progress(number + 1)


def _unencoded(form: str, failure: Failure) -> InputError:
    return InputError(
        f"encoder {form}",
        expected="vectors of every item",
        got=failure.cause,
        fix="Choose another encoder (--axis encoder=...) or model, or repair the items.",
    )
