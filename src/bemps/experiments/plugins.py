"""Plugins: a Python file whose public functions of a `Context` are strategies, by their names."""

import hashlib
import importlib.util
import inspect
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from bemps.acquisition.strategy_registry import Strategy, StrategyEntry, find_strategy, strategies
from bemps.errors import InputError


@cache
def plugin_strategies(path: str) -> dict[str, Strategy]:
    """Load the strategies of a file, by name."""
    module = _module(Path(path))
    functions = {name: value for name, value in vars(module).items() if _is_strategy(name, value, module)}
    if not functions:
        raise InputError(
            f"plugin {path}",
            expected="a public function whose first parameter is a bemps.Context",
            got="none",
            fix="Write: def mine(context: bemps.Context) -> bemps.Selection: ...",
        )
    taken = sorted(functions.keys() & strategies().keys())
    if taken:
        raise InputError(
            f"plugin {path}", expected="names that are free", got=", ".join(taken), fix="Rename the functions."
        )
    return functions


def fingerprint(path: str) -> str:
    """A digest of the file. Another version of a plugin is another experiment."""
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()


def strategy_entry(name: str, plugin: str | None) -> StrategyEntry:
    """The row of a strategy, from the plugin or from the table."""
    return find_strategy(strategy(name, plugin))


def strategy(name: str, plugin: str | None) -> str | Strategy:
    """The strategy of a name, as a learner takes it: a function of the plugin, or the name."""
    return plugin_strategies(plugin).get(name, name) if plugin is not None else name


def _module(path: Path) -> ModuleType:
    name = f"bemps_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError("--plugin", expected="a Python file", got=str(path), fix="Check the path.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and the like look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"plugin {path}",
            expected="a file that can be imported",
            got="".join(traceback.format_exception_only(error)).strip(),
            fix=f"Try: python {path}",
        ) from error
    return module


def _is_strategy(name: str, value: object, module: ModuleType) -> bool:
    """A public function of this file whose first parameter is called `context` or annotated as a Context."""
    if name.startswith("_") or not inspect.isfunction(value) or value.__module__ != module.__name__:
        return False
    first = next(iter(inspect.signature(value).parameters.values()), None)
    if first is None:
        return False
    annotation = first.annotation if isinstance(first.annotation, str) else getattr(first.annotation, "__name__", "")
    return first.name == "context" or annotation.rsplit(".", 1)[-1] == "Context"
