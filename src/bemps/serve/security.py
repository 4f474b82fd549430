"""The door of the server: who may ask, from which page, and how much. Every answer leaves with strict headers.

Loopback needs no token; any other address does. The Host header must name this server (no DNS rebinding), a POST
must come from a page of this server and carry JSON (no cross-site posts), other sites may do nothing but link to the
page, and bodies are small.
"""

import hashlib
import hmac
import ipaddress
import logging
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bemps.serve.people import port_name
from bemps.serve.refusals import BodyTooLarge, defect, refusal

COOKIE = "bemps_session"  # and the port: browsers keep one jar for all servers of a machine
PUBLIC = "/static/page.css"  # the one file that needs no token: the page that asks for it is styled
OTHER_SITE = "A page of another site asked for this."
LOG = logging.getLogger("bemps.serve")
LARGEST_BODY = 256 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Door:
    """host: what the server listens on; names: further host names people use; token: None on loopback."""

    host: str
    token: str | None = None
    names: frozenset[str] = frozenset()
    root_path: str = ""

    @lru_cache(maxsize=256)  # noqa: B019 -- there is one door, and it lives as long as the process
    def knows_host(self, header: str) -> bool:
        name = _host_name(header)
        if name in LOOPBACK_NAMES or name in self.names:
            return True
        if is_loopback(self.host):
            return False
        # an address cannot be rebound to another one; a name can, so only this machine's own
        return _is_address(name) or name in {self.host.lower(), *own_names()}

    @lru_cache(maxsize=256)  # noqa: B019
    def knows_origin(self, origin: str, host: str) -> bool:
        try:
            netloc = urlsplit(origin).netloc.lower()
        except ValueError:  # http://[
            return False
        return bool(netloc) and (netloc == host.lower() or _host_name(netloc) in self.names)

    @property
    def session(self) -> str:
        """What the cookie holds: shows that its bearer had the token, without being it."""
        return hmac.new((self.token or "").encode(), b"bemps session", hashlib.sha256).hexdigest()

    def opens(self, given: str, right: str) -> bool:
        return hmac.compare_digest(given.encode(), right.encode())


def own_names() -> Iterable[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0], f"{name.partition('.')[0]}.local"}


def _host_name(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                return
            await self.app(scope, receive, send)
            return
        root = scope["bemps.root"] = self.door.root_path
        if root and scope["path"].startswith(f"{root}/"):  # a proxy may strip it from the path, or leave it
            scope["path"] = scope["path"][len(root) :]
        sealed = _sealed(send)
        try:
            answer = self._refused(scope, Headers(scope=scope)) or self._let_in(scope)
        except Exception as error:  # also this answer leaves with the headers
            LOG.exception("a defect")
            answer = defect(scope, error)
        if answer is not None:
            await answer(scope, receive, sealed)
            return
        await self.app(scope, _limited(receive), sealed)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        door, host = self.door, headers.get("host", "")
        if not door.knows_host(host):
            fix = "Use the address that was printed, or start with --allow-host NAME."
            return refusal(scope, 421, f"This server does not answer to the name {host[:100]!r}.", fix)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refusal(scope, 405, f"{scope['method']} is not understood here.", "Use GET or POST.")
        length = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LARGEST_BODY:
            return refusal(scope, 413, f"More than {LARGEST_BODY // 1024} kB at once.", "Send less.")
        own_page = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        if not own_page and not _follows_link(scope, headers):
            return refusal(scope, 403, OTHER_SITE, "Open the labelling page itself.")
        if scope["method"] == "POST":
            return self._refused_post(scope, headers, host)
        return None

    def _refused_post(self, scope: Scope, headers: Headers, host: str) -> Response | None:
        origin = headers.get("origin")
        if origin is not None and not self.door.knows_origin(origin, host):
            return refusal(scope, 403, OTHER_SITE, "Open the labelling page itself.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return refusal(scope, 415, f"Expected JSON; got {kind[:60] or 'nothing'}.", "Send application/json.")
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """None for those who may pass; a token in the address becomes a cookie and leaves the address."""
        door = self.door
        if door.token is None:
            return None
        headers = Headers(scope=scope)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and door.opens(bearer.strip(), door.token):
            return None
        if door.opens(_cookie(headers, port_name(COOKIE, scope)), door.session) or scope["path"] == PUBLIC:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and door.opens(given, door.token):
            return self._welcome(scope)
        what = "This address needs a token." if not given else "That token is not the right one."
        fix = "Open the link that was printed when the server started, or give the token that stands in it."
        return refusal(scope, 401, what, fix)

    def _welcome(self, scope: Scope) -> Response:
        path = (self.door.root_path or "") + "/"
        answer = RedirectResponse(path, status_code=303)
        answer.set_cookie(
            port_name(COOKIE, scope),
            self.door.session,
            httponly=True,
            samesite="lax",
            path=path,
            secure=_is_https(scope),
            max_age=30 * 86400,
        )
        return answer


def _follows_link(scope: Scope, headers: Headers) -> bool:
    """A person came from another site, by a link to the page: that and nothing else is open to other sites."""
    arrives = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return bool(arrives and scope["method"] == "GET" and scope["path"] == "/")


def _is_https(scope: Scope) -> bool:
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "").lower()
    return "https" in (scope.get("scheme"), forwarded)


def _cookie(headers: Headers, name: str) -> str:
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def _sealed(send: Send) -> Send:
    """Every answer carries the headers; nothing but static files and images is kept by browsers."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sealed


def _limited(receive: Receive) -> Receive:
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise BodyTooLarge
        return message

    return limited
