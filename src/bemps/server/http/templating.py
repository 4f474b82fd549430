"""HTML from the templates: everything escaped, nothing fetched from elsewhere."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bemps.server.http.annotator_names import LONGEST
from bemps.store.events import SKIP, Answer
from bemps.store.validation import LONGEST_NOTE

HERE = Path(__file__).parents[1]  # templates and static files stand beside the package `http`
STATIC, TEMPLATES = HERE / "static", HERE / "templates"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "thousands": thousands, "short": short, "ago": ago, "excerpt": excerpt}
    environment.filters["answered"] = answered
    environment.tests["contains"] = contains
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}  # as replies have it: the page compares the two
    environment.globals["lengths"] = {"note": LONGEST_NOTE, "person": LONGEST}
    return environment


def render(template: str, **values: Any) -> str:
    """Fill in a template of the `templates` folder."""
    text: str = _environment().get_template(template).render(**values)
    return text


def answered(answer: Answer) -> str:
    """Return what somebody said of an item, in words."""
    return answer.label or {SKIP: "skipped"}.get(answer.kind, answer.kind)


def percent(share: float, digits: int = 0) -> str:
    """Return a share as a percentage, such as `93 %`."""
    return f"{100 * share:.{digits}f} %"


def thousands(number: int) -> str:
    """Return a number with commas between the thousands."""
    return f"{number:,}"


def short(text: str, length: int = 160) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def excerpt(text: str, needle: str = "", length: int = 160) -> list[str]:
    """Return the part of a text around the first occurrence of another text, on one line.

    Parameters
    ----------
    text : str
        The text.
    needle : str
        The text to search for, without regard to case. Empty takes the beginning.
    length : int
        The length of the excerpt in characters.

    Returns
    -------
    list of str
        The excerpt in pieces. Every second piece is an occurrence of `needle`.
    """
    line, words = " ".join(text.split()), " ".join(needle.split())
    hit = re.search(re.escape(words), line, re.IGNORECASE) if words else None
    if hit is None:
        return [short(line, length)]
    start = max(0, hit.start() - length // 3) if hit.end() > length else 0
    part = ("…" if start else "") + short(line[start:], length)
    return re.split(f"({re.escape(words)})", part, flags=re.IGNORECASE)


def contains(text: str, needle: str) -> bool:
    """Return whether a text contains another one that is not empty, without regard to case and white space."""
    words = " ".join(needle.split()).casefold()
    return bool(words) and words in " ".join(text.split()).casefold()


def ago(seconds: float) -> str:
    """Return a duration in words."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
