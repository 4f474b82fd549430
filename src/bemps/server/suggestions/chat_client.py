"""One request to a server that speaks OpenAI's chat protocol: bounded in time and size, and no redirect is followed."""

import contextlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from bemps.errors import BempsError
from bemps.server.http.access import is_loopback
from bemps.server.suggestions.suggestion_sources import REQUEST_PATH, SentKey

LONGEST_TO_CONNECT = 10.0  # seconds
LARGEST_REPLY = 1_000_000  # bytes
PASSING = (408, 409, 425, 429)  # refusals that may pass, beside those from 500 on
PERHAPS_TOO_LARGE = (400, 413, 422)  # refusals that more text than the model can read may have caused
LONGEST_WORDS = 200
CHECK_ADDRESS = "Check the address: most end in /v1."
CHECK_MODEL = "Check the name of the model, and the address: most end in /v1."


class ChatError(BempsError):
    """A request that brought nothing.

    Parameters
    ----------
    words : str
        What happened, for people: a clause without a full stop.
    advice : str
        What to do, as a sentence; empty if there is nothing to do.
    passes : bool
        Whether the same request may do better later.
    is_too_large : bool
        Whether a request with fewer items may do better.
    wait : float
        The seconds that the server asks to wait.
    """

    def __init__(
        self, words: str, advice: str = "", *, passes: bool = True, is_too_large: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(words)
        self.words, self.advice, self.passes = words, advice, passes
        self.is_too_large, self.wait = is_too_large, wait


class UnclearReply(ChatError):
    """A reply that cannot be understood. Another one may be clearer, the same for ever is not worth its price."""

    def __init__(self, words: str, advice: str = "") -> None:
        super().__init__(words, advice, is_too_large=True)


class ChatConnection:
    """A connection for one request. `open` it, `ask`, and `close` it.

    Parameters
    ----------
    address : str
        The address, such as `http://localhost:11434/v1`.
    seconds : float
        The longest time for all of it.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self._path, self._seconds = f"{urlsplit(address).path}{REQUEST_PATH}", seconds
        self._deadline = time.monotonic() + seconds
        self._connection = _connection(address, min(seconds, LONGEST_TO_CONNECT))
        self._is_closed = False

    def open(self) -> None:
        """Reach the server. Nothing is sent yet.

        Raises
        ------
        ChatError
            If it cannot be reached.
        """
        try:
            self._connection.connect()
            self._connection.sock.settimeout(self._seconds)
        except (OSError, http.client.HTTPException) as error:
            raise ChatError(f"the address cannot be reached ({_reason(error)})", "Is the server running?") from error
        if self._is_closed:  # meanwhile, by another thread, which had nothing to close yet
            self.close()

    def ask(self, body: dict[str, Any], key: SentKey) -> str:
        """Send a request and return the words of the reply.

        Parameters
        ----------
        body : dict
            The values of the JSON body.
        key : SentKey
            The key, which is sent as a bearer token.

        Returns
        -------
        str
            The content of the first choice.

        Raises
        ------
        ChatError
            If there was no such reply.
        """
        try:
            status, headers, content = self._exchange(body, key)
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() >= self._deadline or isinstance(error, TimeoutError):
                words = f"it did not answer within {self._seconds:g} seconds"
                raise ChatError(words, is_too_large=True) from error
            raise ChatError(f"the connection broke off ({_reason(error)})") from error
        if len(content) > LARGEST_REPLY:
            raise UnclearReply(f"its reply is larger than {LARGEST_REPLY:,} bytes")
        if status != http.HTTPStatus.OK:
            raise _refusal(status, headers, content, key)
        return _words_of(headers, content)

    def close(self) -> None:
        """Hang up, also while another thread connects or waits for the reply."""
        self._is_closed = True
        if self._connection.sock is not None:
            _hang_up(self._connection.sock)
        self._connection.close()

    def _exchange(self, body: dict[str, Any], key: SentKey) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "bemps"}
        if key.value:
            headers["authorization"] = f"Bearer {key.value}"
        watch = threading.Timer(max(0.0, self._deadline - time.monotonic()), _hang_up, [self._connection.sock])
        watch.daemon = True
        watch.start()  # a time-out of the socket alone would begin anew with every byte that trickles in
        try:
            self._connection.request("POST", self._path, json.dumps(body).encode(), headers)
            with self._connection.getresponse() as reply:
                status, answered, content = reply.status, reply.headers, reply.read(LARGEST_REPLY + 1)
        finally:
            watch.cancel()
        if time.monotonic() >= self._deadline:
            raise TimeoutError
        return status, {name.lower(): value for name, value in answered.items()}, content


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


def _hang_up(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was faster
        channel.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    words = getattr(error, "strerror", None) or str(error)
    return " ".join(words.split())[:LONGEST_WORDS] or type(error).__name__


# -- what came -------------------------------------------------------------------------------------------------------


def _refusal(status: int, headers: Mapping[str, str], content: bytes, key: SentKey) -> ChatError:
    if 300 <= status < 400:
        words = f"it answered {status}, a redirect, which is not followed"
        return ChatError(words, "Give the address that it leads to.", passes=False)
    if status in (401, 403):  # its own words may repeat the key
        wants = "it refuses the key" if key.value else "it wants a key, and none was sent"
        return ChatError(f"it answered {status}: {wants}", key.advice, passes=False)
    message = _message(content)
    words = f"it answered {status}{f' ({message})' if message else ''}"
    if status in (404, 405):
        return ChatError(words, CHECK_MODEL if message else CHECK_ADDRESS, passes=False)
    if status in PERHAPS_TOO_LARGE:
        return ChatError(words, passes=False, is_too_large=True)
    return ChatError(words, passes=status >= 500 or status in PASSING, wait=_wait(headers.get("retry-after", "")))


def _wait(text: str) -> float:
    """The seconds of a header Retry-After, which is a whole number or a date; 0 for anything else."""
    if re.fullmatch("[0-9]{1,9}", text.strip()):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _message(content: bytes) -> str:
    """The message of an error in the form of the protocol, or of one like it; nothing of any other page."""
    try:
        reply = json.loads(content)
        error = reply if reply.get("object") == "error" else reply["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
    words = " ".join(message.split()) if isinstance(message, str) else ""
    return words[:LONGEST_WORDS] if words.isprintable() else ""


def _words_of(headers: Mapping[str, str], content: bytes) -> str:
    """The words of the first choice."""
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        is_page = "html" in headers.get("content-type", "").lower() or content.lstrip()[:1] == b"<"
        what = "a web page" if is_page else "something that is no JSON" if content.strip() else "nothing"
        raise UnclearReply(f"it answered with {what}", CHECK_ADDRESS) from None
    if message := _message(content):
        raise UnclearReply(f"it answered with an error ({message})")
    try:
        words = reply["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        if isinstance(reply, dict) and reply.get("choices") == []:
            raise UnclearReply("its answer is empty") from None
        raise UnclearReply("it answered in another form", "It has to speak OpenAI's chat protocol.") from None
    if isinstance(words, list):  # in parts
        texts = [part.get("text") for part in words if isinstance(part, dict)]
        words = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(words, str) or not words.strip():
        raise UnclearReply("its answer is empty")
    return words
