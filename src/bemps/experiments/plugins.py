"""Strategies of the user's own: a Python file whose public functions of a `Context` join the table by their names."""

import hashlib
import importlib.util
import inspect
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from bemps.errors import InputError
from bemps.strategies import Entry, Strategy, find, strategies


@cache
def load(path: str) -> dict[str, Strategy]:
    """The strategies of a file by name."""
    module = _module(Path(path))
    found = {name: value for name, value in vars(module).items() if _is_strategy(name, value, module)}
    if not found:
        raise InputError(
            f"plugin {path}",
            expected="a public function whose first parameter is a bemps.Context",
            got="none",
            fix="Write: def mine(context: bemps.Context) -> bemps.Selection: ...",
        )
    taken = sorted(found.keys() & strategies().keys())
    if taken:
        raise InputError(
            f"plugin {path}", expected="names that are free", got=", ".join(taken), fix="Rename the functions."
        )
    return found


def fingerprint(path: str) -> str:
    """Of the file's bytes: results of another version of a plugin are another experiment."""
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()


def entry(name: str, plugin: str | None) -> Entry:
    """The row of a strategy, the plugin's own or one of the table."""
    return find(strategy(name, plugin))


def strategy(name: str, plugin: str | None) -> str | Strategy:
    """What a learner takes for a name: the plugin's function, or the name."""
    return load(plugin).get(name, name) if plugin is not None else name


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
