"""Failures on the command line: one red sentence and exit code 2, no traceback."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from bemps._io import OutputExists
from bemps.errors import BempsError, without_password


@contextmanager
def plainly() -> Iterator[None]:
    """Print what bemps refuses as a sentence; anything else is a defect and keeps its traceback."""
    try:
        yield
    except BempsError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/] {_escaped(_words(error))}", highlight=False)
        raise typer.Exit(2) from error


def _words(error: BempsError) -> str:
    if isinstance(error, OutputExists):
        return f"{error.without_force} Choose another name, or replace it with:\n  {command_line('--force')}"
    return str(error)


def command_line(*more: str) -> str:
    """The command as it was typed, without the password of a database, and with more options."""
    typed = [without_password(word) if "://" in word else word for word in sys.argv[1:]]
    return shlex.join([Path(sys.argv[0]).name, *typed, *more])


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
