"""Connections of the server: so many at once, closed when no request comes, and quiet about what strangers send.

Whoever opens connections and says nothing takes no place from others: where all places are taken, a new connection
gets the place of the oldest one that has not asked for anything yet.
"""

import asyncio
import logging
import sys
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 2_000  # connections at once
BACKLOG = 64  # taken from the system in one step, before the first of them can be closed again
SILENCE = 15.0  # seconds in which a request, with its body, has to come
FEWEST = 150_000  # bytes in that time that keep a longer body alive
REPEAT = 60.0  # seconds between two equal lines of the log
SHARE = 2  # one descriptor in so many is for connections, the others are for the database, files and the model


def raise_file_limit() -> int:
    """Let this process open as many files as it needs and may; returns how many connections there is room for."""
    if sys.platform == "win32":  # it has no such limit
        return MOST
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = SHARE * MOST
    limit = enough if hard == resource.RLIM_INFINITY else min(hard, enough)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        soft = limit
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, max(16, soft // SHARE))


class Connection(H11Protocol):
    """A connection that is closed when it stays silent, or when another one needs its place."""

    most = MOST

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.since = 0.0
        self._seen: object = None
        self._received = 0  # bytes since the last look
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, and close the oldest silent one if there are too many.

        Connections that never sent a request are closed first.
        """
        super().connection_made(transport)
        self.since = self.loop.time()
        self._watch = self.loop.call_later(SILENCE, self._look)
        if len(self.connections) > self.most:
            others = [
                connection
                for connection in self.connections
                if isinstance(connection, Connection) and connection.is_silent
            ]
            min(others, key=lambda connection: (connection.cycle is not None, connection.since), default=self).give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer of the connection when the connection ends."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the bytes of a request; an error that cannot be answered any more ends the connection."""
        self._received += len(data)
        try:
            super().data_received(data)
        except h11.ProtocolError:
            self.give_up()

    @property
    def is_silent(self) -> bool:
        """Whether no request is being answered: none has come, or its body is not complete."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def give_up(self) -> None:
        """Close the connection and free its place at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        """Close where nothing has happened since the last look; a file that is coming is something."""
        if self.is_silent and self.cycle is self._seen and self._received < FEWEST:
            self.give_up()
            return
        self._seen, self._received = self.cycle, 0
        self._watch = self.loop.call_later(SILENCE, self._look)


class Quiet(logging.Filter):
    """A log filter that repeats the same warning only once in a while; errors of bemps itself are always written."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        now, text = time.monotonic(), str(record.msg)
        if record.exc_info:
            return True
        if now - self._last.get(text, -REPEAT) < REPEAT:
            return False
        self._last[text] = now
        return True


def quiet_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report a lack of file handles in one line, and every other failure of the event loop as usual."""
    if isinstance(context.get("exception"), OSError) and "accept" in str(context.get("message")):
        logging.getLogger("uvicorn.error").warning("no new connections for now: %s", context["exception"])
        return
    loop.default_exception_handler(context)
