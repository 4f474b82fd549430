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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import quote

import uvicorn

from bemps.errors import InputError
from bemps.server.engine import Engine
from bemps.server.http.access import Door, Guard, is_loopback
from bemps.server.http.app import application
from bemps.server.http.browser import announced, running_page
from bemps.server.http.connections import BACKLOG, Connection, Quiet, quiet_failure, raise_file_limit
from bemps.store import Store
from bemps.store.sql.server_lock import AlreadyServed, server_lock

PORT = 8765
TRIES = 20  # ports after the usual one, where none was asked for
TOKEN_VARIABLE = "BEMPS_TOKEN"
SHORTEST_TOKEN = 16
FOLDER_LOCK = ".projects"  # and `.lock`: one server for a folder of projects
WAITING = 2048  # connections that the system holds until they are taken
SWITCH = 0.0002  # seconds: the loop gets the interpreter back from the writing thread at once, not after 5 ms


@dataclass(frozen=True)
class Address:
    """The address at which the server listens.

    Attributes
    ----------
    host : str
        The address or host name of the network interface.
    port : int or None
        The port. None takes the usual one, or the next that is free.
    root_path : str
        The path under which a proxy shows the page; empty without a proxy.
    names : tuple of str
        Further host names that people use for this server.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    root_path: str = ""
    names: tuple[str, ...] = ()


def door_of(address: Address) -> Door:
    """Return the rules of access: no token on loopback, and elsewhere a new token or that of BEMPS_TOKEN."""
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
    """Return the token of BEMPS_TOKEN after a check."""
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
    """Make new files readable for their owner alone if a token guards the server."""
    if needs_token(address):
        os.umask(0o077)


def listening(address: Address) -> socket.socket:
    """Return a socket that listens at the address, or refuse with the reason."""
    ports = [address.port] if address.port is not None else range(PORT, PORT + TRIES)
    failure: OSError | None = None
    for port in ports:
        try:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            # with its protocol: asyncio leaves Nagle's algorithm on where it is not named, and each answer takes 40 ms
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            if sys.platform != "win32":  # there it would let two servers have one port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address.host, port))
            listener.listen(WAITING)
        except (OSError, OverflowError) as error:
            listener.close()
            failure = error if isinstance(error, OSError) else OSError(str(error))
            continue
        return listener
    tried = f"{address.host}:{address.port if address.port is not None else f'{PORT} to {PORT + TRIES - 1}'}"
    got = failure.strerror or str(failure) if failure else "nothing"
    raise InputError("address", expected=f"to listen on {tried}", got=got, fix="Choose another with --port or --host.")


def url_of(address: Address, port: int, door: Door) -> str:
    """Return the address that a user opens in a browser.

    Parameters
    ----------
    address : Address
        The address at which the server listens.
    port : int
        The port that the server uses.
    door : Door
        The rules for who may use the server. They contain the token and the path of a proxy.

    Returns
    -------
    str
        The address, with the token if there is one.
    """
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
    suggest: str | None = None,
) -> bool:
    """Serve a project until the user interrupts the server.

    If another server of this machine already serves the project, its page is opened instead.

    Parameters
    ----------
    store : Store
        The database of the project.
    where : str
        The file of the project, or its address in a database server.
    address : Address
        The address at which the server listens.
    annotator : str or None
        The name of a person whose browser sent no name. None if the page asks for it.
    browser : bool
        Whether to open a browser.
    say : callable
        A function that shows the address to the user.
    suggest : str, optional
        What suggests labels, if the user has just said so. Only then an address is asked at once.

    Returns
    -------
    bool
        Whether this process served the project.
    """
    sys.setswitchinterval(SWITCH)
    door, sock = door_of(address), listening(address)
    port = sock.getsockname()[1]
    with sock, _running_otherwise(browser, say), store.serving(_plain_url(address, port, door)):
        engine = Engine(store, where)
        if suggest is not None and engine.suggester.prompt is not None:
            engine.suggester.allow(engine.settings.suggest, from_command=True)
        _run(application(engine, door, annotator), sock, url_of(address, port, door), browser, say)
        return True
    return False


def serve_projects(
    folder: Path, address: Address, *, annotator: str | None, browser: bool, say: Callable[[str], None]
) -> bool:
    """Serve a folder of projects until the user interrupts the server.

    If another server of this machine already serves the folder, its page is opened instead.

    Parameters
    ----------
    folder : Path
        The folder of the projects.
    address : Address
        The address at which the server listens.
    annotator : str or None
        The name of a person whose browser sent no name. None if the page asks for it.
    browser : bool
        Whether to open a browser.
    say : callable
        A function that shows the address to the user.

    Returns
    -------
    bool
        Whether this process served the folder.
    """
    from bemps.server.projects.projects_app import projects_application

    sys.setswitchinterval(SWITCH)
    door, sock = door_of(address), listening(address)
    port = sock.getsockname()[1]
    url = _plain_url(address, port, door)
    with sock, _running_otherwise(browser, say), server_lock(folder / FOLDER_LOCK, url):
        _run(projects_application(folder, door, annotator, url), sock, url_of(address, port, door), browser, say)
        return True
    return False


def _plain_url(address: Address, port: int, door: Door) -> str:
    """The address for other servers of this machine, without a token."""
    return f"http://{address.host}:{port}{door.root_path}/"


@contextmanager
def _running_otherwise(browser: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Open the page of the server that has it already."""
    try:
        yield
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
    with ExitStack() as stack, suppress(KeyboardInterrupt):  # uvicorn repeats the signal that ended it, mostly
        _Server(config, lambda: stack.enter_context(announced(url, browser, say))).run(sockets=[sock])


def _stop_as_ctrl_c_does() -> None:
    """Let the end of a terminal or of the machine end the server as Ctrl-C does: with everything in the project's file.

    uvicorn repeats the signal that ended it; the usual answer to these would leave the file behind its journal.
    """
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in good order, also if Ctrl-C is pressed again meanwhile: uvicorn would then leave the project open."""
        if not self.should_exit:
            super().handle_exit(sig, frame)
