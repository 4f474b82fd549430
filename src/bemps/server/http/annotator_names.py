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
    """Return the name of the annotator, or None if the page must ask for it."""
    jar = request.cookies
    name = unquote(jar.get(port_name(COOKIE, request.scope)) or jar.get(COOKIE, "")).strip()
    return checked_name(name) if name else default


def required_name(request: Request, default: str | None) -> str:
    """Return the name of the annotator; a request without one is refused."""
    name = name_of(request, default)
    if name is None:
        raise InputError("name", expected="who you are", got="no name", fix="Reload the page and give your name.")
    return name


def checked_name(name: str) -> str:
    """Check a name and return it as it is stored with labels."""
    tidy = " ".join(name.split())
    if not tidy or len(tidy) > LONGEST or not tidy.isprintable() or tidy.lower() in RESERVED:
        raise InputError("name", expected=f"1 to {LONGEST} letters", got=repr(tidy[:100]), fix="Choose another name.")
    return tidy


def port_name(name: str, scope: Scope) -> str:
    """Return the name of a cookie with the port, because browsers share cookies between the ports of a host."""
    port = (scope.get("server") or ("", None))[1]
    return f"{name}_{port}" if port else name


def remember(answer: Response, name: str, request: Request) -> None:
    """Set the cookie with which the browser remembers the name for a year.

    Parameters
    ----------
    answer : Response
        The response that carries the cookie.
    name : str
        The name of the annotator.
    request : Request
        The request that is answered. It determines the port and the path of the cookie.
    """
    path = request.app.state.serving.door.root_path + "/"
    answer.set_cookie(
        port_name(COOKIE, request.scope), quote(name), max_age=365 * 86400, samesite="lax", path=path, httponly=True
    )
