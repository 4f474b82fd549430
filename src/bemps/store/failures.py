"""What can go wrong between a project and its disk or server, in one sentence each."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bemps.errors import InputError

FREE = "Free some space and send it again."
AGAIN = "Send it again: with the same request id it is recorded once."
RESTORE = "Restore a copy; `sqlite3 FILE .recover` may save the rest."
CAUSES = {  # SQLite's error names, and PostgreSQL's SQLSTATE
    "SQLITE_FULL": ("the disk is full", FREE),
    "53100": ("the server's disk is full", FREE),
    "SQLITE_IOERR": ("the disk refuses to write", "Check the space, the quota and the disk, and send it again."),
    "SQLITE_READONLY": ("the file may only be read", "Give yourself the right to write the file and its folder."),
    "SQLITE_CANTOPEN": ("the file cannot be opened", "Check the folder and its rights."),
    "SQLITE_BUSY": ("another process has been writing for too long", AGAIN),
    "55P03": ("another process has been writing for too long", AGAIN),
    "SQLITE_NOTADB": ("a file that is no SQLite database", "Check the path."),
    "SQLITE_CORRUPT": ("a damaged file", RESTORE),
}


class NotSaved(InputError):
    """Something could not be written. Nothing of it was acknowledged, and what was there before is untouched."""


class NotRead(InputError):
    """The project could not be read."""


def damaged(what: str, expected: str, got: object) -> NotRead:
    """The error for a project that holds what bemps cannot have written."""
    return NotRead(f"damaged project: {what}", expected=expected, got=f"{got!r:.100}", fix=RESTORE)


@contextmanager
def writing(place: str) -> Iterator[None]:
    """Failures of the database while something is written, in plain words."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        got, fix = cause(error)
        raise NotSaved("not saved", expected=f"to write to {place}", got=got, fix=fix) from error


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Failures of the database while something is read, in plain words."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        got, fix = cause(error)
        raise NotRead(f"project {place}", expected="to read it", got=got, fix=fix) from error


def cause(error: SQLAlchemyError | UnicodeDecodeError) -> tuple[str, str]:
    """What happened and what to do."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what it cannot read
        return CAUSES["SQLITE_CORRUPT"]
    code = _code(error)
    for known, words in CAUSES.items():
        if code.startswith(known):
            return words
    told = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
    return f"{told[0] if told else type(error).__name__}", "Check that the database is running. " + AGAIN


def _code(error: SQLAlchemyError) -> str:
    original = error.orig if isinstance(error, DBAPIError) else None
    return str(getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or "")
