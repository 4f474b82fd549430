"""What the cells of a run share, made before they start: data, vectors of encoders, surprisal, tokens, states."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from bemps.data import Dataset
from bemps.data.checksums import is_intact
from bemps.errors import InputError
from bemps.experiments import encoding, material, plugins, sources
from bemps.experiments.config import Config
from bemps.experiments.failures import Failure
from bemps.experiments.grid import Cell
from bemps.experiments.models import model
from bemps.experiments.play import Setting, finished
from bemps.experiments.progress import Watcher
from bemps.experiments.workers import Task, run_tasks
from bemps.members.hidden_store import remove_damaged


def share(forms: set[tuple[str, str]], datasets: Mapping[str, Dataset], out: Path, jobs: int, watcher: Watcher) -> None:
    """Write every dataset and every form of it that a model learns from; what was damaged is written anew."""
    material.load.cache_clear()  # it may map files that are replaced here
    for name, dataset in datasets.items():
        folder = material.folder_of(out, name)
        material.write(dataset, folder, sources.fingerprint(dataset))
        if (name, material.PLAIN) in forms:
            material.write_plain(folder)
    for name, form in sorted(forms, reverse=True):  # minilm-words before minilm, whose vectors it holds
        if form == material.IMAGES:
            material.require_images(material.folder_of(out, name))
        elif form != material.PLAIN:
            sizes = {"pool": len(datasets[name].pool), "test": len(datasets[name].test)}
            _encode(form, material.folder_of(out, name), sizes, jobs, watcher)


def share_surprisal(config: Config, out: Path, jobs: int, watcher: Watcher) -> None:
    """Surprisal vectors of every pool, where a strategy needs them."""
    if not any("surprisal" in plugins.entry(name, config.plugin).needs for name in config.strategies):
        return
    folders = [material.folder_of(out, source.name) for source in config.datasets]
    missing = [folder for folder in folders if not is_intact(folder / material.SURPRISAL / "pool.npy")]
    tasks = [Task({"dataset": one.name, "encoder": "surprisal"}, encoding.write_surprisal, (one,)) for one in missing]
    _done("surprisal vectors", tasks, jobs, watcher)


def share_texts(work: Mapping[Cell, Setting], jobs: int, watcher: Watcher) -> None:
    """What networks read, once for each dataset and cut; what is there is found again.

    Token numbers where all layers learn, else also the hidden states below those that do.
    """
    wanted = {}
    for cell, setting in work.items():
        entry = model(cell.model)
        top = dict(cell.options).get("top_layers", entry.options.get("top_layers"))
        if entry.reads == "text" and top is not None and not finished(cell, setting):
            wanted[cell.dataset, top] = (material.folder_of(setting.out, cell.dataset), entry.make, top)
    tasks = [
        Task({"dataset": name, "encoder": f"below {top} layers" if top else "tokens"}, encoding.prepare, arguments)
        for (name, top), arguments in wanted.items()
    ]
    for folder in {folder for folder, _, _ in wanted.values()}:
        for store in ("tokens", "hidden"):
            remove_damaged(material.cache_of(folder) / store)
    if tasks:
        _done("tokens and hidden states", tasks, jobs, watcher)


def _encode(form: str, folder: Path, sizes: dict[str, int], jobs: int, watcher: Watcher) -> None:
    parts = encoding.parts_of(form, folder, sizes)
    tasks = [Task({"dataset": folder.name, "encoder": form}, encoding.encode_part, part) for part in parts]
    _done(f"{form} vectors of {folder.name}", tasks, jobs, watcher)
    encoding.join_parts(form, folder, sizes)


def _done(stage: str, tasks: list[Task], jobs: int, watcher: Watcher) -> None:
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
