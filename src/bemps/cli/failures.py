"""Failures on the command line: one red sentence and exit code 2, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from bemps.errors import BempsError, InputError


@contextmanager
def plainly() -> Iterator[None]:
    """Print what bemps refuses as a sentence; anything else is a defect and keeps its traceback."""
    try:
        yield
    except BempsError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/] {_escaped(str(error))}", highlight=False)
        raise typer.Exit(2) from error


def writable(out: Path) -> None:
    """Refuse a file in a folder that is not there, before any work is done."""
    if not out.parent.is_dir():
        raise InputError(
            "--out", expected="a file in an existing folder", got=str(out), fix=f"Create {out.parent} first."
        )


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
