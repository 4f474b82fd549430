"""The keys that classes had before keys were kept in the log: from the names alone, each time anew.

A project that was labelled then gets these recorded at its next start, so that nobody has to learn others.

Up to 9 classes    a digit each, and a letter of the name where one is free
10 to 25           digits, then letters
more               digits for the first nine, two keys in a row for the others
A key that a person chose comes before all of these.
"""

from collections.abc import Mapping, Sequence

from bemps.server.panels.keys import LETTERS, SECOND

DIGITS = "123456789"
SINGLES = DIGITS + "0" + LETTERS


def earlier_keys(names: Sequence[str], picked: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The keys of every class, as they were shown; `picked` are those that people had set."""
    own_key = {name: key for name, key in picked.items() if name in names and key}
    taken = set(own_key.values())
    if len(names) <= len(DIGITS):
        return _digits_and_letters(names, own_key, taken)
    if len(names) <= len(SINGLES):
        return _singles(names, own_key, taken)
    return _pairs(names, own_key, taken)


def _digits_and_letters(
    names: Sequence[str], own_key: Mapping[str, str], taken: set[str]
) -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    digits = [digit for digit in DIGITS if digit not in taken]
    letters = set(LETTERS) - taken
    for row, name in enumerate(names):
        if name in own_key:
            keys[name] = (own_key[name],)
            continue
        digit = DIGITS[row] if DIGITS[row] in digits else digits[-1]
        letter = next((c for c in name.lower() if c in letters), "")
        digits.remove(digit)
        letters.discard(letter)
        keys[name] = (digit, letter) if letter else (digit,)
    return keys


def _singles(names: Sequence[str], own_key: Mapping[str, str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    free = [key for key in SINGLES if key not in taken]
    keys: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in own_key:
            keys[name] = (own_key[name],)
            continue
        own = next((key for key in free if key in DIGITS), None)
        own = own or next((c for c in name.lower() if c in free), None) or free[0]
        free.remove(own)
        keys[name] = (own,)
    return keys


def _pairs(names: Sequence[str], own_key: Mapping[str, str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """Digits for the first, then two letters: no letter is both a class of its own and the start of another."""
    digits = [digit for digit in DIGITS if digit not in taken]
    firsts = [letter for letter in LETTERS if letter not in taken]
    used: set[str] = set()
    keys: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in own_key:
            keys[name] = (own_key[name],)
        elif digits:
            keys[name] = (digits.pop(0),)
        else:
            keys[name] = (_pair(name.lower(), firsts, used),)
            used.add(keys[name][0])
    return keys


def _pair(name: str, firsts: Sequence[str], used: set[str]) -> str:
    """Two letters that remind of the name: from it, where they are free; else any; none where all are used."""
    start = [letter for letter in name if letter in firsts]
    then = [letter for letter in name if letter.isascii() and letter.isalpha()]
    tries = (a + b for first in (start, firsts) for second in (then[1:], SECOND) for a in first for b in second)
    return next((pair for pair in tries if pair not in used), "")
