"""The door of the server: who may ask, from which page, and how much. Every answer leaves with strict headers.

Loopback needs no token; any other address does. The Host header must name this server (no DNS rebinding), a POST
must come from a page of this server and carry JSON or a file's bytes (no cross-site posts), other sites may do nothing
but link to the page, and bodies are small: only addresses of uploads take large ones.
"""

import hashlib
import hmac
import ipaddress
import logging
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from types import MappingProxyType
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bemps.errors import COMMAND_OPTIONS, NO_OPTIONS
from bemps.server.http.annotator_names import port_name
from bemps.server.http.error_responses import BodyTooLarge, defect, refusal

COOKIE = "bemps_session"  # and the port: browsers keep one jar for all servers of a machine
PUBLIC = "/static/page.css"  # the one file that needs no token: the page that asks for it is styled
OTHER_SITE = "A page of another site asked for this."
LOG = logging.getLogger("bemps.server")
LARGEST_BODY = 256 * 1024
FILE_KIND = "application/octet-stream"
PAGES = re.compile("/(p/[0-9a-f]+/?)?")  # the page, and those of the projects below it
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
REMOTE_IMAGES = "img-src 'self' http: https:"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def page_policy(remote_images: bool) -> str:
    """Return the content policy of a page. Images of other servers are loaded only where a project allows it."""
    return POLICY.replace("img-src 'self'", REMOTE_IMAGES) if remote_images else POLICY


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Door:
    """The rules for who may use the server.

    Attributes
    ----------
    host : str
        The address that the server listens on.
    token : str or None
        The secret that a browser must know. None on loopback.
    names : frozenset of str
        Further host names that people use for this server.
    root_path : str
        The path under which a proxy shows the page; empty without a proxy.
    """

    host: str
    token: str | None = None
    names: frozenset[str] = frozenset()
    root_path: str = ""

    @lru_cache(maxsize=256)  # noqa: B019 -- there is one door, and it lives as long as the process
    def knows_host(self, header: str) -> bool:
        """Return whether a Host header names this server."""
        name = _host_name(header)
        if name in LOOPBACK_NAMES or name in self.names:
            return True
        if is_loopback(self.host):
            return False
        # an address cannot be rebound to another one; a name can, so only this machine's own
        return _is_address(name) or name in {self.host.lower(), *own_names()}

    @lru_cache(maxsize=256)  # noqa: B019
    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header belongs to this server, as named by the Host header or by `names`."""
        try:
            netloc = urlsplit(origin).netloc.lower()
        except ValueError:  # http://[
            return False
        return bool(netloc) and (netloc == host.lower() or _host_name(netloc) in self.names)

    @property
    def session(self) -> str:
        """The value of the cookie, which proves that the browser knew the token but does not contain it."""
        return hmac.new((self.token or "").encode(), b"bemps session", hashlib.sha256).hexdigest()

    def opens(self, token: str, right: str) -> bool:
        """Return whether two tokens are equal, in a time that does not depend on where they differ."""
        return hmac.compare_digest(token.encode(), right.encode())


def own_names() -> Iterable[str]:
    """Return the host names of this machine."""
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
    """ASGI middleware that checks every request before the application sees it.

    Parameters
    ----------
    app : ASGIApp
        The application behind the guard.
    door : Door
        The rules for who may use the server.
    uploads : mapping of str to int
        The paths that take a file instead of JSON, each with its largest number of bytes.
    """

    def __init__(self, app: ASGIApp, door: Door, uploads: Mapping[str, int] = MappingProxyType({})) -> None:
        self.app, self.door = app, door
        self._uploads = uploads  # paths that take a file instead of JSON, and how many bytes of it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        COMMAND_OPTIONS.set(NO_OPTIONS)  # for this request, and for the work that starts with the server
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
        await self.app(scope, _limited(receive, self._largest(scope)), sealed)

    def _largest(self, scope: Scope) -> int:
        """How many bytes a request may bring."""
        return self._uploads.get(scope["path"], LARGEST_BODY)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        door, host = self.door, headers.get("host", "")
        if not door.knows_host(host):
            fix = "Use the address that was printed, or start with --allow-host NAME."
            return refusal(scope, 421, f"This server does not answer to the name {host[:100]!r}.", fix)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refusal(scope, 405, f"{scope['method']} is not understood here.", "Use GET or POST.")
        length = headers.get("content-length", "0")
        largest = self._largest(scope)
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > largest:
            size = f"{largest // 1024} kB" if largest < 2**20 else f"{largest // 2**20} MB"
            return refusal(scope, 413, f"More than {size} at once.", "Send less.")
        if self._from_other_site(scope, headers, host):
            return refusal(scope, 403, OTHER_SITE, "Open the labelling page itself.")
        if scope["method"] == "POST":
            return self._refused_post(scope, headers)
        return None

    def _refused_post(self, scope: Scope, headers: Headers) -> Response | None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        expected = FILE_KIND if scope["path"] in self._uploads else "application/json"
        if kind != expected:  # neither can be sent by a form, nor by a script of another site without being asked for
            return refusal(scope, 415, f"Expected {expected}; got {kind[:60] or 'nothing'}.", f"Send {expected}.")
        return None

    def _from_other_site(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Whether a page of another site asks: by Origin, by Sec-Fetch-Site, or by Referer in browsers without it."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and not self.door.knows_origin(origin, host):
            return True
        if site is not None:
            return site not in ("same-origin", "none") and not _follows_link(scope, headers)
        referer = headers.get("referer")
        is_page = scope["method"] == "GET" and PAGES.fullmatch(scope["path"]) is not None
        return referer is not None and not is_page and not self.door.knows_origin(referer, host)

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
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if token and door.opens(token, door.token):
            return self._welcome(scope)
        what = "This address needs a token." if not token else "That token is not the right one."
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
    return bool(arrives and scope["method"] == "GET" and PAGES.fullmatch(scope["path"]))


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
                headers.setdefault(name, value)  # a page may have a policy of its own: see `page_policy`
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sealed


def _limited(receive: Receive, largest: int) -> Receive:
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > largest:
            raise BodyTooLarge
        return message

    return limited
