"""Which keys give which class: shown on the buttons, never a command, never two classes.

Up to 9 classes    a digit each, and a letter of the name where one is free
10 to 25           digits, then letters
more               digits for the first nine, two keys in a row for the others
A key that a person chose comes before all of these.
"""

from collections.abc import Mapping, Sequence

from bemps.errors import InputError

COMMANDS: Mapping[str, str] = {
    "u": "undo",
    "r": "redo",
    "s": "skip",
    "x": "unsure",
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
DIGITS = "123456789"
LETTERS = "".join(letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in COMMANDS)
SINGLES = DIGITS + "0" + LETTERS


def assign(names: Sequence[str], chosen: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """The keys of every class, the one to show first. A key of two characters means one after the other."""
    wanted = {name: key for name, key in (chosen or {}).items() if name in names and key}
    taken = set(wanted.values())
    if len(names) <= len(DIGITS):
        return _digits_and_letters(names, wanted, taken)
    if len(names) <= len(SINGLES):
        return _singles(names, wanted, taken)
    return _pairs(names, wanted, taken)


def check_key(key: str, name: str, keys: Mapping[str, Sequence[str]]) -> str:
    """A key that a person chose for a class: one letter or digit that is neither a command nor another class's."""
    key = key.strip().lower()
    if len(key) != 1 or key not in SINGLES:
        taken = f"{key!r} is {COMMANDS[key]}" if key in COMMANDS else repr(key)
        raise InputError("key", expected=f"one of {' '.join(SINGLES)}", got=taken, fix="Choose another key.")
    other = next((owner for owner, own in keys.items() if owner != name and key in {k[0] for k in own}), None)
    if other is not None:
        raise InputError(
            "key", expected="a key that is free", got=f"{key!r}, which is {other!r}", fix="Choose another."
        )
    return key


def _digits_and_letters(names: Sequence[str], wanted: Mapping[str, str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    digits = [digit for digit in DIGITS if digit not in taken]
    letters = set(LETTERS) - taken
    for place, name in enumerate(names):
        if name in wanted:
            keys[name] = (wanted[name],)
            continue
        digit = DIGITS[place] if DIGITS[place] in digits else digits[-1]
        letter = next((c for c in name.lower() if c in letters), "")
        digits.remove(digit)
        letters.discard(letter)
        keys[name] = (digit, letter) if letter else (digit,)
    return keys


def _singles(names: Sequence[str], wanted: Mapping[str, str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    free = [key for key in SINGLES if key not in taken]
    keys: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in wanted:
            keys[name] = (wanted[name],)
            continue
        own = next((key for key in free if key in DIGITS), None)
        own = own or next((c for c in name.lower() if c in free), None) or free[0]
        free.remove(own)
        keys[name] = (own,)
    return keys


def _pairs(names: Sequence[str], wanted: Mapping[str, str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """Digits for the first, then two letters: no letter is both a class of its own and the start of another."""
    digits = [digit for digit in DIGITS if digit not in taken]
    firsts = [letter for letter in LETTERS if letter not in taken]
    used: set[str] = set()
    keys: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in wanted:
            keys[name] = (wanted[name],)
        elif digits:
            keys[name] = (digits.pop(0),)
        else:
            keys[name] = (_pair(name.lower(), firsts, used),)
            used.add(keys[name][0])
    return keys


def _pair(name: str, firsts: Sequence[str], used: set[str]) -> str:
    """Two letters that remind of the name: from it, in order, where they are free; else any."""
    start = [letter for letter in name if letter in firsts]
    then = [letter for letter in name if letter.isascii() and letter.isalpha()]
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    tries = (a + b for first in (start, firsts) for second in (then[1:], alphabet) for a in first for b in second)
    found = next((pair for pair in tries if pair not in used), None)
    if found is None:
        raise InputError(
            "classes", expected=f"at most {len(firsts) * len(alphabet)}", got="more", fix="Merge some of them."
        )
    return found
