"""The server itself: an address, a door, and the loop until somebody stops it."""

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import quote

import uvicorn

from bemps.errors import InputError
from bemps.serve.app import application
from bemps.serve.connections import BACKLOG, Connection, Quiet, quiet_failure, raise_file_limit
from bemps.serve.engine import Engine
from bemps.serve.opening import announced, running_page
from bemps.serve.security import Door, Guard, is_loopback
from bemps.store import Store
from bemps.store.serving import AlreadyServed

PORT = 8765
TRIES = 20  # ports after the usual one, where none was asked for
TOKEN_VARIABLE = "BEMPS_TOKEN"
SHORTEST_TOKEN = 16
WAITING = 2048  # connections that the system holds until they are taken
SWITCH = 0.0002  # seconds: the loop gets the interpreter back from the writing thread at once, not after 5 ms


@dataclass(frozen=True)
class Address:
    """port None: the usual one, or the next that is free; names: how else people call this machine."""

    host: str = "127.0.0.1"
    port: int | None = None
    root_path: str = ""
    names: tuple[str, ...] = ()


def door_of(address: Address) -> Door:
    """No token on loopback; on any other address a new one, or that of BEMPS_TOKEN."""
    root = "/" + address.root_path.strip("/") if address.root_path.strip("/") else ""
    names = frozenset(name.lower() for name in address.names)
    own = own_token()
    token = own or (secrets.token_urlsafe(24) if needs_token(address) else None)
    return Door(address.host, token, names, root)


def needs_token(address: Address) -> bool:
    """Whether strangers could ask, or the user wants a token all the same."""
    # behind a proxy the listener is loopback and the world comes in all the same
    return not is_loopback(address.host) or bool(address.names) or own_token() is not None


def own_token() -> str | None:
    """The token of BEMPS_TOKEN, checked."""
    token = os.environ.get(TOKEN_VARIABLE) or None
    if token is None:
        return None
    if any(letter.isspace() or not letter.isprintable() for letter in token):
        got = "a blank or a control character in it"
    elif len(token) < SHORTEST_TOKEN:
        got = f"{len(token)} characters"
    else:
        return token
    expected = f"at least {SHORTEST_TOKEN} characters, none of them blank"
    raise InputError(TOKEN_VARIABLE, expected=expected, got=got, fix="Use another one.")


def keep_private(address: Address) -> None:
    """Files that this process makes are for their owner alone, where a token guards what is in them."""
    if needs_token(address):
        os.umask(0o077)


def listening(address: Address) -> socket.socket:
    """A socket on the address, or the reason why not."""
    ports = [address.port] if address.port is not None else range(PORT, PORT + TRIES)
    failure: OSError | None = None
    for port in ports:
        try:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            # with its protocol: asyncio leaves Nagle's algorithm on where it is not named, and each answer takes 40 ms
            made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address.host, port))
            made.listen(WAITING)
        except (OSError, OverflowError) as error:
            made.close()
            failure = error if isinstance(error, OSError) else OSError(str(error))
            continue
        return made
    place = f"{address.host}:{address.port if address.port is not None else f'{PORT} to {PORT + TRIES - 1}'}"
    got = failure.strerror or str(failure) if failure else "nothing"
    raise InputError("address", expected=f"to listen on {place}", got=got, fix="Choose another with --port or --host.")


def url_of(address: Address, port: int, door: Door) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    shown = socket.gethostname() if address.host in ("0.0.0.0", "::") else host
    token = f"?token={quote(door.token, safe='')}" if door.token else ""
    return f"http://{shown}:{port}{door.root_path}/{token}"


def serve(
    store: Store,
    where: str,
    address: Address,
    *,
    annotator: str | None,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve a project until interrupted; where a server of this machine has it already, open the page of that one."""
    sys.setswitchinterval(SWITCH)
    door, sock = door_of(address), listening(address)
    port = sock.getsockname()[1]
    try:
        with sock, store.serving(f"http://{address.host}:{port}{door.root_path}/"):
            _run(application(Engine(store, where), door, annotator), sock, url_of(address, port, door), browser, say)
    except AlreadyServed as other:
        url = running_page(other)
        if url is None:
            raise
        say(f"{url} (that server is running already)")
        if browser:
            webbrowser.open(url)


def _run(app: Guard, sock: socket.socket, url: str, browser: bool, say: Callable[[str], None]) -> None:
    config = uvicorn.Config(
        app,
        http=type("Limited", (Connection,), {"most": raise_file_limit()}),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
        ws="none",
    )
    logging.getLogger("uvicorn.error").addFilter(Quiet())
    gc.collect()
    gc.freeze()  # what is there now stays, and what comes (answers) stays too:
    gc.set_threshold(5_000, 20, 1_000)  # looking through all of it every second would stop the loop for 20 ms
    _stop_as_ctrl_c_does()
    with ExitStack() as stack:
        _Server(config, lambda: stack.enter_context(announced(url, browser, say))).run(sockets=[sock])


def _stop_as_ctrl_c_does() -> None:
    """Let the end of a terminal or of the machine end the server as Ctrl-C does: with everything in the project's file.

    uvicorn repeats the signal that ended it; the usual answer to these would leave the file behind its journal.
    """
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: signal.raise_signal(signal.SIGINT))


class _Server(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], object]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(quiet_failure)
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(WAITING)  # uvicorn has set BACKLOG: right for one step of the loop, few for the system's queue
        if self.started:
            self._announce()
