"""Failures. Every message says what was expected, what came, and what to do."""

import difflib
import json
import re
import shlex
from collections.abc import Iterable
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

# the options of the command that runs; None in Python, where parameters are named as in a call
COMMAND_OPTIONS: ContextVar[frozenset[str] | None] = ContextVar("command options", default=None)


class BempsError(Exception):
    """Any failure that bemps reports on purpose."""


class InputError(BempsError, ValueError):
    """Input that bemps refuses; nothing was computed from it."""

    def __init__(self, what: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(f"{what}: expected {expected}; got {got}. {fix}")
        self.what, self.expected, self.got, self.fix = what, expected, got, fix


class MissingExtra(BempsError, ImportError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str, cause: ImportError) -> None:
        super().__init__(
            f"{feature}: expected the '{extra}' extra to be installed; got: {cause}. "
            f"Install it with: {pip_install(extra)}"
        )


def parameter(name: str, value: str = "") -> str:
    """A parameter in the words of the interface in use.

    Parameters
    ----------
    name
        Its name in Python.
    value
        An example of a value.

    Returns
    -------
    str
        `text='body'` in Python, `--text body` on the command line, nothing where the command has no such option.
    """
    options = COMMAND_OPTIONS.get()
    if options is None:
        return f"{name}={value!r}" if value else f"{name}="
    if name not in options:
        return ""
    return f"--{name} {value if value == '...' else shlex.quote(value)}" if value else f"--{name}"


def hint(words: str, name: str, value: str = "") -> str:
    """A sentence about a parameter, which stands for {}; nothing where the interface in use does not have it."""
    shown = parameter(name, value)
    return words.format(shown) if shown else ""


def pip_install(extra: str) -> str:
    """The command that installs an extra: from the package index, or from the folder that bemps was installed from."""
    try:
        origin = distribution("bemps").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    address = urlsplit(json.loads(origin)["url"]) if origin else None
    if address is None or address.scheme != "file" or not Path(url2pathname(address.path)).exists():
        return f"pip install 'bemps[{extra}]'"
    return f"pip install '{url2pathname(address.path)}[{extra}]'"


def unknown_name(what: str, name: object, valid: Iterable[str], where: str = "") -> InputError:
    """The error for a name that is not in a table, with the nearest name that is."""
    names = sorted(valid)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}?" if near else ""
    return InputError(
        what, expected=f"one of {', '.join(names) or 'none'}", got=repr(name), fix=f"{hint} {where}".strip()
    )


def without_password(address: str) -> str:
    """The address of a database for messages: without anything that stands where a password can stand."""
    scheme, _, rest = address.partition("://")
    login, at, place = re.sub(r"(?i)(pass[a-z]*=)[^&]*", r"\1***", rest).rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{place}"
