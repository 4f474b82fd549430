"""What a project's model does while one waits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from bemps.project import Project


@contextmanager
def shown(console: Console, project: "Project") -> Iterator[None]:
    """Say how far the vectors of a project are, where they have to be made."""
    with console.status("reading") as status:
        project.progress = lambda task, done, total: status.update(f"{task}: {done:,} of {total:,}")
        yield
