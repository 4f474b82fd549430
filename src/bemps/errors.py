"""Errors. Every message says what was expected, what came, and what to do."""

import difflib
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

# the options of the command that runs; None in Python, where parameters are named as in a call
COMMAND_OPTIONS: ContextVar[frozenset[str] | None] = ContextVar("command options", default=None)
NO_OPTIONS: frozenset[str] = frozenset()  # of the page, also where a command serves it

MOST_NAMES = 60  # that a message lists
LONGEST_SHOWN = 60  # characters of a name or id in a message
ALIKE = 0.6  # how like a name must be to be suggested: below, "foo" is taken for "doccano"


class BempsError(Exception):
    """The base class of all errors that bemps raises on purpose."""


class InputError(BempsError, ValueError):
    """Input that bemps refuses. Nothing was computed from it.

    Parameters
    ----------
    what : str
        The argument, file or option that is refused.
    expected : str
        What it should be.
    got : str
        What came instead.
    fix : str
        What to do, as a sentence.
    """

    def __init__(self, what: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(f"{what}: expected {expected}; got {got}. {fix}")
        self.what, self.expected, self.got, self.fix = what, expected, got, fix


class MissingExtra(BempsError, ImportError):
    """A feature was used whose optional packages are not installed.

    Parameters
    ----------
    feature : str
        The feature that needs the packages.
    extra : str
        The extra of bemps that installs them.
    cause : ImportError
        The error of the import.
    """

    def __init__(self, feature: str, extra: str, cause: ImportError) -> None:
        super().__init__(
            f"{feature}: expected the '{extra}' extra to be installed; got: {cause}. "
            f"Install it with: {pip_install(extra)}"
        )


def parameter(name: str, value: str = "") -> str:
    """A parameter in the words of the interface in use.

    Parameters
    ----------
    name : str
        Its name in Python.
    value : str
        An example of a value.

    Returns
    -------
    str
        `text='body'` in Python, `--text body` on the command line, nothing if the command has no such option.
    """
    options, option = COMMAND_OPTIONS.get(), name.replace("_", "-")
    if options is None:
        return f"{name}={value!r}" if value else f"{name}="
    if option not in options:
        return ""
    return f"--{option} {value if value == '...' else shlex.quote(value)}" if value else f"--{option}"


def file_or_array(name: str) -> str:
    """An array that is missing, in the words of the interface in use: `features=...`, or `--features FILE`."""
    return f"{name}=..." if COMMAND_OPTIONS.get() is None else f"--{name.replace('_', '-')} FILE"


def hint(words: str, name: str, value: str = "") -> str:
    """A sentence about a parameter, in the words of the interface in use.

    Parameters
    ----------
    words : str
        The sentence, with {} for the parameter.
    name : str
        The name of the parameter in Python.
    value : str
        An example of a value.

    Returns
    -------
    str
        The sentence; nothing if the interface does not have the parameter.
    """
    shown = parameter(name, value)
    return words.format(shown) if shown else ""


def pip_install(extra: str) -> str:
    """The command that installs an extra: from the folder of bemps, or by its name where it was installed by that.

    An installed bemps needs no package index for the name: pip finds it here, and fetches what the extra needs.
    """
    try:
        origin = distribution("bemps").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = json.dumps({"url": Path(__file__).parents[2].as_uri()})
    address = urlsplit(json.loads(origin)["url"]) if origin else None
    if address is None or address.scheme != "file" or not Path(url2pathname(address.path)).exists():
        return f"pip install 'bemps[{extra}]'"
    return f"pip install '{url2pathname(address.path)}[{extra}]'"


def without_folder(words: str) -> str:
    """Words with commands of `pip_install` for a reader on another machine: by the name of bemps."""
    return re.sub(r"pip install '[^']*(\[\w+\]')", r"pip install 'bemps\1", words)


def unknown_name(what: str, name: object, valid: Iterable[str], where: str = "") -> InputError:
    """The error for a name that is not in a table, with the nearest name that is.

    Parameters
    ----------
    what : str
        What the name is of, for example "strategy".
    name : object
        The name.
    valid : iterable of str
        The names of the table.
    where : str
        A sentence that says where to find the names.

    Returns
    -------
    InputError
        The error.
    """
    names = sorted(valid)
    lower = {valid_name.lower(): valid_name for valid_name in names}
    near = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=ALIKE)
    hint = f"Did you mean {shortened(lower[near[0]])!r}?" if near else ""
    got = repr(shortened(name) if isinstance(name, str) else name)
    return InputError(
        what, expected=f"one of {_listed(names)}", got=got, fix=f"{hint} {where}".strip() or "Choose one of them."
    )


def shortened(name: str) -> str:
    """A name for messages: the beginning of a long one, which would fill the message."""
    return name if len(name) <= LONGEST_SHOWN else f"{name[: LONGEST_SHOWN - 1]}…"


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMES:
        return f"{len(names):,} names ({', '.join(map(shortened, names[:3]))}, ...)"
    return ", ".join(map(shortened, names)) or "none"


def unknown_id(name: object, ids: Sequence[str]) -> InputError:
    """The error for an id that no item has, with the nearest id."""
    near = difflib.get_close_matches(str(name), ids[:1_000], n=1, cutoff=ALIKE)
    hint = f"Did you mean {shortened(near[0])!r}? " if near else ""
    shown = f"the {len(ids):,} ids ({', '.join(map(shortened, ids[:3]))}, ...)" if len(ids) > 3 else _listed(ids)
    got = repr(shortened(name) if isinstance(name, str) else name)
    return InputError("item", expected=f"one of {shown}", got=got, fix=f"{hint}Items are told by id.")


def without_password(address: str) -> str:
    """The address of a database for messages, without anything that may be a password."""
    scheme, _, rest = address.partition("://")
    login, at, host = re.sub(r"(?i)(pass[a-z]*=)[^&]*", r"\1***", rest).rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{host}"
