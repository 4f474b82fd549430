"""NumPy files that somebody else wrote: never unpickled, and any damage told in a sentence."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np

from bemps.data.encoding import opened_text
from bemps.errors import InputError
from bemps.types import Array

MAGIC = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # .npy; .npz; .npz without an array
DAMAGE = (
    *(OSError, ValueError, EOFError, BadZipFile, zlib.error),
    *(TokenError, SyntaxError, TypeError, KeyError),  # a header that is no dictionary of the three known keys
    *(MemoryError, OverflowError, RecursionError),  # a header that promises more than there is
    *(RuntimeError, NotImplementedError),  # a .npz that is encrypted, or packed in another way
)


def read_arrays(path: Path, what: str, *, on_disk: bool = False) -> Array | dict[str, Array]:
    """The array of a .npy file, or the arrays of a .npz file by name.

    Parameters
    ----------
    path
        The file.
    what
        What messages call it: an option, an argument, or the file's name.
    on_disk
        Whether a .npy file stays on the disk and is read as it is used.

    Raises
    ------
    InputError
        When the file is not there, is of another kind, or is damaged.
    """
    try:
        with path.open("rb") as file:
            if not file.read(6).startswith(MAGIC):
                raise _unreadable(what, f"{path}, which is neither")
            file.seek(0)
            if on_disk and path.suffix == ".npy":
                return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except InputError:
        raise
    except DAMAGE as error:
        reason = "arrays of Python objects, which could run code" if "pickle" in str(error) else _reason(error)
        raise _unreadable(what, f"{path}: {reason}") from error


def save_array(path: Path, array: Array) -> None:
    """Write a .npy file, with the system's own error where that fails: NumPy would only count the bytes."""
    rows = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(rows))
        file.write(rows.reshape(-1).view(np.uint8).data)


def read_ids(path: Path, what: str) -> tuple[str, ...]:
    """Names of items: a .npy file of texts or whole numbers, or a text file of one name a line."""
    if path.suffix.lower() != ".npy":
        with opened_text(path, newline=None) as file:
            return tuple(line.rstrip("\n") for line in file)
    names = read_arrays(path, what)
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind not in "Uiu":
        got = "something else" if not isinstance(names, np.ndarray) else f"shape {names.shape}, dtype {names.dtype}"
        raise InputError(
            what, expected="texts, shape (N,)", got=got, fix="Save np.asarray(ids, dtype=str) with np.save."
        )
    return tuple(map(str, names.tolist()))


def check_ids(ids: Sequence[str], size: int, what: str) -> None:
    """Refuse names that are not one for each item, all different."""
    different = len(set(ids))
    if different != size or len(ids) != size:
        raise InputError(
            what,
            expected=f"{size} different ids, one for each item of probs",
            got=f"{len(ids)}, {different} of them different",
            fix="Ids are stable and unique: one for each column of items.",
        )


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__


def _unreadable(what: str, got: str) -> InputError:
    fix = "Check the path, and save arrays of numbers (ids as dtype=str) with np.save or np.savez."
    return InputError(what, expected="a .npy or .npz file", got=got, fix=fix)
