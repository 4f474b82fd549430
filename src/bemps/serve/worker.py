"""The model's process: `python -m bemps.serve.worker`, spoken to in lines of JSON. It ends when the server does."""

import json
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO

from bemps.errors import BempsError
from bemps.limits import library_threads

if TYPE_CHECKING:
    from bemps.serve.coach import Coach

NICE = 10  # people come first


def main() -> None:
    """Read the project's address, get ready, then answer until standard input ends."""
    speak = _Voice(_own_output())
    if hasattr(os, "nice"):
        os.nice(NICE)
    where = json.loads(sys.stdin.readline())["project"]
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, inbox), daemon=True).start()
    with library_threads(1):
        _work(where, inbox, speak)


def _own_output() -> TextIO:
    """Standard output for the messages alone: what libraries print, also from native code, goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


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
            speak(_learnt(coach, message["n"]))
        else:
            speak({"is": "look", "call": message["call"]} | _looked(coach, message["item"]))


def _learnt(coach: "Coach", n: int) -> dict[str, Any]:
    """A new order; what bemps itself refuses (a database that is away) ends nothing and is tried again."""
    try:
        return coach.learn(n)
    except BempsError as error:
        return {"is": "nothing", "text": str(error)}


def _looked(coach: "Coach", item: str) -> dict[str, Any]:
    """What the model makes of an item; nothing where that fails, as one item must not end the model."""
    try:
        return coach.look(item)
    except Exception as error:  # noqa: BLE001 -- the server logs it
        return {"item": item, "failure": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
