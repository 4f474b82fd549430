"""The folder of projects: what is in it, how far each is, and names for new ones."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bemps._utils.files import title_as_name
from bemps.errors import BempsError
from bemps.server.projects.deleted_projects import DELETED
from bemps.server.projects.uploads import UNFINISHED
from bemps.store import open_store
from bemps.store.events import LABEL

SUFFIX = ".bemps"


@dataclass(frozen=True)
class ListedProject:
    """A project as the page lists it.

    Attributes
    ----------
    key : str
        The key of the project in the address of its page.
    name : str
        The path of the file below the folder.
    title : str
        The title of the project.
    items, labels : int
        The numbers of items and labels.
    changed : float
        The time of the last change.
    problem : str
        Why the project cannot be opened; empty if it can.
    """

    key: str
    name: str
    title: str
    items: int
    labels: int
    changed: float
    problem: str = ""


class ProjectFolder:
    """The projects in a folder, and in the folders in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._listed: dict[tuple[object, ...], ListedProject] = {}

    def paths(self) -> dict[str, Path]:
        """Return every project file by its key, which stands in addresses; no address is ever used as a path."""
        return {self.key_of(path): path for path in self._files()}

    def _files(self) -> Iterator[Path]:
        inner = (
            path for path in self.folder.iterdir() if path.is_dir() and path.name[:1] != "." and path.name != DELETED
        )
        for folder in (self.folder, *inner):
            if not (folder / UNFINISHED).exists():
                yield from (path for path in folder.glob(f"*{SUFFIX}") if path.stem[:1] != "." and path.is_file())

    def key_of(self, path: Path) -> str:
        """Return a key that stays the same as long as the project's file stays where it is."""
        return hashlib.sha256(path.relative_to(self.folder).as_posix().encode()).hexdigest()[:12]

    def projects(self) -> list[ListedProject]:
        """Return all projects, with the one that was changed last first."""
        return sorted((self._describe(path) for path in self._files()), key=lambda each: -each.changed)

    def _describe(self, path: Path) -> ListedProject:
        """How far a project is; counted again only when its file has changed."""
        signature = (path, *_state_of(path), *_state_of(path.with_name(path.name + "-wal")))
        if signature not in self._listed:
            self._listed = {known: each for known, each in self._listed.items() if known[0] != path}
            self._listed[signature] = self._counted(path, max(signature[1], signature[3]))
        return self._listed[signature]

    def _counted(self, path: Path, changed: float) -> ListedProject:
        key, name = self.key_of(path), path.relative_to(self.folder).as_posix()
        try:
            with open_store(path) as store:
                title = store.read_settings().title or path.stem
                labels = sum(answer.kind == LABEL for answer in store.current().values())
                return ListedProject(key, name, title, store.count(), labels, changed)
        except BempsError as error:
            return ListedProject(key, name, path.stem, 0, 0, changed, str(error))

    def free_folder(self, title: str) -> Path:
        """Return a folder for a new project, with a name that is free and that every system can store."""
        tidy = title_as_name(title)
        taken = {DELETED, *(entry.casefold() for entry in os.listdir(self.folder))}
        names = (tidy if number == 1 else f"{tidy}-{number}" for number in range(1, len(taken) + 2))
        return self.folder / next(name for name in names if name.casefold() not in taken)


def _state_of(path: Path) -> tuple[float, int]:
    try:
        state = path.stat()
    except FileNotFoundError:
        return 0.0, 0
    return state.st_mtime, state.st_size
