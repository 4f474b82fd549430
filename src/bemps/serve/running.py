"""The server itself: an address, a door, and the loop until somebody stops it."""

import gc
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from bemps.errors import InputError
from bemps.serve.app import application
from bemps.serve.engine import Engine
from bemps.serve.security import Door, is_loopback
from bemps.store import Store

PORT = 8765
TRIES = 20  # ports after the usual one, where none was asked for
TOKEN_VARIABLE = "BEMPS_TOKEN"
SHORTEST_TOKEN = 16
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
    given = os.environ.get(TOKEN_VARIABLE) or None
    if given is not None and len(given) < SHORTEST_TOKEN:
        got = f"{len(given)} characters"
        raise InputError(TOKEN_VARIABLE, expected=f"at least {SHORTEST_TOKEN}", got=got, fix="Use a longer one.")
    # behind a proxy the listener is loopback and the world comes in all the same
    needs = not is_loopback(address.host) or bool(names)
    token = given or (secrets.token_urlsafe(24) if needs else None)
    return Door(address.host, token, names, root)


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
            made.listen(2048)
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
    token = f"?token={door.token}" if door.token else ""
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
    """Serve a project until interrupted."""
    sys.setswitchinterval(SWITCH)
    door, sock = door_of(address), listening(address)
    port = sock.getsockname()[1]
    with sock, store.serving(f"http://{address.host}:{port}{door.root_path}/"):
        config = uvicorn.Config(
            application(Engine(store, where), door, annotator),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="none",
        )
        gc.collect()
        gc.freeze()  # what is there now stays, and what comes (answers) stays too:
        gc.set_threshold(5_000, 20, 1_000)  # looking through all of it every second would stop the loop for 20 ms
        url = url_of(address, port, door)
        _Server(config, lambda: _announce(url, browser, say)).run(sockets=[sock])


def _announce(url: str, browser: bool, say: Callable[[str], None]) -> None:
    say(url)
    if browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


class _Server(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()
