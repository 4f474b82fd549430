"""Words that the page highlights, as a project stores them: `refund`, `refund*`, or `refund = billing` for a class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LONGEST, MOST = 200, 1_000  # characters of a word, lines
OF_CLASS = " = "  # between a word and the name of its class
ANY_END = "*"  # the word may go on


@dataclass(frozen=True)
class Keyword:
    """A word to highlight.

    Attributes
    ----------
    word : str
        The word, or several, as they stand in the texts.
    class_name : str or None
        The class that the word speaks for.
    is_prefix : bool
        Whether longer words that begin with it are highlighted too.
    """

    word: str
    class_name: str | None = None
    is_prefix: bool = False


def parse_keyword(line: str) -> Keyword:
    """Read a line: a word, `*` behind it for longer words too, ` = ` and the name of a class."""
    word, _, class_name = line.partition(OF_CLASS)
    word = " ".join(word.split())
    is_prefix = len(word) > 1 and word.endswith(ANY_END)
    return Keyword(word.removesuffix(ANY_END).strip() if is_prefix else word, class_name.strip() or None, is_prefix)


def parse_keywords(lines: Sequence[str]) -> list[Keyword]:
    """Read all lines. Empty ones are left out."""
    return [keyword for keyword in map(parse_keyword, lines) if keyword.word]


def with_renamed_class(line: str, old: str, new: str) -> str:
    """Return a line with the new name of its class."""
    word, between, name = line.partition(OF_CLASS)
    return f"{word}{between}{new}" if name.strip() == old else line


def are_keywords(value: Any) -> bool:
    """Return whether a value is a list of lines that can be stored."""
    return (
        isinstance(value, list)
        and len(value) <= MOST
        and all(isinstance(line, str) and len(line.partition(OF_CLASS)[0]) <= LONGEST for line in value)
    )
