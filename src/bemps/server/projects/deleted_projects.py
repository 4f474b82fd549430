"""Deleted projects: moved into the folder `deleted` beside the others, and back."""

import os
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bemps._utils.files import remove
from bemps.errors import InputError
from bemps.project.project_models import cache_folder
from bemps.server.projects.uploads import FILES
from bemps.store import open_store
from bemps.store.sql.database_errors import NotSaved
from bemps.store.sql.server_lock import server_lock

DELETED = "deleted"
JOURNALS = ("-wal", "-shm")
LOCK = ".lock"
ID = re.compile(r"\d{8}-\d{6}-[^/\\]{1,200}")


@dataclass(frozen=True)
class DeletedProject:
    """A project in the folder of deleted ones.

    Attributes
    ----------
    id : str
        The name of its folder there.
    name : str
        The path of its file before, below the folder of projects.
    time : datetime
        When it was deleted.
    """

    id: str
    name: str
    time: datetime

    @property
    def when(self) -> str:
        """The day and the hour in words."""
        return f"{self.time:%d %B %Y, %H:%M}"


class DeletedProjects:
    """The deleted projects of a folder of projects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def listed(self) -> list[DeletedProject]:
        """Return the deleted projects, the last first."""
        folder = self.folder / DELETED
        entries = [entry for entry in folder.iterdir() if ID.fullmatch(entry.name)] if folder.is_dir() else []
        return sorted((each for entry in entries for each in _described(entry)), key=lambda each: each.id, reverse=True)

    def delete(self, path: Path) -> DeletedProject:
        """Move a project that no server has open.

        Raises
        ------
        InputError
            Another server has it open (`AlreadyServed`), or the files cannot be moved.
        """
        try:
            open_store(path).close()  # brings the journal into the file
        except NotSaved:
            raise
        except InputError:
            pass  # a file that is no project, or a damaged one, can go too
        with ExitStack() as stack:
            stack.enter_context(server_lock(path, "being deleted"))
            moves = self._moves(path)
            if sys.platform == "win32":
                stack.close()  # a file that is open cannot be moved there
            _move_all(moves)
        remove(path.with_name(path.name + LOCK))
        return next(
            each for each in self.listed() if each.id == moves[0][1].relative_to(self.folder / DELETED).parts[0]
        )

    def restore(self, id: str) -> Path:
        """Move a deleted project back; returns its file.

        Raises
        ------
        InputError
            There is no such project, or its old place is taken.
        """
        known = next((each for each in self.listed() if each.id == id), None)
        if known is None:
            raise InputError("deleted project", expected="one of the list", got="another", fix="Reload the page.")
        source, target = self.folder / DELETED / id, self.folder / known.name
        if target.exists() or (len(Path(known.name).parts) > 1 and _is_whole(source, known) and target.parent.exists()):
            got, fix = f"another project at {known.name}", "Move or delete that one first."
            raise InputError("project to restore", expected="its old place free", got=got, fix=fix)
        target.parent.parent.mkdir(exist_ok=True)
        if _is_whole(source, known):
            _move_all([(source / target.parent.name, target.parent)])
        else:
            target.parent.mkdir(exist_ok=True)
            inner = (source / known.name).parent
            _move_all([(entry, target.parent / entry.name) for entry in sorted(inner.iterdir(), reverse=True)])
        _remove_empty(source)
        return target

    def _moves(self, path: Path) -> list[tuple[Path, Path]]:
        """What is moved where: the folder, if it is of this project alone; else the file and what belongs to it."""
        relative = path.relative_to(self.folder)
        place_of = self._free(path.stem)
        if len(relative.parts) > 1 and _is_own_folder(path):
            return [(path.parent, place_of / path.parent.name)]
        beside = [path, *(path.with_name(path.name + ending) for ending in JOURNALS), cache_folder(path)]
        return [(each, place_of / relative.with_name(each.name)) for each in beside if each.exists()]

    def _free(self, stem: str) -> Path:
        moment = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        names = (f"{moment}-{stem[:100]}" + (f"-{number}" if number else "") for number in range(1_000))
        return next(self.folder / DELETED / name for name in names if not (self.folder / DELETED / name).exists())


def _described(entry: Path) -> list[DeletedProject]:
    """The project in a folder of a deleted one; none where its file is gone."""
    files = [path for pattern in ("*.bemps", "*/*.bemps") for path in sorted(entry.glob(pattern)) if path.is_file()]
    try:
        time = datetime.strptime(entry.name[:15], "%Y%m%d-%H%M%S").astimezone()
    except ValueError:  # a folder that somebody put there
        return []
    if not files:
        return []
    return [DeletedProject(entry.name, files[0].relative_to(entry).as_posix(), time)]


def _is_own_folder(path: Path) -> bool:
    """Whether a folder holds nothing but one project and what was uploaded for it."""
    names = {path.name, path.name + LOCK, cache_folder(path).name, FILES, *(path.name + end for end in JOURNALS)}
    return path.parent.name == path.stem and {entry.name for entry in path.parent.iterdir()} <= names


def _is_whole(source: Path, known: DeletedProject) -> bool:
    """Whether the folder of a deleted project was moved as a whole."""
    return len(Path(known.name).parts) > 1 and (source / Path(known.name).parent / FILES).is_dir()


def _move_all(moves: list[tuple[Path, Path]]) -> None:
    """Move all, or none."""
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(source, target)
            done.append((source, target))
    except OSError as error:
        for source, target in reversed(done):
            os.rename(target, source)
        got, fix = error.strerror or str(error), "Check the rights of the folder, and whether a program has it open."
        raise NotSaved("project", expected="to move its files", got=got, fix=fix) from error


def _remove_empty(folder: Path) -> None:
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir()
    folder.rmdir()
