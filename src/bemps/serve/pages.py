"""HTML from the templates: everything escaped, nothing fetched from elsewhere."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bemps.serve.people import LONGEST
from bemps.store.checked import LONGEST_NAME, LONGEST_NOTE

HERE = Path(__file__).parent
STATIC, TEMPLATES = HERE / "static", HERE / "templates"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "thousands": thousands, "short": short, "ago": ago, "excerpt": excerpt}
    made.globals["lengths"] = {"name": LONGEST_NAME, "note": LONGEST_NOTE, "person": LONGEST}
    return made


def render(template: str, **values: Any) -> str:
    """A template of the `templates` folder, filled in."""
    text: str = _environment().get_template(template).render(**values)
    return text


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def thousands(number: int) -> str:
    return f"{number:,}"


def short(text: str, length: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def excerpt(text: str, needle: str = "", length: int = 160) -> list[str]:
    """The part of a text around the first occurrence of another, on one line, in pieces: every second is a hit."""
    line, words = " ".join(text.split()), " ".join(needle.split())
    hit = re.search(re.escape(words), line, re.IGNORECASE) if words else None
    if hit is None:
        return [short(line, length)]
    start = max(0, hit.start() - length // 3) if hit.end() > length else 0
    part = ("…" if start else "") + short(line[start:], length)
    return re.split(f"({re.escape(words)})", part, flags=re.IGNORECASE)


def ago(seconds: float) -> str:
    """A duration in words."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
