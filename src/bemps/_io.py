"""Files and folders: refused where they would destroy something, written whole or not at all, locked.

Every command and every method that writes a file asks `check_output` first and writes through `written_whole`.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bemps.errors import InputError

MARKER = ".bemps"  # a file that bemps puts into every folder that it makes; its text is the kind of the folder


def check_output(
    path: Path, *, option: str = "--out", inputs: Iterable[Path] = (), folder: str | None = None, force: bool = False
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
    force
        Whether the user asked to replace what is there: a plain file, or a folder of the same kind that bemps wrote.

    Raises
    ------
    InputError
        With what stands in the way, and what to do instead.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise InputError(option, expected="a path in an existing folder", got=str(path), fix="Create the folder first.")
    for source in inputs:
        _check_apart(path, target, source, option)
    if Path.cwd().resolve().is_relative_to(target):
        raise InputError(
            option,
            expected="a new file or folder",
            got=f"{path}, which holds the current folder",
            fix="Choose another name.",
        )
    if target.is_dir():
        _check_folder(path, target, folder, force, option)
    elif os.path.lexists(path):
        _check_file(path, folder, force, option)


def _check_apart(path: Path, target: Path, source: Path, option: str) -> None:
    origin = source.resolve()
    same = target == origin or (target.exists() and origin.exists() and os.path.samefile(target, origin))
    if same:
        raise InputError(
            option,
            expected="a path of its own",
            got=f"{path}, which is what this command reads",
            fix="Choose another name; it is never replaced.",
        )
    if origin.is_relative_to(target):
        raise InputError(
            option,
            expected="a path of its own",
            got=f"{path}, the folder that holds {source}",
            fix="Choose another name; it is never replaced.",
        )


def _check_folder(path: Path, target: Path, folder: str | None, force: bool, option: str) -> None:
    kind = folder_kind(target)
    if folder is None:
        raise InputError(
            option,
            expected="a file",
            got=f"{path}, which is a folder",
            fix=f"Name a file in it, for example {path / 'labels.csv'}.",
        )
    if any(target.iterdir()) and kind != folder:
        got = f"{path}, a folder that holds other files" if kind is None else f"{path}, a {kind}"
        raise InputError(
            option,
            expected=f"a new folder, or a {folder} that bemps wrote",
            got=got,
            fix="Choose another name; it is never replaced.",
        )
    if kind == folder and not force:
        raise _exists(path, option)


def _check_file(path: Path, folder: str | None, force: bool, option: str) -> None:
    if folder is not None or path.is_symlink() or not path.is_file():
        expected = "a plain file" if folder is None else "a new folder"
        got = f"{path}, which is a {'link' if path.is_symlink() else 'file' if path.is_file() else 'device'}"
        raise InputError(option, expected=expected, got=got, fix="Choose another name; it is never replaced.")
    if not force:
        raise _exists(path, option)


def _exists(path: Path, option: str) -> InputError:
    replace = "Add --force to replace it" if option.startswith("--") else "Pass force=True to replace it"
    return InputError(
        option, expected="a new name", got=f"{path}, which exists", fix=f"{replace}, or choose another name."
    )


def folder_kind(folder: Path) -> str | None:
    """What bemps wrote into a folder, by its marker; None for a folder of somebody else."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").strip()[:100]
    except (OSError, ValueError):
        return None


def mark_folder(folder: Path, kind: str) -> None:
    """Say in a folder that bemps wrote it, and what it is."""
    (folder / MARKER).write_text(kind + "\n", encoding="utf-8")


@contextmanager
def written_whole(path: Path, what: str = "file") -> Iterator[Path]:
    """A draft to write to, file or folder; it takes the place of `path` when everything has been written.

    A failure leaves what was there before. An earlier folder is moved aside first and removed last.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    remove(draft)
    try:
        yield draft
        _replace(draft, path)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"{what} {path}", expected="to write it", got=got, fix="Check space and rights.") from error
    finally:
        remove(draft)


def _replace(draft: Path, path: Path) -> None:
    if not (path.is_dir() and not path.is_symlink()):
        os.replace(draft, path)
        return
    aside = path.with_name(f".{path.name}.{os.getpid()}.old")
    remove(aside)
    os.rename(path, aside)
    try:
        os.rename(draft, path)
    except OSError:
        os.rename(aside, path)
        raise
    remove(aside)


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
