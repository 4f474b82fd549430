"""Connections of the server: so many at once, closed when no request comes, and quiet about what strangers send.

Whoever opens connections and says nothing takes no place from others: where all places are taken, a new connection
gets the place of the oldest one that has not asked for anything yet.
"""

import asyncio
import logging
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 2_000  # connections at once
BACKLOG = 64  # taken from the system in one step, before the first of them can be closed again
SILENCE = 15.0  # seconds in which a request, with its body, has to come
REPEAT = 60.0  # seconds between two equal lines of the log
SHARE = 2  # one descriptor in so many is for connections, the others are for the database, files and the model


def raise_file_limit() -> int:
    """Let this process open as many files as it needs and may; returns how many connections there is room for."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = SHARE * MOST
    wanted = enough if hard == resource.RLIM_INFINITY else min(hard, enough)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, max(16, soft // SHARE))


class Connection(H11Protocol):
    """A connection that is closed when it stays silent, or when another one needs its place."""

    most = MOST

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.since = 0.0
        self._seen: object = None
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; where there is none, that of the oldest who says nothing, first among those who never did."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._watch = self.loop.call_later(SILENCE, self._look)
        if len(self.connections) > self.most:
            others = [one for one in self.connections if isinstance(one, Connection) and one.is_silent]
            min(others, key=lambda one: (one.cycle is not None, one.since), default=self).give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came. What h11 cannot even refuse, as an answer is under way, ends the connection."""
        try:
            super().data_received(data)
        except h11.ProtocolError:
            self.give_up()

    @property
    def is_silent(self) -> bool:
        """No request is being answered: none has come, or its body has not."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def give_up(self) -> None:
        """Close at once, and free the place at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        """Close where nothing has happened since the last look."""
        if self.is_silent and self.cycle is self._seen:
            self.give_up()
            return
        self._seen = self.cycle
        self._watch = self.loop.call_later(SILENCE, self._look)


class Quiet(logging.Filter):
    """The same line once in a while, not for every connection of a stranger; failures of ours are always written."""

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
    """What the event loop reports: no more files for new connections is one line, everything else as usual."""
    if isinstance(context.get("exception"), OSError) and "accept" in str(context.get("message")):
        logging.getLogger("uvicorn.error").warning("no new connections for now: %s", context["exception"])
        return
    loop.default_exception_handler(context)
