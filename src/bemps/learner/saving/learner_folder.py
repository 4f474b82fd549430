"""The folder of a saved learner: whose it is, whether it changed, and its files, read with care.

learner.json    settings, labels, what was skipped and asked, the model by the table `saved_classes`
items.json      texts or a table of plain values, or
items.npy       rows of numbers
array-*.npy     arrays of the model, of items with several parts, and of surprisal
.bemps          says that bemps wrote the folder
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from bemps._utils import files
from bemps._utils.archives import unpack
from bemps._utils.protected_files import FOLDER_FILES
from bemps.errors import InputError
from bemps.learner.saving.descriptions import digest_of
from bemps.types import Array

KIND = "saved learner"
STATE = "learner.json"
DIGEST = "digest"  # the field of learner.json that tells a changed file; older releases wrote none
# what NumPy raises for files that it did not write
BAD_ARRAYS = (ValueError, OSError, EOFError, TypeError, OverflowError, MemoryError, SyntaxError, TokenError)


def not_a_saved_learner(folder: Path, got: str, cause: Exception | None = None) -> InputError:
    """The error for a folder that `learner.save` did not write.

    Parameters
    ----------
    folder : Path
        The folder.
    got : str
        What is wrong with it.
    cause : Exception, optional
        The error that showed it.

    Returns
    -------
    InputError
        The error.
    """
    error = InputError(str(folder), expected="a folder written by learner.save", got=got, fix="Check the path.")
    error.__cause__ = cause
    return error


def lock_of(folder: Path) -> Path:
    """The lock file beside a folder. It is never removed, because another process may wait for this very file."""
    return folder.with_name(f".{folder.name}.lock")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, and remove drafts that killed processes left."""
    lock = lock_of(folder)
    try:
        with files.locked(lock):
            files.clear_drafts(folder)
            yield
    except BlockingIOError as error:
        raise InputError(
            str(folder), expected="no other process that saves there", got="one", fix="Try again when it is done."
        ) from error


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Yield the folder of the learner in a zip file, unpacked for as long as the block runs.

    Parameters
    ----------
    archive : Path
        The zip file. Files of other names in it are left out.

    Raises
    ------
    InputError
        If it holds no learner or several, is damaged, or breaks the limits of `bemps._utils.archives`.
    """
    with tempfile.TemporaryDirectory(prefix="bemps-learner-") as temporary:
        root = Path(temporary).resolve()
        unpack(archive, root, lambda name: FOLDER_FILES[KIND].fullmatch(name) is not None)
        folders = [state.parent for state in root.rglob(STATE)]
        if len(folders) != 1:
            fix = "Give a zip file of the model for bemps, as the page makes it, or the folder that learner.save wrote."
            raise InputError(str(archive), expected="one saved learner in it", got=f"{len(folders) or 'none'}", fix=fix)
        try:
            yield folders[0]
        except InputError as error:
            if error.what.partition(":")[0] != str(folders[0]):
                raise
            what = error.what.replace(str(folders[0]), str(archive))  # the only one that people know
            raise InputError(what, expected=error.expected, got=error.got, fix=error.fix) from error


def folder_token(folder: Path) -> str | None:
    """A token that changes with every save; None if there is no learner."""
    try:
        return digest_of(folder / STATE)
    except OSError:
        return None


def check_target(folder: Path, known: str | None, force: bool) -> None:
    """Refuse to replace anything but the learner that was loaded from, or last saved to, this folder.

    Parameters
    ----------
    folder : Path
        The folder to save to.
    known : str or None
        The `folder_token` when this learner was loaded from the folder or saved to it; None if it never was.
    force : bool
        Whether another learner in the folder may be replaced.

    Raises
    ------
    InputError
        Something else would be replaced.
    """
    current = folder_token(folder)
    if known is not None and current is not None and known != current and not force:
        raise InputError(
            "path",
            expected=f"{folder} as it was when this learner was loaded or saved",
            got="another state: another process has saved there since",
            fix="Load it again and tell it the new labels, save to another path, or pass force=True to replace it.",
        )
    if current is not None and files.folder_kind(folder) is None and known == current:
        files.mark_folder(folder, KIND)  # written by a release that did not mark folders
    files.check_output(folder, option="path", folder=KIND, force=force or (known is not None and known == current))


def read_state(folder: Path) -> dict[str, Any]:
    """Read the JSON object of the learner."""
    if folder.is_file():
        raise not_a_saved_learner(folder, "a file that is neither such a folder nor a zip file of one")
    state = read_json(folder, STATE)
    if not isinstance(state, dict):
        raise not_a_saved_learner(folder, f"{STATE} that is no object")
    if DIGEST in state and state[DIGEST] != state_digest(state):
        raise InputError(
            str(folder),
            expected=f"{STATE} as learner.save wrote it",
            got="one that was changed or damaged",
            fix=f"Take another copy of the folder. If you changed it on purpose, remove {DIGEST!r} from {STATE}.",
        )
    return state


def state_digest(state: dict[str, Any]) -> str:
    """The digest of everything in `learner.json` but the digest itself."""
    content = json.dumps({name: value for name, value in state.items() if name != DIGEST})
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def check_files(folder: Path, digests: Any) -> None:
    """Refuse a folder if one of its files is not the one that was saved with the others."""
    if not isinstance(digests, dict):
        raise not_a_saved_learner(folder, "no list of its files")
    for name, digest in digests.items():
        try:
            same = bool(FOLDER_FILES[KIND].fullmatch(name)) and digest_of(folder / name) == digest
        except OSError:
            same = False
        if not same:
            raise not_a_saved_learner(folder, f"{name[:40]!r}, which is damaged, missing or of another learner")


def read_json(folder: Path, name: str) -> Any:
    """Read a JSON file of the folder."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise not_a_saved_learner(folder, f"{name} that cannot be read: {reason}"[:200], error) from error


def read_array(folder: Path, name: str) -> Array:
    """Read an array of numbers of the folder. The size of the file limits it, whatever its header says."""
    if not re.fullmatch(r"[a-z]+(-\d{1,6})?\.npy", name):
        raise not_a_saved_learner(folder, f"an array named {name!r}")
    try:
        mapped = np.load(folder / name, mmap_mode="r", allow_pickle=False)
        rows = np.array(mapped)
    except BAD_ARRAYS as error:
        raise not_a_saved_learner(folder, f"{name}, which is damaged: {str(error)[:100]}", error) from error
    if rows.dtype.kind not in "fiub" or rows.ndim == 0:
        raise not_a_saved_learner(folder, f"{name} with dtype {rows.dtype} and {rows.ndim} axes")
    return rows
