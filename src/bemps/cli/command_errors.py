"""Failures on the command line: one red sentence and exit code 2, no traceback."""

import errno
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path

import typer
from rich.console import Console
from typer.models import OptionInfo

from bemps._utils.files import OutputExists
from bemps.errors import COMMAND_OPTIONS, BempsError, InputError, without_password

REFUSALS = {  # of the system, for a path that somebody typed
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EACCES: "Check who may use it and its folder.",
    errno.EPERM: "Check who may use it and its folder.",
    errno.EROFS: "Choose another folder.",
    errno.ENOSPC: "Free some space.",
}


@contextmanager
def print_errors(command: Callable[..., None] | None = None) -> Iterator[None]:
    """Print what bemps or the file system refuses as a sentence; any other error is a defect and shows its traceback.

    Parameters
    ----------
    command : callable, optional
        The command that reads a file of the user. Messages then speak of its options.
    """
    before = COMMAND_OPTIONS.set(frozenset(option_names(command)) if command else frozenset())
    try:
        yield
    except BempsError as error:
        _print(error)
        raise typer.Exit(2) from error
    except OSError as error:
        if error.errno not in REFUSALS or error.filename is None:
            raise
        refusal = InputError(
            str(error.filename), expected="a path that can be used", got=str(error.strerror), fix=REFUSALS[error.errno]
        )
        _print(refusal)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped. No file is half written.")
        raise typer.Exit(130) from None
    finally:
        COMMAND_OPTIONS.reset(before)


def option_names(command: Callable[..., None]) -> list[str]:
    """Return the options of a command as they are typed, without their dashes."""
    infos = {name: part.annotation.__metadata__[0] for name, part in signature(command).parameters.items()}
    return [_typed(name, info)[2:] for name, info in infos.items() if isinstance(info, OptionInfo)]


def _typed(name: str, info: OptionInfo) -> str:
    names = [str(part) for part in (info.default, *(info.param_decls or ()))]  # in Annotated the first is the default
    return next((part for part in names if part.startswith("--")), f"--{name}").partition("/")[0]


def _print(error: BempsError) -> None:
    Console(stderr=True, soft_wrap=True).print(f"[red]error:[/] {_escaped(_words(error))}", highlight=False)


def _words(error: BempsError) -> str:
    if isinstance(error, OutputExists):
        return f"{error.without_force} Choose another name, or replace it with:\n  {command_line('--force')}"
    return str(error)


def command_line(*more: str) -> str:
    """Return the command as it was typed, without the password of a database, and with more options."""
    typed = [without_password(word) if "://" in word else word for word in sys.argv[1:]]
    return shlex.join([Path(sys.argv[0]).name, *typed, *more])


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
