"""What the server knows of the model: its state in words, the last order with its reasons, and the rounds so far."""

import time
from typing import Any

from bemps.server.model.messages import Activity, Failure, Message, NotLearnt, Ranking, State
from bemps.server.model.time_left import in_minutes

SAVE_EVERY = 15.0  # seconds
NO_NEWS = 30.0  # seconds without a report after which the time that was told says nothing
SLOW = 10.0  # seconds of learning from which on the header says so: a word that changes with every label is a flicker


class ModelStatus:
    """Filled by the messages of the model's process.

    order      items, best first, of the last ranking
    about      for those items: gain, share, stands_for, others, near, guess
    last       the fields of the last `Ranking`
    history    the rounds so far (`bemps.project.history`), kept with the project
    activity   what is prepared beside the model, in words
    exhausted  the order holds everything that waits: asking for another one would change nothing
    """

    def __init__(self) -> None:
        self.history: dict[str, Any] | None = None
        self.order: list[str] = []
        self.about: dict[str, dict[str, Any]] = {}
        self.last: dict[str, Any] = {}
        self.alive = self.learning = self.ready = self.exhausted = False
        self.state, self.words = "starting", "model gets ready"
        self.model = self.activity = ""
        self.seconds = 0.0
        self.orders = 0
        self._left: float | None = None
        self._heard_at = 0.0
        self.unsaved_since: float | None = None
        self.learning_since = 0.0

    def start_learning(self) -> None:
        """Note that the model was asked for a new order."""
        self.learning, self.learning_since = True, time.monotonic()

    def restart(self) -> None:
        """Note that the process of the model starts anew; the last order still holds."""
        self.alive = self.learning = False
        self.activity = ""
        self.state, self.words = "starting", "model gets ready"

    def receive(self, message: Message) -> None:
        """Handle a message of the model's process."""
        if isinstance(message, State):
            self.alive = self.alive or message.alive
            self.model = message.model or self.model
            self.state, self.words = ("ready" if self.alive else "starting"), message.text
        elif isinstance(message, Activity):
            self.activity = message.text
            self._left, self._heard_at = message.seconds, time.monotonic()
        elif isinstance(message, Failure):
            self.alive = self.learning = False
            self.activity = ""
            self.state = "failed"
            self.words = f"the model has stopped ({message.text[:200]}); items come at random, it starts again"
        elif isinstance(message, NotLearnt):
            self.learning, self.state = False, "failed"
            self.words = f"the model could not learn ({message.text[:200]}); it tries again"
        elif isinstance(message, Ranking):
            self._take_ranking(message)

    def _take_ranking(self, ranking: Ranking) -> None:
        self.last = vars(ranking)
        self.orders += 1
        self.learning, self.ready, self.state = False, ranking.ready, "ready"
        self.about = {reasons["item"]: reasons for reasons in ranking.items}
        self.order = [*self.about]
        self.exhausted, self.seconds = len(self.order) >= ranking.waiting, ranking.seconds
        if ranking.history is not None:
            self.history = ranking.history
            self.unsaved_since = self.unsaved_since or time.monotonic()

    @property
    def unsaved(self) -> bool:
        """Whether the history has waited long enough to be saved."""
        return self.unsaved_since is not None and time.monotonic() - self.unsaved_since > SAVE_EVERY

    def history_to_save(self) -> dict[str, Any] | None:
        """Return the history and mark it as saved."""
        self.unsaved_since = None
        return self.history

    def as_json(self, labels: int) -> dict[str, str]:
        """Return the state and its words, for the header of the page."""
        if self.state == "failed" or not self.alive:
            return {"state": self.state, "words": self.words}
        beside = f"; {self.activity}{self._time_left()}" if self.activity else ""
        if self.learning and labels and (not self.ready or time.monotonic() - self.learning_since > SLOW):
            return {"state": "learning", "words": "model is learning" + beside}
        if not self.ready:
            return {"state": "ready", "words": "model starts once it has labels of two classes" + beside}
        return {"state": "ready", "words": "model is up to date" + beside + self._set_aside()}

    def _time_left(self) -> str:
        """How long the activity still takes; nothing if it has not been heard of for a while, or is late."""
        age = time.monotonic() - self._heard_at
        if self._left is None or age > min(NO_NEWS, self._left):
            return ""
        return f", {in_minutes(self._left - age)} more"

    def _set_aside(self) -> str:
        names = self.last.get("broken") or []
        if not names:
            return ""
        return f"; {len(names)} image{'s' if len(names) > 1 else ''} cannot be read: {', '.join(names[:2])[:80]}"
