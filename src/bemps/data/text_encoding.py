"""The encoding of a text file: detected from its first bytes, and checked on all of them."""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bemps.errors import BempsError, InputError, hint

CHUNK = 1 << 20
MARKS = (  # the longer mark first: that of UTF-32 LE begins with that of UTF-16 LE
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@contextmanager
def opened_text(path: Path, encoding: str | None = None, newline: str | None = "") -> Iterator[IO[str]]:
    """Open a text file. Errors while it is read become an InputError.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        The encoding. None: it is detected (`encoding_of`).
    newline : str, optional
        As for `open`.
    """
    try:
        with path.open(encoding=encoding_of(path, encoding), newline=newline) as file:
            yield file
    except BempsError:
        raise
    except UnicodeError as error:  # of an encoding that depends on where a piece begins
        fix = hint("Pass another {}.", "encoding") or "Save it as UTF-8."
        raise InputError(str(path), expected="text", got=str(error), fix=fix) from error
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(str(path), expected="a file that can be read", got=got, fix="Check the file.") from error


def encoding_of(path: Path, encoding: str | None = None) -> str:
    """The encoding of a file: `encoding`, or by its byte-order mark, or UTF-8. It is refused if it does not fit."""
    if not path.stat().st_size:
        raise InputError(str(path), expected="a file with rows", got="an empty file", fix="Is it the right file?")
    name = _known(path, encoding) if encoding else _marked(path)
    _refuse_undecodable(path, name, detected=encoding is None)
    return name


def _known(path: Path, encoding: str) -> str:
    try:
        "a".encode(encoding)  # refuses codecs that are no text encodings: rot13, zlib, undefined
        codecs.getincrementaldecoder(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"encoding of {path}",
            expected="the name of an encoding, such as utf-8, cp1252, latin-1 or utf-16",
            got=repr(encoding),
            fix=hint("Correct {}.", "encoding"),
        ) from None


def _marked(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    if 0 in head:
        raise InputError(
            str(path),
            expected="a text file",
            got=f"a zero byte at offset {head.index(0)}: a binary file, or UTF-16 without its mark",
            fix="Export it as CSV in UTF-8" + hint(", or pass {}", "encoding", "utf-16-le") + ".",
        )
    return "utf-8"


def _refuse_undecodable(path: Path, encoding: str, *, detected: bool) -> None:
    """Decode the full file piece by piece; a failure is reported with its offset in the file."""
    decoder = codecs.getincrementaldecoder(encoding)()
    start = 0
    with path.open("rb") as file:
        while True:
            piece = file.read(CHUNK)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as failure:
                carried = len(failure.object) - len(piece)  # bytes of a character begun in the piece before
                raise _undecodable(path, encoding, start - carried + failure.start, failure, detected) from None
            if not piece:
                return
            start += len(piece)


def _undecodable(path: Path, encoding: str, offset: int, failure: UnicodeDecodeError, detected: bool) -> InputError:
    fix = (
        hint("Pass the encoding it was written in, for example {} (Windows, Western Europe), or ", "encoding", "cp1252")
        + "save it as UTF-8."
        if detected
        else hint("Pass another {}, or leave it out: bemps then finds it.", "encoding")
    )
    byte = failure.object[failure.start] if failure.start < len(failure.object) else 0
    return InputError(
        str(path),
        expected=f"text in {encoding}",
        got=f"byte 0x{byte:02x} at offset {offset:,} ({failure.reason})",
        fix=fix,
    )
