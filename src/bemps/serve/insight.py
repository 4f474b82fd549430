"""What the server knows of the model: its state in words, the last order with its reasons, and the rounds so far."""

import time
from typing import Any

SAVE_EVERY = 15.0  # seconds
SLOW = 10.0  # seconds of learning from which on the header says so: a word that changes with every label is a flicker


class Insight:
    """Filled by the messages of the model's process.

    order      items, best first, of the last ranking
    about      for those items: gain, share, stands_for, others, near, guess
    history    the rounds so far (`bemps.serve.history`), kept with the project
    exhausted  the order holds everything that waits: asking for another one would change nothing
    """

    def __init__(self) -> None:
        self.history: dict[str, Any] | None = None
        self.order: list[str] = []
        self.about: dict[str, dict[str, Any]] = {}
        self.last: dict[str, Any] = {}
        self.alive = self.learning = self.ready = self.exhausted = False
        self.state, self.words = "starting", "model gets ready"
        self.model = ""
        self.seconds = 0.0
        self.orders = 0
        self.unsaved_since: float | None = None
        self.learning_since = 0.0

    def learns(self) -> None:
        """The model was asked for a new order."""
        self.learning, self.learning_since = True, time.monotonic()

    def hear(self, message: dict[str, Any]) -> bool:
        """Take in a message; True where it brings a new order."""
        kind = message["is"]
        if kind == "state":
            self.alive = self.alive or bool(message.get("alive"))
            self.model = message.get("model", self.model)
            self.state, self.words = ("ready" if self.alive else "starting"), message["text"]
        elif kind == "failure":
            self.alive = self.learning = False
            self.state = "failed"
            self.words = f"the model has stopped ({message['text'][:200]}); items come at random, it starts again"
        elif kind == "nothing":
            self.learning, self.state = False, "failed"
            self.words = f"the model could not learn ({message['text'][:200]}); it tries again"
        elif kind == "ranking":
            self._take(message)
            return True
        return False

    def _take(self, message: dict[str, Any]) -> None:
        self.last = message
        self.orders += 1
        self.learning, self.ready, self.state = False, message["ready"], "ready"
        self.order = [one["item"] for one in message["items"]]
        self.about = {one["item"]: one for one in message["items"]}
        self.exhausted, self.seconds = len(self.order) >= message["waiting"], message["seconds"]
        if "history" in message:
            self.history = message["history"]
            self.unsaved_since = self.unsaved_since or time.monotonic()

    @property
    def unsaved(self) -> bool:
        return self.unsaved_since is not None and time.monotonic() - self.unsaved_since > SAVE_EVERY

    def history_to_save(self) -> dict[str, Any] | None:
        self.unsaved_since = None
        return self.history

    def told(self, labels: int) -> dict[str, str]:
        """For the pill in the header."""
        if self.state == "failed" or not self.alive:
            return {"state": self.state, "words": self.words}
        if self.learning and labels and (not self.ready or time.monotonic() - self.learning_since > SLOW):
            return {"state": "learning", "words": "model is learning"}
        if not self.ready:
            return {"state": "ready", "words": "model starts once two classes have labels"}
        return {"state": "ready", "words": "model is up to date" + self._set_aside()}

    def _set_aside(self) -> str:
        names = self.last.get("broken") or []
        if not names:
            return ""
        return f"; {len(names)} image{'s' if len(names) > 1 else ''} cannot be read: {', '.join(names[:2])[:80]}"
