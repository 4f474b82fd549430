"""Which encoding a text file is in: found from its first bytes and proved on all of them, or refused."""

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
def opened_text(path: Path, asked: str | None = None, newline: str | None = "") -> Iterator[IO[str]]:
    """A text file in the encoding that `encoding_of` finds; what cannot be read while it is open is refused."""
    try:
        with path.open(encoding=encoding_of(path, asked), newline=newline) as file:
            yield file
    except BempsError:
        raise
    except UnicodeError as error:  # of an encoding that depends on where a piece begins
        fix = hint("Pass another {}.", "encoding") or "Save it as UTF-8."
        raise InputError(str(path), expected="text", got=str(error), fix=fix) from error
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(str(path), expected="a file that can be read", got=got, fix="Check the file.") from error


def encoding_of(path: Path, asked: str | None = None) -> str:
    """The encoding of a whole file: `asked`, else by its byte-order mark, else UTF-8; refused if it does not fit."""
    if not path.stat().st_size:
        raise InputError(str(path), expected="a file with rows", got="an empty file", fix="Is it the right file?")
    encoding = _known(path, asked) if asked else _marked(path)
    _refuse_undecodable(path, encoding, found=asked is None)
    return encoding


def _known(path: Path, asked: str) -> str:
    try:
        "a".encode(asked)  # refuses what makes no text of bytes, or is no encoding at all: rot13, zlib, undefined
        codecs.getincrementaldecoder(asked)
        return codecs.lookup(asked).name
    except (LookupError, ValueError):
        raise InputError(
            f"encoding of {path}",
            expected="the name of an encoding, such as utf-8, cp1252, latin-1 or utf-16",
            got=repr(asked),
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


def _refuse_undecodable(path: Path, encoding: str, *, found: bool) -> None:
    """Decodes the whole file piece by piece; a failure is reported with its offset in the file."""
    decoder = codecs.getincrementaldecoder(encoding)()
    start = 0
    with path.open("rb") as file:
        while True:
            piece = file.read(CHUNK)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as failure:
                carried = len(failure.object) - len(piece)  # bytes of a character begun in the piece before
                raise _undecodable(path, encoding, start - carried + failure.start, failure, found) from None
            if not piece:
                return
            start += len(piece)


def _undecodable(path: Path, encoding: str, offset: int, failure: UnicodeDecodeError, found: bool) -> InputError:
    fix = (
        hint("Pass the encoding it was written in, for example {} (Windows, Western Europe), or ", "encoding", "cp1252")
        + "save it as UTF-8."
        if found
        else hint("Pass another {}, or leave it out to have it found.", "encoding")
    )
    byte = failure.object[failure.start] if failure.start < len(failure.object) else 0
    return InputError(
        str(path),
        expected=f"text in {encoding}",
        got=f"byte 0x{byte:02x} at offset {offset:,} ({failure.reason})",
        fix=fix,
    )
