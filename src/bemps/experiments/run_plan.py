"""The plan of a run: its datasets, cells and models, checked before anything is computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bemps._utils.watchers import Watcher
from bemps.data import Dataset
from bemps.data.sampling import OTHER_LABELS, TEXT_LABELS
from bemps.errors import InputError
from bemps.experiments import plugins
from bemps.experiments.cell import CellSetting, batch_schedule, fixed_size
from bemps.experiments.config import Config
from bemps.experiments.full_data import FullDataModel
from bemps.experiments.grid import Cell
from bemps.experiments.inputs import dataset_sources, pool_encoding
from bemps.experiments.run_folder import versions
from bemps.models.model_registry import grid_model, grid_models


@dataclass(frozen=True)
class RunPlan:
    """What a run computes.

    Attributes
    ----------
    config
        The grid.
    datasets
        The datasets by name.
    work
        The cells in order, each with what it needs.
    fulls
        The classifiers trained on whole pools.
    option_encoders
        The identity of each encoder outside the table that a model reads texts with by itself.
    """

    config: Config
    datasets: Mapping[str, Dataset]
    work: Mapping[Cell, CellSetting]
    fulls: list[FullDataModel]
    option_encoders: dict[str, str]

    @property
    def forms(self) -> dict[tuple[str, str], str | None]:
        """Each dataset with a form that a model learns from, and the encoder where it is not one of the table."""
        return {
            (cell.dataset, setting.form): pool_encoding.own_encoder(setting.form, dict(cell.options))
            for cell, setting in self.work.items()
        }

    @property
    def rounds(self) -> int:
        """How many rounds the cells have together."""
        return sum(len(batch_schedule(setting.budget, cell.batch_size)) + 1 for cell, setting in self.work.items())

    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each dataset."""
        return {name: dataset_sources.fingerprint(dataset) for name, dataset in self.datasets.items()}

    def described(self) -> dict[str, Any]:
        """config.json: everything on which the results depend."""
        config = self.config
        own = {name: form for (_, form), name in self.forms.items() if name is not None} | self.option_encoders
        return {
            "config": config.described(),
            "data": {name: _facts(config, dataset) for name, dataset in self.datasets.items()},
            "plugin": None if config.plugin is None else plugins.fingerprint(config.plugin),
            "versions": versions(torch=any(grid_model(name).reads != "plain" for name in config.models)),
        } | ({"encoders": own} if own else {})


def plan_run(config: Config, grid: list[Cell], folder: Path, data_dir: str | None, watcher: Watcher) -> RunPlan:
    """Read the datasets and plan a run; what cannot be computed is refused.

    Parameters
    ----------
    config : Config
        The settings.
    grid : list of Cell
        Its cells.
    folder : Path
        The folder of the run.
    data_dir : str or None
        Folder of the published datasets. None: the default.
    watcher : Watcher
        Receives the progress of reading.

    Returns
    -------
    RunPlan
        The plan.

    Raises
    ------
    InputError
        A dataset is too small or has one class, an encoder is not there, or a strategy needs what a model or a dataset
        does not have.
    """
    datasets = _datasets(config, data_dir, watcher)
    _refuse_unmet_needs(config, datasets)
    work = _work(config, grid, datasets, folder)
    own = pool_encoding.option_encoders({pair for cell in grid for pair in cell.options})
    return RunPlan(config, datasets, work, _fulls(config, datasets) if config.full else [], own)


def _datasets(config: Config, data_dir: str | None, watcher: Watcher) -> dict[str, Dataset]:
    watcher.stage("reading data", len(config.datasets))
    datasets = {}
    for number, source in enumerate(config.datasets):
        dataset = dataset_sources.load(source, data_dir=data_dir, max_pool=config.max_pool, max_test=config.max_test)
        _refuse_one_class(dataset)
        _refuse_small(config, dataset)
        watcher.note(str(dataset))
        datasets[source.name] = dataset
        watcher.progress(number + 1)
    return datasets


def _initial(config: Config, dataset: Dataset) -> int:
    return config.initial or (TEXT_LABELS if dataset.kind == "text" else OTHER_LABELS)


def _refuse_one_class(dataset: Dataset) -> None:
    if len(dataset.classes) < 2:
        got, fix = ", ".join(dataset.classes), "Is --label the right column?"
        raise InputError(f"dataset {dataset.name}", expected="labels of at least two classes", got=got, fix=fix)


def _refuse_small(config: Config, dataset: Dataset) -> None:
    validation = fixed_size(len(dataset.pool)) if "fixed" in config.axes.get("validation", ()) else 0
    needed = _initial(config, dataset) + config.budget + validation
    apart = " and a fixed validation set" if validation else ""
    if needed > len(dataset.pool):
        left_out = f" ({'; '.join(dataset.notes)})" if dataset.notes else ""
        raise InputError(
            f"dataset {dataset.name}",
            expected=f"a pool of at least {needed:,} items: the initial labels, the budget{apart}",
            got=f"{len(dataset.pool):,}{left_out}",
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


def _facts(config: Config, dataset: Dataset) -> dict[str, Any]:
    return {
        "pool": len(dataset.pool),
        "test": len(dataset.test),
        "classes": list(dataset.classes),
        "initial": _initial(config, dataset),
        "fingerprint": dataset_sources.fingerprint(dataset),
    }


def _work(config: Config, grid: list[Cell], datasets: Mapping[str, Dataset], out: Path) -> dict[Cell, CellSetting]:
    """The cells in order, each with what it needs."""
    form_of = cache(lambda model, kind, options: pool_encoding.form_of(grid_model(model), dict(options), kind))
    work = {}
    for cell in grid:
        dataset = datasets[cell.dataset]
        form = form_of(cell.model, dataset.kind, tuple(pair for pair in cell.options if pair[0] == "encoder"))
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
