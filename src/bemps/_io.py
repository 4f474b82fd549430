"""Files and folders: refused where they would destroy something, written whole or not at all, locked.

Every command and every method that writes a file asks `check_output` first and writes through `written_whole`.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bemps.errors import InputError

MARKER = ".bemps"  # a file that bemps puts into every folder that it makes; its first line is the kind of the folder
NEVER = "Choose another name, or move it away: it is never replaced."
HEAD = 4_096  # bytes that tell what a file is
TEXT, PARQUET = "text", "Parquet"


class OutputExists(InputError):
    """An output that is there already, and that the user may ask to replace."""

    def __init__(self, option: str, path: Path) -> None:
        self.without_force = f"{option}: expected a new name; got {path}, which exists."
        fix = "Pass force=True to replace it, or choose another name."
        super().__init__(option, expected="a new name", got=f"{path}, which exists", fix=fix)


def check_output(
    path: Path,
    *,
    option: str = "output",
    inputs: Iterable[Path] = (),
    folder: str | None = None,
    file: str = TEXT,
    force: bool = False,
    resume: bool = False,
) -> None:
    """Refuse an output path whose writing would destroy something that bemps may not replace.

    Parameters
    ----------
    path
        The file or folder that is to be written.
    option
        What the user calls the path: `--out`, or the name of an argument in Python.
    inputs
        What the command reads: the project, the data file, the saved learner. No force replaces them.
    folder
        The kind of folder that is to be written, as its marker file will say; None for a file.
    file
        The kind of file that is to be written, as `file_kind` will say.
    force
        Whether the user asked to replace what is there: a plain file, or a folder of the same kind that bemps wrote.
    resume
        Whether the folder is added to and nothing in it is replaced: one of the same kind needs no force.

    Raises
    ------
    InputError
        With what stands in the way, and what to do instead. `OutputExists` where force would replace it.
    """
    try:
        target = Path(os.path.realpath(path))
        for source in inputs:
            _check_apart(path, target, source, option)
        if not resume:
            _check_around(path, target, option)
        if target.is_dir():
            _check_folder(path, target, folder, force or resume, option)
            if path.is_symlink() and not resume:
                raise _refused(option, "a new folder", f"{path}, which is a link")
        elif os.path.lexists(path):
            _check_file(path, file if folder is None else None, force, option)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(option, expected="a path to write to", got=f"{path}: {error}", fix="Correct it.") from error


def _check_around(path: Path, target: Path, option: str) -> None:
    if not path.parent.is_dir():
        fix = f"Create {path.parent} first."
        raise InputError(option, expected="a path in an existing folder", got=str(path), fix=fix)
    if Path.cwd().resolve().is_relative_to(target):
        raise _refused(option, "a new file or folder", f"{path}, which holds the current folder")


def _check_apart(path: Path, target: Path, source: Path, option: str) -> None:
    origin = Path(os.path.realpath(source))
    same = target == origin or (target.exists() and origin.exists() and os.path.samefile(target, origin))
    if same:
        raise _refused(option, "a path of its own", f"{path}, which is what this reads")
    if origin.is_relative_to(target):
        raise _refused(option, "a path of its own", f"{path}, the folder that holds {source}")


def _check_folder(path: Path, target: Path, folder: str | None, force: bool, option: str) -> None:
    kind = folder_kind(target)
    if folder is None:
        fix = f"Name a file in it, for example {path / 'labels.csv'}."
        raise InputError(option, expected="a file", got=f"{path}, which is a folder", fix=fix)
    if kind != folder and any(target.iterdir()):
        got = f"{path}, a folder that holds other files" if kind is None else f"{path}, a {kind}"
        raise _refused(option, f"a new folder, or a {folder} that bemps wrote", got)
    if kind == folder and not force and not path.is_symlink():
        raise OutputExists(option, path)


def _check_file(path: Path, file: str | None, force: bool, option: str) -> None:
    if file is None or path.is_symlink() or not path.is_file():
        got = f"{path}, which is a {'link' if path.is_symlink() else 'file' if path.is_file() else 'device'}"
        raise _refused(option, "a new folder" if file is None else "a plain file", got)
    kind = file_kind(path)
    if path.stat().st_size and kind != file:
        raise _refused(option, f"a {file} file to replace, or a new name", f"{path}, which is a {kind} file")
    if not force:
        raise OutputExists(option, path)


def _refused(option: str, expected: str, got: str) -> InputError:
    return InputError(option, expected=expected, got=got, fix=NEVER)


def file_kind(path: Path) -> str:
    """What a file holds, by its first bytes: text, Parquet, a database (as projects are), or something else."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"SQLite format 3\0"):
        return "project or other database"
    if head.startswith(b"PAR1"):
        return PARQUET
    return "binary" if b"\0" in head else TEXT


def folder_kind(folder: Path) -> str | None:
    """What bemps wrote into a folder, by its marker; None for a folder of somebody else."""
    lines = marker_lines(folder)
    return lines[0][:100] if lines else None


def marker_lines(folder: Path) -> list[str]:
    """The marker of a folder: its kind, and what else was noted there; empty for a folder of somebody else."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def mark_folder(folder: Path, kind: str, *notes: str) -> None:
    """Say in a folder that bemps wrote it, and what it is."""
    (folder / MARKER).write_text("\n".join([kind, *notes, ""]), encoding="utf-8")


def make_folder(path: Path, what: str) -> None:
    """Make a folder and those above it; one that cannot be made is refused."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"{what} {path}", expected="to make it", got=got, fix="Check space and rights.") from error


@contextmanager
def written_whole(path: Path, what: str = "file") -> Iterator[Path]:
    """A draft to write to, file or folder; it takes the place of `path` when everything has been written.

    A failure leaves what was there before. The draft is in a new folder of its own beside `path`, so that nothing of
    others is in the way. An earlier folder is moved there first and removed last.
    """
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name[:50]}.", suffix=".part", dir=path.parent))
        try:
            yield beside / path.name
            _replace(beside / path.name, path, beside / f"{path.name}.old")
        finally:
            remove(beside)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"{what} {path}", expected="to write it", got=got, fix="Check space and rights.") from error


def _replace(draft: Path, path: Path, aside: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        os.replace(draft, path)
        return
    if folder_kind(path) is None and any(path.iterdir()):  # whatever was checked before: never somebody else's
        raise _refused(str(path), "a folder that bemps wrote", "one that holds other files")
    os.rename(path, aside)
    try:
        os.rename(draft, path)
    except OSError:
        os.rename(aside, path)
        raise


def remove(path: Path) -> None:
    """Take away a file or folder of our own, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[IO[bytes]]:
    """Hold a lock file that the system gives back when the process ends, however it ends.

    Raises
    ------
    BlockingIOError
        When another process holds it and `wait` is false. On Windows waiting ends after ten seconds in the same way.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        _lock(file, wait)
        try:
            yield file
        finally:
            with contextlib.suppress(OSError):
                _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], wait: bool) -> None:
        file.seek(1 << 20)  # beyond what is written, so that others can read who holds it
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "held by another process") from error

    def _unlock(file: IO[bytes]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes], wait: bool) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
