"""The model's process: `python -m bemps.serve.worker`, spoken to in lines of JSON. It ends when the server does."""

import json
import os
import queue
import sys
import threading
from typing import Any, TextIO

from bemps.limits import library_threads

NICE = 10  # people come first


def main() -> None:
    """Read the project's address, get ready, then answer until standard input ends."""
    speak = _Voice(sys.stdout)
    sys.stdout = sys.stderr  # a stray print of a library must not end up between the messages
    if hasattr(os, "nice"):
        os.nice(NICE)
    where = json.loads(sys.stdin.readline())["project"]
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, inbox), daemon=True).start()
    with library_threads(1):
        _work(where, inbox, speak)


class _Voice:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message, allow_nan=False) + "\n")
        self._out.flush()


def _listen(stream: TextIO, inbox: "queue.SimpleQueue[dict[str, Any]]") -> None:
    for line in stream:
        inbox.put(json.loads(line))
    os._exit(0)  # the server is gone, also in the middle of a fit


def _work(where: str, inbox: "queue.SimpleQueue[dict[str, Any]]", speak: _Voice) -> None:
    from bemps.serve.modelling import coach_of
    from bemps.store import open_store

    coach = coach_of(open_store(where), where, lambda text: speak({"is": "state", "text": text}))
    speak({"is": "state", "text": "ready", "alive": True, "model": coach.chosen.words})
    while True:
        message = inbox.get()
        if message["do"] == "learn":
            speak(coach.learn(message["n"]))
        else:
            speak({"is": "look", "call": message["call"]} | coach.look(message["item"]))


if __name__ == "__main__":
    main()
