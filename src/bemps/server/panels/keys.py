"""Which keys give which class: shown on the buttons, never a command, never two classes, never changed by themselves.

A class gets its keys once; they are kept in the project's log. A class that comes later takes what is free.

named by a digit    that digit ("0", "3", "1 star")
the first ten       the digit of their place, and where one is free an initial of the name
up to 22 classes    after the digits a letter: an initial, one of the name, any
more                after the digits two keys in a row, from the name where that is free
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from bemps.errors import InputError

COMMANDS: Mapping[str, str] = {
    "u": "undo",
    "r": "redo",
    "s": "skip",
    "x": "unsure",
    ".": "ask me later",
    "n": "note",
    "w": "why this item",
    "g": "the model's guess",
    "p": "progress",
    "l": "labelled items",
    "i": "guidelines",
    "z": "zoom an image",
    "/": "find a class by name",
    "?": "all keys",
}
DIGITS = "1234567890"
LETTERS = "".join(letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in COMMANDS)
SINGLES = DIGITS + LETTERS
SECOND = "abcdefghijklmnopqrstuvwxyz0123456789"
RESERVE = 3  # letters that always stay free to begin a pair, so that a further class can have keys too
MOST_SINGLES = len(SINGLES) - RESERVE
OWN_DIGIT = re.compile(r"\d(?![\w.,])", re.ASCII)


def assign(names: Sequence[str], recorded: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Give keys to the classes that have none.

    Parameters
    ----------
    names : sequence of str
        All classes, in their order.
    recorded : mapping of str to str, optional
        The keys that classes have already, separated by spaces. They stay as they are.

    Returns
    -------
    dict
        The keys of every class, the one to show first. A key of two characters means one after the other. A class has
        no key where none is free.
    """
    keys = {name: tuple(own.split()) for name, own in (recorded or {}).items() if name in names and own}
    new = [name for name in names if name not in keys]
    digits = {name: DIGITS[row] for row, name in enumerate(names[: len(DIGITS)])}
    for name in new:
        _give(keys, name, name[0] if OWN_DIGIT.match(name) else "")
    for name in new:
        _give(keys, name, digits.get(name, ""))
    for name in new:
        _give(keys, name, _candidates(name, len(names), name in digits))
    if len(names) <= len(DIGITS):
        for name in new:
            keys[name] += tuple(key for key in _initials(name) if _is_free(key, _used(keys)))[:1]
    return {name: keys.get(name, ()) for name in names}


def own_digits(names: Sequence[str]) -> bool:
    """Whether any class is named by a digit."""
    return any(OWN_DIGIT.match(name) for name in names)


def check_key(key: str, name: str, keys: Mapping[str, Sequence[str]]) -> str:
    """Check the key that a person chose for a class.

    Parameters
    ----------
    key : str
        The key.
    name : str
        The class.
    keys : mapping of str to sequence of str
        The keys of all classes.

    Returns
    -------
    str
        The key as one lower-case letter or digit.

    Raises
    ------
    InputError
        If the key is not one letter or digit, or belongs to a command or another class.
    """
    key = key.strip().lower()
    if len(key) != 1 or key not in SINGLES:
        taken = f"{key!r}, the key of the page for {COMMANDS[key]!r}" if key in COMMANDS else repr(key)
        expected = f"one of {' '.join(SINGLES)}"
        raise InputError(f"key of {name!r:.60}", expected=expected, got=taken, fix="Choose another key.")
    other = next((owner for owner, own in keys.items() if owner != name and key in {k[0] for k in own}), None)
    if other is not None:
        got = f"{key!r}, which is {other!r}"
        raise InputError(f"key of {name!r:.60}", expected="a key that is free", got=got, fix="Choose another.")
    return key


def checked_file_keys(keys: Mapping[str, str | None]) -> dict[str, str | None]:
    """Check the keys of a class file, by class: a letter or digit, or two that are pressed one after the other."""
    tidy = {name: key.strip().lower() if key else None for name, key in keys.items()}
    pairs = {key[0]: name for name, key in tidy.items() if key is not None and _is_pair(key)}
    for name, key in tidy.items():
        if key is None or _is_pair(key):
            continue
        check_key(key, name, {})
        if key in pairs:
            got = f"{key!r} begins the keys of {pairs[key]!r}"
            raise InputError(f"key of {name!r}", expected="a key that is free", got=got, fix="Choose another.")
    return tidy


def _is_pair(key: str) -> bool:
    return len(key) == 2 and key[0] in LETTERS and key[1] in SECOND


def _give(keys: dict[str, tuple[str, ...]], name: str, candidates: Sequence[str] | Iterator[str]) -> None:
    """The first of the candidates that is free, to a class without a key."""
    if name not in keys:
        used = _used(keys)
        if free := next((key for key in candidates if _is_free(key, used)), ""):
            keys[name] = (free,)


def _used(keys: Mapping[str, Sequence[str]]) -> set[str]:
    return {key for own in keys.values() for key in own}


def _is_free(key: str, used: set[str]) -> bool:
    if len(key) == 2:
        return key not in used and key[0] not in used
    if key in LETTERS and sum(letter not in used for letter in LETTERS) <= RESERVE:
        return False
    return key not in {other[0] for other in used}


def _candidates(name: str, classes: int, early: bool) -> Iterator[str]:
    """Keys for a class that could not have the digit of its place, the best first."""
    letters = [letter for letter in name.lower() if letter in LETTERS]
    singles = chain(_initials(name), letters, LETTERS) if classes <= MOST_SINGLES else ()
    return chain(DIGITS if early else "", singles, DIGITS, _pairs(name.lower()))


def _initials(name: str) -> list[str]:
    return [word[0] for word in re.findall(r"\w+", name.lower()) if word[0] in LETTERS]


def _pairs(name: str) -> Iterator[str]:
    """Two different letters of the name in their order, from the start of a word where that can be; else any two."""
    letters = [(at, letter) for at, letter in enumerate(name) if letter in SECOND]
    begins = {match.start() for match in re.finditer(r"\w+", name)}
    firsts = sorted((at not in begins, at, letter) for at, letter in letters if letter in LETTERS)
    for _, at, first in firsts:
        yield from (first + second for later, second in letters if later > at and second != first)
    yield from (first + second for _, _, first in firsts for second in SECOND)
    yield from (first + second for first in LETTERS for second in SECOND)
