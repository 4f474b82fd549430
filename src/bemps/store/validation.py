"""Checks of names and texts: both databases must store and return them unchanged."""

from datetime import UTC, datetime, timedelta

from bemps.errors import InputError, unknown_name

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_NAME = 500
LONGEST_ID = LONGEST_NAME  # the page takes no longer id: such an item could never be answered
LONGEST_NOTE = 10_000


def text(value: str, what: str) -> str:
    """Check a text. NUL characters and halves of surrogate pairs are refused."""
    if "\0" in value:
        raise InputError(what, expected="text", got=f"a NUL character in {value[:60]!r}", fix="Remove it.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        got = f"half of a surrogate pair in {value[:60]!r}"
        raise InputError(what, expected="valid Unicode", got=got, fix="Remove it.") from error
    return value


def name(value: str, what: str) -> str:
    """Check the name of a person or class: one line, not blank, no space around it."""
    text(value, what)
    if not value or value != value.strip() or not value.isprintable() or len(value) > LONGEST_NAME:
        raise InputError(
            what,
            expected=f"1 to {LONGEST_NAME} characters on one line, no space around them",
            got=repr(value[:60]),
            fix="Choose another name.",
        )
    return value


def identifier(value: str, what: str) -> str:
    """Check the id of an item or request: not empty, and not too long."""
    text(value, what)
    if not 0 < len(value) <= LONGEST_ID:
        got = f"{len(value):,}: {value[:40]!r} ..." if value else "none"
        fix = "Give shorter ids, or leave them out: ids are then content hashes." if value else "Give every one an id."
        raise InputError(what, expected=f"1 to {LONGEST_ID} characters", got=got, fix=fix)
    return value


def note(value: str | None) -> str | None:
    """Check a note."""
    if value is not None and len(text(value, "note")) > LONGEST_NOTE:
        got = f"{len(value):,} characters"
        raise InputError("note", expected=f"at most {LONGEST_NOTE:,} characters", got=got, fix="Shorten it.")
    return value


def one_of(value: str, valid: tuple[str, ...], what: str) -> str:
    """Check that a value is one of the valid ones.

    Parameters
    ----------
    value : str
        The value.
    valid : tuple of str
        The valid values.
    what : str
        The name of the value in messages.

    Returns
    -------
    str
        The value.
    """
    if value not in valid:
        raise unknown_name(what, value, valid)
    return value


def microseconds(moment: datetime) -> int:
    """Convert a time with a zone to microseconds since 1970."""
    if moment.tzinfo is None:
        raise InputError("time", expected="a time with its zone", got=str(moment), fix="Use datetime.now(UTC).")
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """Convert microseconds since 1970 to a time."""
    return EPOCH + timedelta(microseconds=microseconds)
