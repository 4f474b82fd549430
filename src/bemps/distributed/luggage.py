"""What a cell needs on a machine that does not see the run folder: the files of its dataset, sent once to each node.

A worker that sees the folder (the same machine, a shared file system) uses it where it is.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from bemps.data.checksums import ENDING, is_intact
from bemps.errors import InputError
from bemps.types import Array

ALWAYS = (
    "meta.json",
    f"meta.json{ENDING}",
    "raw",
    "surprisal",
)  # and the folder of the form that the cell's model learns from
Files = Mapping[str, Array]


def names_of(folder: Path, form: str) -> list[str]:
    """The files below a dataset's folder that a cell may open."""
    places = [folder / name for name in (*ALWAYS, form)]
    found = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [str(path.relative_to(folder)) for path in found if path.is_file() and path.suffix != ".part"]


def digest_of(folder: Path, form: str) -> str | None:
    """One word for the data and the checksums of everything made from them; None where there is no such folder."""
    meta = folder / "meta.json"
    if not meta.is_file():
        return None
    found = hashlib.blake2b(meta.read_bytes(), digest_size=8)
    for name in names_of(folder, form):
        checksum = (folder / name).read_text(encoding="ascii", errors="replace") if name.endswith(ENDING) else ""
        found.update(f"{name}:{(folder / name).stat().st_size}:{checksum};".encode())
    return found.hexdigest()


@cache  # once in a process: cells of a dataset follow one another
def _holds(place: Path, digest: str, form: str) -> bool:
    """Whether a folder in this node's cache has the data of a digest, byte by byte."""
    if digest_of(place, form) != digest:
        return False
    return all(is_intact(place / name) for name in names_of(place, form) if not name.endswith(ENDING))


def packed(folder: Path, form: str) -> Files:
    """The files themselves, as arrays: Ray shares these between processes without copies."""
    return {name: np.fromfile(folder / name, np.uint8) for name in names_of(folder, form)}


def cache_of(digest: str) -> Path:
    """Where a node keeps data that were sent to it."""
    return Path(tempfile.gettempdir()) / f"bemps-{os.getuid()}" / digest


def unpacked(files: Files, digest: str, form: str) -> Path:
    """The folder on this node that holds them, made if need be; it stays as a cache, by content."""
    place = cache_of(digest)
    _make_private(place.parent)
    if not _holds(place, digest, form):
        if place.is_dir():
            shutil.rmtree(place)  # cut, changed, or put there by somebody else
        draft = place.with_name(f"{digest}.{uuid.uuid4().hex[:8]}.part")
        for name, content in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            content.tofile(draft / name)
        _holds.cache_clear()
        try:
            draft.rename(place)
        except OSError as error:  # another process of this node was quicker
            if digest_of(place, form) != digest:
                raise InputError(
                    str(place), expected="room for the data of a run", got=str(error), fix="Remove that folder."
                ) from error
    return place


def _make_private(folder: Path) -> None:
    """A folder in a place where everybody may write: ours and closed to others, or refused."""
    folder.mkdir(mode=0o700, exist_ok=True)
    told = folder.lstat()
    if not stat.S_ISDIR(told.st_mode) or told.st_uid != os.getuid() or told.st_mode & 0o022:
        got = "one that somebody else made, or may write to"
        raise InputError(str(folder), expected="a folder of your own", got=got, fix="Remove it, or set TMPDIR.")
