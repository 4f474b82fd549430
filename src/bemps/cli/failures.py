"""Failures on the command line: one red sentence and exit code 2, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from bemps.errors import BempsError


@contextmanager
def plainly() -> Iterator[None]:
    """Print what bemps refuses as a sentence; anything else is a defect and keeps its traceback."""
    try:
        yield
    except BempsError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/] {_escaped(str(error))}", highlight=False)
        raise typer.Exit(2) from error


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
