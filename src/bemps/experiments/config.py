"""The configuration of a run: the same settings in flags and TOML, checked before anything is computed."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bemps.errors import InputError, unknown_name
from bemps.experiments.inputs.dataset_sources import DatasetSource, source_of
from bemps.models.model_registry import default_grid_model

LARGEST_INTEGER = 2**31 - 1  # of a whole number: what every table, library and file can hold
MOST_SEEDS = 10_000
Value = str | int | float | bool
COLUMNS = ("text", "image", "label", "id", "test", "holdout", "delimiter", "encoding")
# in config.json: the lists of a grid, and what its datasets and models bring with them
LISTS = tuple(f"config.{name}" for name in ("datasets", "models", "strategies", "batch_sizes", "seeds", "axes."))
ADDED = ("data.", "versions.", "encoders.")
KNOWN = (
    *("dataset", "model", "strategies", "batch_size", "seeds", "budget", "initial", "max_pool", "max_test"),
    "axes",
    *("full", "plugin"),
    *COLUMNS,
)


@dataclass(frozen=True)
class Config:
    """A grid: every dataset x model x strategy x batch size x seed x value of every axis.

    Attributes
    ----------
    datasets : tuple of DatasetSource
        The datasets.
    models : tuple of str
        Names of models.
    strategies : tuple of str
        Names of strategies.
    batch_sizes : tuple of int
        Labels acquired in a round.
    seeds : tuple of int
        The seeds.
    budget : int
        Labels acquired beyond the initial ones.
    initial : int, optional
        Labels before the first round. None: 26 for texts, 20 otherwise.
    max_pool : int, optional
        The largest number of items of each pool.
    max_test : int, optional
        The largest number of items of each test set.
    axes : mapping of str to tuple
        Further axes by name: options of models and strategies, and estimation_size.
    full : bool
        Whether to train also on the labels of the full pool: once per dataset and model, as the line to reach, and once
        per dataset epoch by epoch, for calibration.
    plugin : str, optional
        A Python file with strategies.
    """

    datasets: tuple[DatasetSource, ...]
    models: tuple[str, ...] = field(default_factory=lambda: (default_grid_model(),))
    strategies: tuple[str, ...] = ("coremse", "margin", "random")
    batch_sizes: tuple[int, ...] = (10,)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    budget: int = 100
    initial: int | None = None
    max_pool: int | None = None
    max_test: int | None = None
    axes: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    full: bool = True
    plugin: str | None = None

    def described(self) -> dict[str, Any]:
        """Return the resolved configuration as JSON values, without paths of this machine.

        Returns
        -------
        dict
            The settings by name, as config.json stores them.
        """
        return {
            "datasets": [source.described() for source in self.datasets],
            "models": list(self.models),
            "strategies": list(self.strategies),
            "batch_sizes": list(self.batch_sizes),
            "seeds": list(self.seeds),
            "budget": self.budget,
            "initial": self.initial,
            "max_pool": self.max_pool,
            "max_test": self.max_test,
            "axes": {name: list(values) for name, values in sorted(self.axes.items())},
            "full": self.full,
        }


def config_of(settings: Mapping[str, Any]) -> Config:
    """Check settings and make a configuration of them.

    Parameters
    ----------
    settings : mapping from str to values
        Settings by name, as in a TOML file; each is a value or a list of values.

    Returns
    -------
    Config
        The configuration, with defaults for settings that are absent or None.

    Raises
    ------
    InputError
        A setting is unknown or has a wrong value, or there is no dataset.
    """
    for name in settings:
        if name not in KNOWN:
            raise unknown_name("setting", name, KNOWN, "bemps run --help shows an example.")
    present = {name: value for name, value in settings.items() if value is not None}
    columns = {name: present[name] for name in COLUMNS if name in present}
    if "dataset" not in present:
        raise InputError("dataset", expected="a name or a file", got="none", fix="For example: --dataset digits")
    sources = [source_of(dataset, columns) for dataset in _listed(present["dataset"])]
    _refuse_idle(columns, sources)
    lists = {
        "models": _texts(present, "model"),
        "strategies": _texts(present, "strategies"),
        "batch_sizes": _numbers(present, "batch_size", 1),
        "seeds": _seeds(present.get("seeds")),
    }
    return Config(
        _different(sources),
        **{name: values for name, values in lists.items() if values is not None},  # type: ignore[arg-type]
        budget=_checked_integer(present.get("budget", 100), "budget", 1),
        initial=None if "initial" not in present else _checked_integer(present["initial"], "initial", 2),
        max_pool=None if "max_pool" not in present else _checked_integer(present["max_pool"], "max_pool", 10),
        max_test=None if "max_test" not in present else _checked_integer(present["max_test"], "max_test", 10),
        axes={name: _axis(name, values) for name, values in sorted(_typed(present, "axes", dict, {}).items())},
        full=_typed(present, "full", bool, True),
        plugin=_typed(present, "plugin", str, None),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Read the settings of a TOML file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict
        Settings by name, for `config_of`.

    Raises
    ------
    InputError
        The file cannot be read or is not TOML.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            str(path), expected="a TOML file", got=str(error)[:200], fix="bemps run --help shows one."
        ) from error
    return settings


def config_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the values in which two configurations differ, as `name: was ..., is ...`."""
    old, new = _leaves(before), _leaves(now)
    names = sorted(old.keys() | new.keys())
    return [
        f"{name}: was {old.get(name, 'absent')!r}, is {new.get(name, 'absent')!r}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def is_extension(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a grid only adds to another one: datasets, models, strategies, batch sizes, seeds or values of an axis.

    Cells do not depend on each other, so those of the smaller grid are cells of the larger one.
    """
    old, new = _leaves(before), _leaves(now)
    if any(name not in old and not name.startswith(ADDED) for name in new):
        return False
    return all(
        name in new and (new[name] == value or (name.startswith(LISTS) and all(item in new[name] for item in value)))
        for name, value in old.items()
    )


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for name, value in tree.items():
        leaves |= _leaves(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return leaves


def _typed(settings: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """A setting of one kind, or its default."""
    value = settings.get(name, default)
    if value is default or isinstance(value, kind):
        return value
    words = {dict: "a table, such as axes.members = [5, 10]", bool: "true or false", str: "a text"}
    raise InputError(name, expected=words[kind], got=repr(value)[:60], fix="Correct it.")


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _different(sources: Sequence[DatasetSource]) -> tuple[DatasetSource, ...]:
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise InputError("dataset", expected="different names", got=", ".join(names), fix="Rename one of the files.")
    return tuple(sources)


def _refuse_idle(columns: Mapping[str, Any], sources: Sequence[DatasetSource]) -> None:
    """Columns mean nothing to the known datasets: somebody expects them to be read from a file."""
    if columns and all(source.is_published for source in sources):
        raise InputError(
            ", ".join(columns),
            expected="a file of your own, of which these are settings",
            got=f"only known datasets: {', '.join(source.name for source in sources)}",
            fix="Remove them, or name the file (./digits where its name is also that of a known dataset).",
        )


def _texts(settings: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    if name not in settings:
        return None
    values = _listed(settings[name])
    if not values or not all(isinstance(value, str) and value for value in values):
        raise InputError(
            name, expected="one or more names", got=repr(settings[name]), fix="For example: coremse,random"
        )
    return tuple(dict.fromkeys(values))


def _numbers(settings: Mapping[str, Any], name: str, low: int) -> tuple[int, ...] | None:
    if name not in settings:
        return None
    values = tuple(dict.fromkeys(_checked_integer(value, name, low) for value in _listed(settings[name])))
    if not values:
        raise InputError(name, expected="one or more numbers", got="none", fix="For example: 10")
    return values


def _seeds(seeds: object) -> tuple[int, ...] | None:
    """A number of seeds (0, 1, ...), or a list of the seeds themselves."""
    if seeds is None:
        return None
    if isinstance(seeds, list | tuple):
        return _numbers({"seeds": list(seeds)}, "seeds", 0)
    return tuple(range(_checked_integer(seeds, "seeds", 1, MOST_SEEDS)))


def _checked_integer(value: object, name: str, low: int, high: int = LARGEST_INTEGER) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        above = f"{low} or more" if high == LARGEST_INTEGER else f"{low} to {high:,}"
        raise InputError(name, expected=f"a whole number, {above}", got=repr(value)[:60], fix="Correct it.")
    return value


def _axis(name: str, setting: object) -> tuple[Value, ...]:
    """The values of an axis, all of one kind: they become a column. Whole numbers among fractions are fractions."""
    values = _listed(setting)
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        values, kinds = [float(value) for value in values], {float}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool} or not all(map(_storable, values)):
        raise InputError(
            f"axis {name}",
            expected="one or more values of one kind: texts, numbers, or true and false",
            got=repr(setting)[:60],
            fix=f"For example: {name} = [1, 2]",
        )
    return tuple(dict.fromkeys(values))


def _storable(value: object) -> bool:
    """Whether a value equals itself when it comes back from the tables and from config.json."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= LARGEST_INTEGER
