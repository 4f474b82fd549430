"""One request to a server that speaks OpenAI's chat protocol: bounded in time and size, and no redirect is followed."""

import contextlib
import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from bemps.errors import BempsError
from bemps.server.http.access import is_loopback

LARGEST_REPLY = 1_000_000  # bytes
PASSING = (408, 409, 425, 429)  # refusals that may pass, beside those from 500 on
LONGEST_WORDS = 200


class ChatError(BempsError):
    """A request that brought nothing.

    Parameters
    ----------
    words : str
        What happened, for people.
    passes : bool
        Whether another try may help.
    """

    def __init__(self, words: str, passes: bool = True) -> None:
        super().__init__(words)
        self.words, self.passes = words, passes


def ask_chat(address: str, body: dict[str, Any], key: str | None, seconds: float) -> str:
    """Send a request and return the words of the reply.

    Parameters
    ----------
    address : str
        The address, such as `http://localhost:11434/v1`.
    body : dict
        The values of the JSON body.
    key : str or None
        The key, which is sent as a bearer token.
    seconds : float
        The longest time for all of it.

    Returns
    -------
    str
        The content of the first choice.

    Raises
    ------
    ChatError
        If there was no such reply.
    """
    deadline = time.monotonic() + seconds
    connection = _connection(address, seconds)
    try:
        status, content = _exchange(connection, address, body, key, deadline)
    except (OSError, http.client.HTTPException) as error:
        if time.monotonic() >= deadline or isinstance(error, TimeoutError):
            raise ChatError(f"it did not answer within {seconds:g} seconds") from error
        raise ChatError(f"it cannot be reached ({_reason(error)})") from error
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise _refusal(status, content)
    return _words_of(content)


def _connection(address: str, seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=seconds)
    proxy = getproxies().get("https", "")
    if proxy and not is_loopback(host) and not proxy_bypass(host):
        between = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = http.client.HTTPSConnection(between.hostname or "", between.port or 80, timeout=seconds)
        connection.set_tunnel(host, parts.port or 443)
        return connection
    return http.client.HTTPSConnection(host, parts.port, timeout=seconds)


def _exchange(
    connection: http.client.HTTPConnection, address: str, body: dict[str, Any], key: str | None, deadline: float
) -> tuple[int, bytes]:
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "bemps"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    path = f"{urlsplit(address).path}/chat/completions"
    connection.connect()
    watch = threading.Timer(max(0.0, deadline - time.monotonic()), _hang_up, [connection.sock])
    watch.daemon = True
    watch.start()  # a time-out of the socket alone would begin anew with every byte that trickles in
    try:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        with connection.getresponse() as reply:
            status, content = reply.status, reply.read(LARGEST_REPLY + 1)
    finally:
        watch.cancel()
    if time.monotonic() >= deadline:
        raise TimeoutError
    if len(content) > LARGEST_REPLY:
        raise ChatError(f"its reply is larger than {LARGEST_REPLY:,} bytes", passes=False)
    return status, content


def _hang_up(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was faster
        channel.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:LONGEST_WORDS] or type(error).__name__


def _refusal(status: int, content: bytes) -> ChatError:
    if 300 <= status < 400:
        return ChatError(f"it answered {status}, a redirect, which is not followed", passes=False)
    if status in (401, 403):
        return ChatError(f"it answered {status}: the key is missing or wrong", passes=False)
    passes = status >= 500 or status in PASSING
    return ChatError(f"it answered {status}{_message(content)}", passes)


def _message(content: bytes) -> str:
    """The message of an error in the form of the protocol; nothing of any other page."""
    try:
        error = json.loads(content)["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    words = " ".join(str(message).split())
    return f" ({words[:LONGEST_WORDS]})" if words.isprintable() and words else ""


def _words_of(content: bytes) -> str:
    """The words of the first choice; empty where the reply has none, which then names no class."""
    try:
        words = json.loads(content)["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        return ""
    return words if isinstance(words, str) else ""
