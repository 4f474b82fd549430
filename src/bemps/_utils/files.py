"""Files and folders: check output paths, write files atomically, lock them.

Every command and every method that writes a file calls `check_output` first and writes through `written_whole`.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bemps._utils.locks import locked as locked  # noqa: PLC0414  the door for files is this module
from bemps._utils.locks import locking as locking  # noqa: PLC0414
from bemps._utils.protected_files import PAGE, PARQUET, TEXT, WORKBOOK, foreign_file, is_foreign, project_made_from
from bemps.errors import COMMAND_OPTIONS, InputError

MARKER = ".bemps"  # a file that bemps puts into every folder that it makes; its first line is the kind of the folder
NEVER = "Choose another name, or move it away: it is never replaced."
DRAFT = ".part"  # the ending of what is not yet written whole
OWNER = ".bemps-owner"  # a file in the folder of a draft, locked as long as its writer lives
HEAD = 4_096  # bytes that tell what a file is
LONGEST_TITLE = 60  # characters of a title in the name of a file


class OutputExists(InputError):
    """The error for an output that exists, and that the user may ask to replace."""

    def __init__(self, option: str, path: Path) -> None:
        self.without_force = f"{option}: expected a new name; got {path}, which exists."
        fix = "Pass force=True to replace it, or choose another name."
        super().__init__(option, expected="a new name", got=f"{path}, which exists", fix=fix)


def check_output(
    path: Path,
    *,
    option: str | None = None,
    inputs: Iterable[Path] = (),
    folder: str | None = None,
    file: str = TEXT,
    force: bool = False,
    resume: bool = False,
) -> None:
    """Refuse an output path if writing it would destroy something that bemps may not replace.

    Parameters
    ----------
    path : Path
        The file or folder to write.
    option : str, optional
        The name of the path in messages. The default is `--out` in a command that has it, else `path`.
    inputs : iterable of Path
        What the command reads: the project, the data file, the saved learner. They are never replaced.
    folder : str, optional
        The kind of folder to write, as in its marker file. None: a file is written.
    file : str
        The kind of file to write, as `file_kind` returns it.
    force : bool
        Whether the user asked to replace a file, or a folder of the same kind that bemps wrote.
    resume : bool
        Whether files are only added to the folder: a folder of the same kind then needs no force.

    Raises
    ------
    InputError
        Something must not be replaced. `OutputExists` if force would replace it.
    """
    option = option or ("--out" if "out" in (COMMAND_OPTIONS.get() or ()) else "path")
    try:
        sources = list(inputs)
        target = Path(os.path.realpath(path))
        for source in sources:
            _check_apart(path, target, source, option)
        if not resume:
            _check_around(path, target, option)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()  # a name that no system takes: `is_dir` says nothing of it from Python 3.14 on
        if target.is_dir():
            _check_folder(path, target, folder, resume, option)
            if folder == folder_kind(target) and not (force or resume):
                raise OutputExists(option, path)
        elif os.path.lexists(path):
            _check_file(path, file if folder is None else None, option)
            _check_sources(path, sources, option)
            if not force:
                raise OutputExists(option, path)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(option, expected="a path to write to", got=f"{path}: {error}", fix="Correct it.") from error


def _check_around(path: Path, target: Path, option: str) -> None:
    if path.name == "-":
        fix = "Write to a file, and read that one."
        raise InputError(option, expected="the name of a file", got="-, which means standard output elsewhere", fix=fix)
    if not path.parent.is_dir():
        fix = f"Create {path.parent} first."
        raise InputError(option, expected="a path in an existing folder", got=str(path), fix=fix)
    if Path.cwd().resolve().is_relative_to(target):
        raise _refused(option, "a new file or folder", f"{path}, which holds the current folder")


def _check_apart(path: Path, target: Path, source: Path, option: str) -> None:
    origin = Path(os.path.realpath(source))
    same = target == origin or (target.exists() and origin.exists() and os.path.samefile(target, origin))
    if same:
        raise _refused(option, "a path of its own", f"{path}, which is an input")
    if origin.is_relative_to(target):
        raise _refused(option, "a path of its own", f"{path}, the folder that holds {source}")


def _check_folder(path: Path, target: Path, folder: str | None, resume: bool, option: str) -> None:
    kind = folder_kind(target)
    if folder is None:
        fix = f"Name a file in it, for example {path / 'labels.csv'}."
        raise InputError(option, expected="a file", got=f"{path}, which is a folder", fix=fix)
    if kind != folder and any(target.iterdir()):
        got = f"{path}, a folder that holds other files" if kind is None else f"{path}, a {kind}"
        raise _refused(option, f"a new folder, or a {folder} that bemps wrote", got)
    if resume:
        return
    if path.is_symlink():
        raise _refused(option, "a new folder", f"{path}, which is a link")
    if (other := foreign_file(target, folder)) is not None:
        fix = "Choose another name, or move that file away."
        raise InputError(option, expected=f"a {folder} alone", got=f"{path}, which also holds {other}", fix=fix)


def _check_file(path: Path, file: str | None, option: str) -> None:
    if file is None or path.is_symlink() or not path.is_file():
        got = f"{path}, which is a {'link' if path.is_symlink() else 'file' if path.is_file() else 'device'}"
        raise _refused(option, "a new folder" if file is None else "a plain file", got)
    if path.stat().st_size and (kind := file_kind(path)) != file:
        raise _refused(option, f"a {file} file to replace, or a new name", f"{path}, which is a {kind} file")
    if path.stat().st_size and is_foreign(path, file):
        raise _refused(
            option, f"the name of a {file} file, or a new one", f"{path}, which has the name of another kind of file"
        )


def _check_sources(path: Path, inputs: Iterable[Path], option: str) -> None:
    """Refuse a file from which a project was made that is beside it, in the current folder, or beside an input."""
    folders = [path.parent, Path.cwd(), *(source.parent for source in inputs)]
    if (project := project_made_from(path, folders)) is not None:
        raise _refused(option, "a path of its own", f"{path}, from which {project} was made")


def _refused(option: str, expected: str, got: str) -> InputError:
    return InputError(option, expected=expected, got=got, fix=NEVER)


def file_kind(path: Path) -> str:
    """The kind of a file by its bytes: text, a page, Parquet, a workbook, a database (as projects are), or binary."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"SQLite format 3\0"):
        return "project or other database"
    if head.startswith(b"PAR1"):
        return PARQUET
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        return PAGE
    if head.startswith(b"PK\x03\x04"):
        return WORKBOOK if _is_workbook(path) else "binary"
    return "binary" if b"\0" in head else TEXT


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:  # something else that begins like one
        return False


def folder_kind(folder: Path) -> str | None:
    """The kind of a folder that bemps wrote, by its marker; None for any other folder."""
    lines = marker_lines(folder)
    return lines[0][:100] if lines else None


def marker_lines(folder: Path) -> list[str]:
    """The lines of a folder's marker: its kind and notes; empty for a folder that bemps did not write."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def mark_folder(folder: Path, kind: str, *notes: str) -> None:
    """Write the marker of a folder: its kind and notes.

    Parameters
    ----------
    folder : Path
        The folder.
    kind : str
        Its kind.
    *notes : str
        Further lines.
    """
    (folder / MARKER).write_text("\n".join([kind, *notes, ""]), encoding="utf-8")


def make_folder(path: Path, what: str) -> None:
    """Make a folder and its parents. A failure is an InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"{what} {path}", expected="to make it", got=got, fix="Check space and rights.") from error


@contextmanager
def written_whole(path: Path, what: str = "file") -> Iterator[Path]:
    """Yield a draft to write to, as `drafted` does. A failure is an InputError that names `what` is written.

    Drafts that killed writers of the same path left behind are removed first.
    """
    try:
        clear_drafts(path)
        with drafted(path) as draft:
            yield draft
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"{what} {path}", expected="to write it", got=got, fix="Check space and rights.") from error


@contextmanager
def drafted(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a draft to write to, a file or a folder. It replaces `path` when the block has finished.

    If the block fails, `path` stays as it was. The draft is in a new folder beside `path`. An earlier folder is moved
    there first and removed last.

    Parameters
    ----------
    path : Path
        The file or folder that is written.
    durable : bool
        Whether a file must be on the disk at the end of the block, even after a power cut.
    """
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name[:50]}.", suffix=DRAFT, dir=path.parent))
    draft = beside / path.name
    try:
        with locked(beside / OWNER) as owner:
            owner.write(f"{os.getpid()}\n{path.name}\n".encode())
            yield draft
            if durable:
                sync(draft)
            _replace(draft, path, _aside(beside, path))
            if durable:
                sync(path.parent)
    finally:
        remove(beside)


def clear_drafts(path: Path) -> None:
    """Remove drafts of `path` that killed writers left beside it.

    A folder that a killed writer had moved away comes back, unless something replaced it. Only folders that `drafted`
    made for this path are touched, and only if the lock of their writer is free.
    """
    ours = re.compile(re.escape(f".{path.name[:50]}.") + "[a-z0-9_]{8}" + re.escape(DRAFT))
    if path.parent.is_dir():
        for beside in path.parent.iterdir():
            if ours.fullmatch(beside.name) and _is_left(beside, path):
                with contextlib.suppress(OSError):  # another process was faster, or may do what this one may not
                    remove(beside)


def _is_left(beside: Path, path: Path) -> bool:
    """Whether the writer of a draft of `path` is dead; what it had moved away is back then."""
    owner, aside = beside / OWNER, _aside(beside, path)
    try:
        if owner.read_text(encoding="utf-8").splitlines()[1:] != [path.name]:
            return False
        with locked(owner, wait=False):
            if aside.exists() and not os.path.lexists(path):
                os.rename(aside, path)
            return True
    except (OSError, ValueError):  # it lives, or it is none of ours
        return False


def _aside(beside: Path, path: Path) -> Path:
    """Where an earlier folder is while the draft takes its place."""
    return beside / f"{path.name}.old"


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk."""
    if path.is_dir() and sys.platform == "win32":
        return  # Windows opens no folders, and keeps names by itself
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def path_inside(folder: Path, name: str | Path) -> Path | None:
    """The path of a name below a folder, with links and `..` resolved; None if it is outside of the folder."""
    root = folder.resolve()
    path = (root / name).resolve()
    return path if path.is_relative_to(root) else None


def link_folder(link: Path, target: Path) -> None:
    """Let a path lead to a folder; on Windows as a junction, which needs no right that users do not have."""
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(str(target), str(link))
    else:
        link.symlink_to(target, target_is_directory=True)


def is_draft(path: Path) -> bool:
    """Whether a file is part of something that is being written, or was left half-written."""
    return any(part.endswith(DRAFT) for part in path.parts)


def title_as_name(title: str) -> str:
    """Turn a title into a part of a file name that every system can store; letters of any language stay."""
    tidy = re.sub(r"[^\w-]+", "_", unicodedata.normalize("NFC", title)).strip("_")
    return tidy[:LONGEST_TITLE] or "project"


def slug(words: str) -> str:
    """Turn a text into a part of a file name: letters, digits, dots, dashes; anything else becomes `_`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", words)


def _replace(draft: Path, path: Path, aside: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        os.replace(draft, path)
        return
    kind = folder_kind(path)  # whatever was checked before: never somebody else's
    if any(path.iterdir()) if kind is None else foreign_file(path, kind):
        raise _refused(str(path), "a folder that bemps wrote", "one that holds other files")
    os.rename(path, aside)
    try:
        os.rename(draft, path)
    except OSError:
        os.rename(aside, path)
        raise


def remove(path: Path) -> None:
    """Delete a file or folder of bemps, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
