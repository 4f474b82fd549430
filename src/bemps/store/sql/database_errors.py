"""Errors of a project's disk or server, each with a sentence that says what to do."""

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
    "22P02": ("a damaged row", "Restore a copy."),
    "SQLITE_CORRUPT": ("a damaged file", RESTORE),
}


class NotSaved(InputError):
    """A change could not be written. Nothing of it was acknowledged, and the project is as it was before."""


class NotRead(InputError):
    """The project could not be read."""


def damaged(what: str, expected: str, got: object) -> NotRead:
    """The error for content of a project that bemps cannot have written.

    Parameters
    ----------
    what : str
        The part that is damaged.
    expected : str
        What it should be.
    got : object
        What it is.

    Returns
    -------
    NotRead
        The error.
    """
    return NotRead(f"damaged project: {what}", expected=expected, got=f"{got!r:.100}", fix=RESTORE)


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Turn errors of the database into `NotSaved`."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        got, fix = cause(error)
        raise NotSaved("not saved", expected=f"to write to {name}", got=got, fix=fix) from error


@contextmanager
def read_errors(name: str) -> Iterator[None]:
    """Turn errors of the database into `NotRead`."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        got, fix = cause(error)
        fix = fix.removesuffix(AGAIN).rstrip() or "Try again."  # nothing was sent that could be recorded
        raise NotRead(f"project {name}", expected="to read it", got=got, fix=fix) from error


def cause(error: SQLAlchemyError | UnicodeDecodeError) -> tuple[str, str]:
    """Return the cause of an error in words, and what to do."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what it cannot read
        return CAUSES["SQLITE_CORRUPT"]
    code = error_code(error)
    for known, words in CAUSES.items():
        if code.startswith(known):
            return words
    lines = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
    return f"{lines[0] if lines else type(error).__name__}", "Check that the database is running. " + AGAIN


def error_code(error: SQLAlchemyError) -> str:
    """Return SQLite's name of an error, or PostgreSQL's SQLSTATE; empty if it has none."""
    original = error.orig if isinstance(error, DBAPIError) else None
    return str(getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or "")
