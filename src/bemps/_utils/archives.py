"""Zip files of unknown origin: looked through before anything is unpacked, and unpacked into one folder and no other.

A file is refused whole: links, names that lead out of the folder, more than fits, more than anybody packs.
"""

import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from zipfile import ZipFile, ZipInfo

from bemps.errors import BempsError, InputError

ZIP, FIRST_BYTES = ".zip", b"PK\x03\x04"
MOST_FILES = 20_000
LARGEST_CONTENT = 2 * 2**30  # bytes of everything, unpacked
LARGEST_RATIO = 200  # bytes for each packed one; texts reach 20
SMALL = 2**20  # bytes below which the ratio says nothing
PIECE = 2**20
LONGEST_NAME = 150  # characters of one part of a path
DEEPEST = 10  # folders in each other
UNUSABLE = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')  # letters that names of files cannot have on one of the systems
DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, LookupError)


def is_archive(path: Path) -> bool:
    """Whether a path is that of a zip file, by its name or its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST_BYTES)) == FIRST_BYTES or path.suffix.lower() == ZIP
    except OSError:  # a folder, or nothing
        return False


def check_archive(path: Path, what: str = "a zip file") -> list[ZipInfo]:
    """The files of a zip file, by its table of contents; one that claims more than the limits is refused."""
    with _refusing_damage(path, what), ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MOST_FILES:
        raise _refused(path, f"at most {MOST_FILES:,} files", f"{len(members):,}")
    if (size := sum(member.file_size for member in members)) > LARGEST_CONTENT:
        raise _refused(path, f"at most {LARGEST_CONTENT // 2**30} GB unpacked", f"{size / 2**30:,.1f} GB")
    for member in members:
        _check_member(path, member)
    return members


def _check_member(path: Path, member: ZipInfo) -> None:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise _refused(path, "files and folders", f"the link {member.filename!r}")
    if member.flag_bits & 1:
        raise _refused(path, "a file without a password", f"{member.filename!r}, which needs one")
    if member.file_size > max(SMALL, LARGEST_RATIO * member.compress_size):
        ratio = member.file_size // max(1, member.compress_size)
        got = f"{member.filename!r}, which grows {ratio:,} times"
        raise _refused(path, f"files that grow {LARGEST_RATIO} times at most", got)


def unpack(path: Path, folder: Path, is_wanted: Callable[[str], bool]) -> int:
    """Unpack the files of a zip file that are wanted, by their names, below a folder; returns how many.

    Raises
    ------
    InputError
        When the file is damaged, breaks a limit, or holds a name that leads out of the folder. What was unpacked
        until then stays: the caller removes the folder.
    """
    members = [(member, safe_name(member.filename)) for member in check_archive(path)]
    unpacked = [(member, name) for member, name in members if name is not None and is_wanted(name.name)]
    with _refusing_damage(path, "a zip file"), ZipFile(path) as archive:
        for member, name in unpacked:
            _unpack_member(archive, member, folder / name)
    return len(unpacked)


def _unpack_member(archive: ZipFile, member: ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        out = target.open("xb")
    except FileExistsError:
        got = f"a second {member.filename!r}"
        raise InputError("zip file", expected="every name once", got=got, fix="Rename one of them.") from None
    with out, archive.open(member) as packed:  # reads no more than the size that was checked
        while piece := packed.read(PIECE):
            out.write(piece)


def safe_name(name: str) -> PurePosixPath | None:
    """A relative path as every system can store it; None for hidden files, which no one means to label.

    Raises
    ------
    InputError
        When it leads out of the folder, or is no name at all.
    """
    parts = re.split(r"[/\\]", name)
    if not parts[0] or ":" in parts[0] or ".." in parts or len(parts) > DEEPEST or not parts[-1]:
        expected = f"a name inside the folder, {DEEPEST} folders deep at most"
        raise InputError("name of a file", expected=expected, got=repr(name)[:200], fix="Pack it again.")
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        return None
    return PurePosixPath(*(_usable(part) for part in parts if part))


def _usable(part: str) -> str:
    """One part of a path, with letters and names that some system refuses replaced."""
    tidy = UNUSABLE.sub("_", part.encode("utf-8", "replace").decode()).rstrip(". ") or "_"
    stem, dot, ending = tidy.rpartition(".")
    short = tidy if len(tidy) <= LONGEST_NAME else f"{stem[: LONGEST_NAME - 20]}{dot}{ending[:10]}"
    return f"_{short}" if DEVICES.fullmatch(short) else short


def _refused(path: Path, expected: str, got: str) -> InputError:
    return InputError(str(path), expected=expected, got=got, fix="Unpack it yourself if you trust it.")


@contextmanager
def _refusing_damage(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except BempsError:
        raise
    except DAMAGE as error:
        got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InputError(str(path), expected=what, got=got, fix="Is it complete?") from error
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(str(path), expected="to unpack it", got=got, fix="Check space and rights.") from error
