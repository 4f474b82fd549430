"""How the processes of the model speak: lines of JSON on standard output, and they end with whoever started them."""

import os
import queue
import sys
import threading
from collections.abc import Mapping
from typing import TextIO

from bemps.server.model.messages import MalformedMessage, Message, decode, encode

Inbox = queue.SimpleQueue[Message | MalformedMessage]


class Voice:
    """Writes messages; also from several threads."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._lock = out, threading.Lock()

    def __call__(self, message: Message) -> None:
        with self._lock:
            self._out.write(encode(message) + "\n")
            self._out.flush()


def own_output() -> TextIO:
    """Return standard output for messages alone; what libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def listen(stream: TextIO, inbox: Inbox, kinds: Mapping[str, type[Message]]) -> None:
    """Put the messages of a stream into a queue, and end the process when the stream ends.

    The process ends even in the middle of a fit, because nobody waits for the result.

    Parameters
    ----------
    stream : text stream
        The stream of the other process.
    inbox : Inbox
        The queue. It also takes the errors of messages that cannot be decoded.
    kinds : mapping of str to type
        The message classes by their kinds.
    """
    for line in stream:
        try:
            inbox.put(decode(line, kinds))
        except MalformedMessage as error:  # ends the process where it is taken out, in words that the server shows
            inbox.put(error)
    os._exit(0)


def start_listening(kinds: Mapping[str, type[Message]]) -> Inbox:
    """Return an inbox that a thread fills from standard input."""
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin, inbox, kinds), daemon=True).start()
    return inbox


def work_slowly(niceness: int) -> None:
    """Let other processes go first; a process that was started by a nice one is nice already."""
    if hasattr(os, "nice"):
        os.nice(max(0, niceness - os.nice(0)))
