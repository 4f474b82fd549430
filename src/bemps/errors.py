"""Failures. Every message says what was expected, what came, and what to do."""

import difflib
import re
from collections.abc import Iterable


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
            f"Install it with: pip install 'bemps[{extra}]'"
        )


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
