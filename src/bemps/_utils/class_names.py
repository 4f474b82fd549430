"""Names of classes, and labels: Unicode writes one name in several ways, which people cannot tell apart."""

import unicodedata
from collections.abc import Collection


def class_name(name: str) -> str:
    """A name in the one form in which bemps keeps it: composed characters (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def known_name(name: str, known: Collection[str]) -> str:
    """The known name that reads like this one, as earlier releases kept names as they came; else its one form."""
    if name in known:
        return name
    composed = class_name(name)
    return next((other for other in known if class_name(other) == composed), composed)


def clash_key(name: str) -> str:
    """The same for names that people would confuse: also in other case."""
    return class_name(class_name(name).casefold())
