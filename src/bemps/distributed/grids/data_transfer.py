"""The files of a dataset, sent once to each node that does not see the run folder.

A worker that sees the folder (the same machine, a shared file system) reads the files there.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from bemps._utils.files import drafted, is_draft
from bemps.data.checksums import ENDING, is_intact
from bemps.errors import InputError
from bemps.types import Array

SHARED_FILES = (
    "meta.json",
    f"meta.json{ENDING}",
    "raw",
    "surprisal",
)  # and the folder of the form that the model of the cell learns from
Files = Mapping[str, Array]


def file_names(folder: Path, form: str) -> list[str]:
    """The files below the folder of a dataset that a cell may open."""
    roots = [folder / name for name in (*SHARED_FILES, form)]
    paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
    return [
        str(path.relative_to(folder)) for path in paths if path.is_file() and not is_draft(path.relative_to(folder))
    ]


def digest_of(folder: Path, form: str) -> str | None:
    """A digest of the data and of all checksums; None if there is no such folder."""
    meta = folder / "meta.json"
    if not meta.is_file():
        return None
    hasher = hashlib.blake2b(meta.read_bytes(), digest_size=8)
    for name in file_names(folder, form):
        checksum = (folder / name).read_text(encoding="ascii", errors="replace") if name.endswith(ENDING) else ""
        hasher.update(f"{name}:{(folder / name).stat().st_size}:{checksum};".encode())
    return hasher.hexdigest()


@cache  # once in a process: many cells use the same dataset
def _is_cached(folder: Path, digest: str, form: str) -> bool:
    """Whether a folder in this node's cache holds the data of a digest, every byte checked."""
    if digest_of(folder, form) != digest:
        return False
    return all(is_intact(folder / name) for name in file_names(folder, form) if not name.endswith(ENDING))


def pack_files(folder: Path, form: str) -> Files:
    """Read the files as arrays, which Ray shares between processes without copies."""
    return {name: np.fromfile(folder / name, np.uint8) for name in file_names(folder, form)}


def cache_of(digest: str) -> Path:
    """The folder in which a node keeps the data of a digest."""
    return Path(tempfile.gettempdir()) / f"bemps-{_owner()}" / digest


def _owner() -> str:
    """Tells users of a machine apart where they share a temporary folder; on Windows each has one of their own."""
    if sys.platform == "win32":
        return "own"
    return str(os.getuid())


def unpack_files(files: Files, digest: str, form: str) -> Path:
    """Write the files to the cache of this node, unless they are there.

    Parameters
    ----------
    files : mapping of str to array
        The contents by name.
    digest : str
        Their digest.
    form : str
        The form that the model of the cell learns from.

    Returns
    -------
    Path
        The folder.
    """
    folder = cache_of(digest)
    _make_private(folder.parent)
    if not _is_cached(folder, digest, form):
        if folder.is_dir():
            shutil.rmtree(folder)  # incomplete, changed, or written by somebody else
        _is_cached.cache_clear()
        try:
            with drafted(folder) as draft:
                for name, content in files.items():
                    (draft / name).parent.mkdir(parents=True, exist_ok=True)
                    content.tofile(draft / name)
        except (OSError, InputError) as error:  # another process of this node was quicker, or the disk is full
            if digest_of(folder, form) != digest:
                raise InputError(
                    str(folder), expected="room for the data of a run", got=str(error), fix="Remove that folder."
                ) from error
    return folder


def _make_private(folder: Path) -> None:
    """Create a folder that only this user may write to, or refuse an existing one that is not so."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if sys.platform == "win32":
        return
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        got = "one that somebody else made, or may write to"
        raise InputError(str(folder), expected="a folder of your own", got=got, fix="Remove it, or set TMPDIR.")
