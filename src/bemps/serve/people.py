"""Who is asking: a name in a cookie, or the one that the server was started with."""

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from bemps.errors import InputError

COOKIE = "bemps_name"
LONGEST = 80
RESERVED = {"source"}  # labels that came with the data


def name_of(request: Request, default: str | None) -> str | None:
    """The annotator's name; None where it must be asked for."""
    given = unquote(request.cookies.get(COOKIE, "")).strip()
    return checked_name(given) if given else default


def required_name(request: Request, default: str | None) -> str:
    """The annotator's name; refused without one."""
    name = name_of(request, default)
    if name is None:
        raise InputError("name", expected="who you are", got="no name", fix="Reload the page and give your name.")
    return name


def checked_name(name: str) -> str:
    """A name as it may stand beside labels."""
    tidy = " ".join(name.split())
    if not tidy or len(tidy) > LONGEST or not tidy.isprintable() or tidy.lower() in RESERVED:
        raise InputError("name", expected=f"1 to {LONGEST} letters", got=repr(tidy[:100]), fix="Choose another name.")
    return tidy


def remember(answer: Response, name: str, path: str) -> None:
    """The browser keeps the name for a year."""
    answer.set_cookie(COOKIE, quote(name), max_age=365 * 86400, samesite="lax", path=path, httponly=True)
