"""What to run: one vocabulary for flags and TOML, checked before anything is computed."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bemps.errors import InputError, unknown_name
from bemps.experiments.sources import Source, source_of

MOST = 2**31 - 1  # of a whole number: what every table, library and file can hold
MOST_SEEDS = 10_000
Value = str | int | float | bool
COLUMNS = ("text", "image", "label", "id", "test", "holdout")
KNOWN = (
    *("dataset", "model", "strategies", "batch_size", "seeds", "budget", "initial", "max_pool", "max_test"),
    "axes",
    *("full", "plugin"),
    *COLUMNS,
)


@dataclass(frozen=True)
class Config:
    """A grid: every dataset x model x strategy x batch size x seed x value of every axis.

    budget    labels acquired beyond the initial ones
    initial   labels before the first round; None: 26 for texts, 20 otherwise
    max_pool  at most that many items of each pool
    max_test  at most that many items of each test set
    axes      further axes by name: options of models and strategies, and estimation_size
    full      also train on the labels of the whole pool, once per dataset and model: the line to reach; and once per
              dataset epoch by epoch, for calibration
    plugin    a Python file with strategies
    """

    datasets: tuple[Source, ...]
    models: tuple[str, ...] = ("logistic",)
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
        """The resolved configuration as plain JSON; places on this machine are left out."""
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
    """A configuration from settings by name, each a value or a list of values."""
    for name in settings:
        if name not in KNOWN:
            raise unknown_name("setting", name, KNOWN, "bemps run --help shows an example.")
    given = {name: value for name, value in settings.items() if value is not None}
    columns = {name: given[name] for name in COLUMNS if name in given}
    if "dataset" not in given:
        raise InputError("dataset", expected="a name or a file", got="none", fix="For example: --dataset digits")
    chosen = [source_of(one, columns) for one in _listed(given["dataset"])]
    _refuse_idle(columns, chosen)
    lists = {
        "models": _texts(given, "model"),
        "strategies": _texts(given, "strategies"),
        "batch_sizes": _numbers(given, "batch_size", 1),
        "seeds": _seeds(given.get("seeds")),
    }
    return Config(
        _different(chosen),
        **{name: values for name, values in lists.items() if values is not None},  # type: ignore[arg-type]
        budget=_whole(given.get("budget", 100), "budget", 1),
        initial=None if "initial" not in given else _whole(given["initial"], "initial", 2),
        max_pool=None if "max_pool" not in given else _whole(given["max_pool"], "max_pool", 10),
        max_test=None if "max_test" not in given else _whole(given["max_test"], "max_test", 10),
        axes={name: _axis(name, values) for name, values in sorted(_typed(given, "axes", dict, {}).items())},
        full=_typed(given, "full", bool, True),
        plugin=_typed(given, "plugin", str, None),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a TOML file."""
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            str(path), expected="a TOML file", got=str(error)[:200], fix="bemps run --help shows one."
        ) from error
    return settings


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """`name: was ..., is ...` for every leaf in which two configurations differ."""
    old, new = _leaves(before), _leaves(now)
    names = sorted(old.keys() | new.keys())
    return [
        f"{name}: was {old.get(name, 'absent')!r}, is {new.get(name, 'absent')!r}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= _leaves(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return found


def _typed(given: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """A setting of one kind, or its default."""
    value = given.get(name, default)
    if value is default or isinstance(value, kind):
        return value
    words = {dict: "a table, such as axes.members = [5, 10]", bool: "true or false", str: "a text"}
    raise InputError(name, expected=words[kind], got=repr(value)[:60], fix="Correct it.")


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _different(sources: Sequence[Source]) -> tuple[Source, ...]:
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise InputError("dataset", expected="different names", got=", ".join(names), fix="Rename one of the files.")
    return tuple(sources)


def _refuse_idle(columns: Mapping[str, Any], sources: Sequence[Source]) -> None:
    """Columns mean nothing to the known datasets: somebody expects them to be read from a file."""
    if columns and all(source.known for source in sources):
        raise InputError(
            ", ".join(columns),
            expected="a file of your own, of which these are settings",
            got=f"only known datasets: {', '.join(source.name for source in sources)}",
            fix="Remove them, or name the file (./digits where its name is also that of a known dataset).",
        )


def _texts(given: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    if name not in given:
        return None
    values = _listed(given[name])
    if not values or not all(isinstance(value, str) and value for value in values):
        raise InputError(name, expected="one or more names", got=repr(given[name]), fix="For example: coremse,random")
    return tuple(dict.fromkeys(values))


def _numbers(given: Mapping[str, Any], name: str, low: int) -> tuple[int, ...] | None:
    if name not in given:
        return None
    values = tuple(dict.fromkeys(_whole(value, name, low) for value in _listed(given[name])))
    if not values:
        raise InputError(name, expected="one or more numbers", got="none", fix="For example: 10")
    return values


def _seeds(given: object) -> tuple[int, ...] | None:
    """A number of seeds (0, 1, ...), or a list of the seeds themselves."""
    if given is None:
        return None
    if isinstance(given, list | tuple):
        return _numbers({"seeds": list(given)}, "seeds", 0)
    return tuple(range(_whole(given, "seeds", 1, MOST_SEEDS)))


def _whole(value: object, name: str, low: int, high: int = MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        above = f"{low} or more" if high == MOST else f"{low} to {high:,}"
        raise InputError(name, expected=f"a whole number, {above}", got=repr(value)[:60], fix="Correct it.")
    return value


def _axis(name: str, given: object) -> tuple[Value, ...]:
    """The values of an axis, all of one kind: they become a column. Whole numbers among fractions are fractions."""
    values = _listed(given)
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        values, kinds = [float(value) for value in values], {float}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool} or not all(map(_storable, values)):
        raise InputError(
            f"axis {name}",
            expected="one or more values of one kind: texts, numbers, or true and false",
            got=repr(given)[:60],
            fix=f"For example: {name} = [1, 2]",
        )
    return tuple(dict.fromkeys(values))


def _storable(value: object) -> bool:
    """Whether a value equals itself when it comes back from the tables and from config.json."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= MOST
