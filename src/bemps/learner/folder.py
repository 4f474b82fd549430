"""The folder of a saved learner: whose it is, whether it changed, and its files, read with care.

learner.json    settings, labels, what was skipped and asked, the model by the table of `bemps.learner.registry`
items.json      texts or a table of plain values, or
items.npy       rows of numbers
array-*.npy     arrays of the model, of items with several parts, and of surprisal
.bemps          says that bemps wrote the folder
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from bemps import _io
from bemps.errors import InputError
from bemps.learner.descriptions import digest_of
from bemps.types import Array

KIND = "saved learner"
STATE = "learner.json"
OURS = re.compile(r"learner\.json|items\.(json|npy)|surprisal\.npy|array-\d{1,6}\.npy|learner\.json\.part|\.bemps")
# what NumPy raises for files that it did not write
BAD_ARRAYS = (ValueError, OSError, EOFError, TypeError, OverflowError, MemoryError, SyntaxError, TokenError)


def not_ours(folder: Path, got: str, cause: Exception | None = None) -> InputError:
    error = InputError(str(folder), expected="a folder written by learner.save", got=got, fix="Check the path.")
    error.__cause__ = cause
    return error


def lock_of(folder: Path) -> Path:
    """The lock beside a folder. It stays: the folder itself is away for a moment while another takes its place."""
    return folder.with_name(f".{folder.name}.lock")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone with the folder: neither another save nor a half-done one is met."""
    lock = lock_of(folder)
    try:
        with _io.locked(lock):
            yield
    except BlockingIOError as error:
        got = "another process that saves there"
        raise InputError(str(folder), expected="to be alone", got=got, fix="Try again.") from error


def token(folder: Path) -> str | None:
    """What changes with every save; None where there is no learner."""
    try:
        return digest_of(folder / STATE)
    except OSError:
        return None


def check_target(folder: Path, known: str | None, force: bool) -> None:
    """Refuse to write over what is not the learner that was loaded from, or last saved to, this very folder.

    Parameters
    ----------
    folder
        Where to save.
    known
        `token` of the folder when this learner was loaded from it or saved to it; None where it never was.
    force
        Whether a learner that is there may be replaced all the same.
    """
    there = token(folder)
    foreign = [path.name for path in folder.iterdir() if not OURS.fullmatch(path.name)] if folder.is_dir() else []
    if there is not None and foreign:
        fix = "Choose another name, or move that file."
        raise InputError("path", expected="a learner alone", got=f"{folder}, which also holds {foreign[0]}", fix=fix)
    if known is not None and there is not None and known != there and not force:
        raise InputError(
            "path",
            expected=f"{folder} as it was when this learner was loaded or saved",
            got="another state: another process has saved there since",
            fix="Load it again and tell it the new labels, save to another path, or pass force=True to replace it.",
        )
    if there is not None and _io.folder_kind(folder) is None and known == there:
        _io.mark_folder(folder, KIND)  # written by a release that did not mark folders
    _io.check_output(folder, option="path", folder=KIND, force=force or (known is not None and known == there))


def read_state(folder: Path) -> dict[str, Any]:
    """The JSON, once it is an object."""
    state = read_json(folder, STATE)
    if not isinstance(state, dict):
        raise not_ours(folder, f"{STATE} that is no object")
    return state


def check_files(folder: Path, digests: Any) -> None:
    """Refuse a folder of which a file is not the one that was saved with the others."""
    if not isinstance(digests, dict):
        raise not_ours(folder, "no list of its files")
    for name, digest in digests.items():
        try:
            same = bool(OURS.fullmatch(name)) and digest_of(folder / name) == digest
        except OSError:
            same = False
        if not same:
            raise not_ours(folder, f"{name[:40]!r}, which is damaged, missing or of another learner")


def read_json(folder: Path, name: str) -> Any:
    """What a JSON file of the folder holds."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        got = _interrupted(folder) or f"{name} that cannot be read: {error}"[:200]
        raise not_ours(folder, got, error) from error


def _interrupted(folder: Path) -> str | None:
    """A save that was killed between two renames leaves the earlier folder beside it."""
    aside = [] if folder.exists() else sorted(folder.parent.glob(f".{folder.name}.*.old"))
    return f"nothing there, but {aside[0]}, left by an interrupted save: rename it" if aside else None


def read_array(folder: Path, name: str) -> Array:
    """An array of numbers of the folder; its size is that of the file, whatever its header says."""
    if not re.fullmatch(r"[a-z]+(-\d{1,6})?\.npy", name):
        raise not_ours(folder, f"an array named {name!r}")
    try:
        mapped = np.load(folder / name, mmap_mode="r", allow_pickle=False)
        rows = np.array(mapped)
    except BAD_ARRAYS as error:
        raise not_ours(folder, f"{name}, which is damaged: {str(error)[:100]}", error) from error
    if rows.dtype.kind not in "fiub" or rows.ndim == 0:
        raise not_ours(folder, f"{name} with dtype {rows.dtype} and {rows.ndim} axes")
    return rows
