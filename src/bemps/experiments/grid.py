"""The cells of a grid. The key of a cell decides its file and all of its random numbers."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bemps import checks
from bemps._utils.files import slug
from bemps.acquisition.option_trial import try_options
from bemps.errors import InputError, unknown_name
from bemps.experiments import plugins
from bemps.experiments.config import Config, Value
from bemps.experiments.journal import canonical
from bemps.models.model_registry import grid_model
from bemps.models.option_values import check_options as check_model_options

KEY = ("dataset", "model", "strategy", "batch_size", "seed")
ENCODER = "encoder"  # checked with the kind of the items (`pool_encoding`)
ESTIMATION = "estimation_size"  # the learner's, which fixes the estimation pool of a run; else the strategy's own


@dataclass(frozen=True)
class Cell:
    """One run of one strategy.

    Attributes
    ----------
    dataset : str
        The dataset.
    model : str
        The model.
    strategy : str
        The strategy.
    batch_size : int
        Labels acquired in a round.
    seed : int
        The seed.
    options : tuple of pairs
        The values of the further axes that apply to it.
    """

    dataset: str
    model: str
    strategy: str
    batch_size: int
    seed: int
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def key(self) -> dict[str, Any]:
        """The key: all fields by name."""
        return {name: getattr(self, name) for name in KEY} | dict(self.options)

    @property
    def learner_seed(self) -> int:
        """The seed of everything random in the cell but the initial labels.

        Dataset, model and seed alone decide it: strategies are compared under common random numbers, and all start from
        the same model.
        """
        return int.from_bytes(_digest({"dataset": self.dataset, "model": self.model, "seed": self.seed})) >> 1

    @property
    def slug(self) -> str:
        """A readable file name without an ending. The digest makes it unique."""
        words = f"{self.dataset}-{self.model}-{self.strategy}-b{self.batch_size}-s{self.seed}"
        return f"{slug(words)}-{_digest(self.key).hex()}"

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.key.items())


def _digest(key: dict[str, Any]) -> bytes:
    return hashlib.blake2b(canonical(key).encode(), digest_size=8).digest()


def cells(config: Config) -> list[Cell]:
    """List every cell once, in the order of the key. An axis does not multiply cells to which it does not apply."""
    _refuse_unknown(config)
    unique = dict.fromkeys(_product(config))
    _refuse_values(config, unique)
    return sorted(unique, key=lambda cell: sort_key(cell.key, tuple(config.axes)))


def sort_key(key: dict[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    """The order of keys: by dataset, model, strategy, batch size, the axes (none first), seed."""
    further = tuple((name in key, key.get(name, 0)) for name in axes)
    return (key["dataset"], key["model"], key["strategy"], key["batch_size"], *further, key["seed"])


def applies(axis: str, model_name: str, strategy: str, plugin: str | None) -> bool:
    """Whether a value on an axis changes anything for a model and a strategy.

    Parameters
    ----------
    axis : str
        The axis.
    model_name : str
        The model.
    strategy : str
        The strategy.
    plugin : str or None
        A Python file with strategies.

    Returns
    -------
    bool
        Whether the axis applies.
    """
    entry = plugins.strategy_entry(strategy, plugin)
    of_learner = axis == ESTIMATION and "estimation" in entry.needs
    return of_learner or axis in grid_model(model_name).options or entry.option_name(axis) in entry.options


def _product(config: Config) -> Iterator[Cell]:
    names = [source.name for source in config.datasets]
    main = itertools.product(names, config.models, config.strategies, config.batch_sizes, config.seeds)
    for dataset, model_name, strategy, size, seed in main:
        for values in itertools.product(*config.axes.values()):
            options = tuple(
                (axis, value)
                for axis, value in zip(config.axes, values, strict=True)
                if applies(axis, model_name, strategy, config.plugin)
            )
            yield Cell(dataset, model_name, strategy, size, seed, options)


def _refuse_unknown(config: Config) -> None:
    entries = [plugins.strategy_entry(name, config.plugin) for name in config.strategies]
    options = [grid_model(name).options for name in config.models]
    valid = {ESTIMATION}.union(*options, *(entry.options for entry in entries))
    pairs = list(itertools.product(config.models, config.strategies))
    for axis in config.axes:
        if axis in (*KEY, "round", "labels", "id"):
            raise InputError("axis", expected="a name that is free", got=axis, fix="It is a column already.")
        if axis not in valid and not any(entry.option_name(axis) in valid for entry in entries):
            raise unknown_name("axis", axis, valid, "Axes are options of the chosen models and strategies.")
        if not any(applies(axis, *pair, config.plugin) for pair in pairs):
            raise InputError(
                f"axis {axis}",
                expected="a model or strategy to which it applies",
                got=", ".join([*config.models, *config.strategies]),
                fix="Remove it.",
            )


def _refuse_values(config: Config, unique: Iterable[Cell]) -> None:
    """Each set of options that a model or a strategy of the grid gets is checked once."""
    for name, options in dict.fromkeys((cell.model, cell.options) for cell in unique):
        known = grid_model(name).options
        own = {axis: value for axis, value in options if axis in known and axis != ENCODER}
        check_model_options(name, own, known)
    for name, options in dict.fromkeys((cell.strategy, cell.options) for cell in unique):
        entry = plugins.strategy_entry(name, config.plugin)
        size = dict(options).get(ESTIMATION)
        if size is not None:
            checks.integer(size, f"option {ESTIMATION} of {name}", 1)
        own = {axis: value for axis, value in options if entry.option_name(axis) in entry.options}
        strategy = plugins.strategy(name, config.plugin)
        if own and isinstance(strategy, str):  # those of a plugin are its own affair
            try_options(strategy, own)
