"""NumPy files of other origin: read without pickle, with a clear error for damaged files."""

import csv
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np

from bemps.data.text_encoding import opened_text
from bemps.errors import InputError
from bemps.types import Array

MAGIC = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # .npy; .npz; .npz without an array
TABLES = {".csv": ",", ".tsv": "\t"}  # text files of several columns, with what is between them
DAMAGE = (
    *(OSError, ValueError, EOFError, BadZipFile, zlib.error),
    *(TokenError, SyntaxError, TypeError, KeyError),  # a header that is no dictionary of the three known keys
    *(MemoryError, OverflowError, RecursionError),  # a header that promises more than there is
    *(RuntimeError, NotImplementedError),  # a .npz that is encrypted, or packed in another way
)


def read_arrays(path: Path, what: str, *, on_disk: bool = False) -> Array | dict[str, Array]:
    """Read the array of a .npy file, or the arrays of a .npz file by name.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        The name of the file in messages: an option, an argument, or a path.
    on_disk : bool
        Whether a .npy file stays on the disk and is read as it is used.

    Returns
    -------
    array or dict of str to array
        The array, or the arrays by name.

    Raises
    ------
    InputError
        The file does not exist, is of another kind, or is damaged.
    """
    try:
        with path.open("rb") as file:
            if not file.read(6).startswith(MAGIC):
                raise _unreadable(what, f"{path}, which is neither")
            file.seek(0)
            if on_disk and path.suffix == ".npy":
                return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            arrays = {name: loaded[name] for name in loaded.files}
            others = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
            if others:  # a member without the mark of an array comes back as its bytes
                raise _unreadable(what, f"{path}: {others[0]!r} in it is no array")
            return arrays
    except InputError:
        raise
    except DAMAGE as error:
        reason = "arrays of Python objects, which could run code" if "pickle" in str(error) else _reason(error)
        raise _unreadable(what, f"{path}: {reason}") from error


def save_array(path: Path, array: Array) -> None:
    """Write a .npy file. A failure raises the error of the system, which NumPy would hide."""
    rows = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(rows))
        file.write(rows.reshape(-1).view(np.uint8).data)


def read_ids(path: Path, what: str) -> tuple[str, ...]:
    """Read ids of items: a .npy file, a table with a column id, or a text file with one id a line.

    Blank lines are skipped. An empty file has no ids.
    """
    if path.suffix.lower() in TABLES:
        return _id_column(path, TABLES[path.suffix.lower()])
    if path.suffix.lower() != ".npy":
        return tuple(name for line in _lines(path) if (name := line.strip()))
    names = read_arrays(path, what)
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind not in "Uiu":
        got = "something else" if not isinstance(names, np.ndarray) else f"shape {names.shape}, dtype {names.dtype}"
        raise InputError(
            what, expected="texts, shape (N,)", got=got, fix="Save np.asarray(ids, dtype=str) with np.save."
        )
    return tuple(map(str, names.tolist()))


def _lines(path: Path) -> Iterator[str]:
    if path.is_file() and not path.stat().st_size:
        return
    with opened_text(path) as file:
        yield from file


def _id_column(path: Path, delimiter: str) -> tuple[str, ...]:
    """The column id; of a table of one column that one, with or without a header."""
    try:
        rows = [row for row in csv.reader(_lines(path), delimiter=delimiter) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(str(path), expected="a table", got=str(error), fix="Save it again as CSV.") from error
    header = [cell.strip().casefold() for cell in rows[0]] if rows else []
    if "id" not in header and any(len(row) > 1 for row in rows):
        fix = "Name the column of ids id."
        raise InputError(str(path), expected="a column id", got=", ".join(header)[:80], fix=fix)
    column = header.index("id") if "id" in header else 0
    return tuple(row[column] for row in rows["id" in header :] if len(row) > column)


def check_ids(ids: Sequence[str], size: int, what: str) -> None:
    """Refuse ids unless there is a different one for each item.

    Parameters
    ----------
    ids : sequence of str
        The ids.
    size : int
        The number of items.
    what : str
        The name of the ids in messages.

    Raises
    ------
    InputError
        There are too few, too many, or equal ids.
    """
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
