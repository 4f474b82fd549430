"""Who is asking: a name in a cookie, or the one that the server was started with."""

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from bemps.errors import InputError

COOKIE = "bemps_name"  # and the port; without one, as earlier releases set it, it holds for all
LONGEST = 80
RESERVED = {"source"}  # labels that came with the data


def name_of(request: Request, default: str | None) -> str | None:
    """The annotator's name; None where it must be asked for."""
    jar = request.cookies
    name = unquote(jar.get(port_name(COOKIE, request.scope)) or jar.get(COOKIE, "")).strip()
    return checked_name(name) if name else default


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


def port_name(name: str, scope: Scope) -> str:
    """The name of a cookie for this server alone: ports do not part cookies, so the name does."""
    port = (scope.get("server") or ("", None))[1]
    return f"{name}_{port}" if port else name


def remember(answer: Response, name: str, request: Request) -> None:
    """The browser keeps the name for a year."""
    path = request.app.state.serving.door.root_path + "/"
    answer.set_cookie(
        port_name(COOKIE, request.scope), quote(name), max_age=365 * 86400, samesite="lax", path=path, httponly=True
    )
