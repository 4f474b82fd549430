"""The model's side of labelling: fit to the log as it stands, order what to ask, and say why.

Runs in a process of its own. N items are looked at: all of them, or a random WINDOW of a larger pool, so that an
order takes seconds whatever the size of the file.

N  items looked at    L  labelled    B  items of an order    H  length of a vector    K  classes
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.content_models import images_in
from bemps.data.images import BrokenImage
from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.members import Model
from bemps.members.base import take
from bemps.project_models import ProjectModel
from bemps.serve.board import random_order
from bemps.serve.history import History
from bemps.serve.likeness import EXAMPLES, Likeness, unit
from bemps.serve.measures import STOP_BELOW, Measures
from bemps.store import Answer, Store
from bemps.types import Array

WINDOW = 20_000
EXPLAINED = 200  # items of an order that come with reasons; others are looked at when asked
TYPICAL = 60  # items of the order before there are labels


class Coach:
    """A learner on the vectors of the items, kept up to date with the log of the store."""

    def __init__(self, store: Store, chosen: ProjectModel) -> None:
        self.store, self.chosen = store, chosen
        self.audit = store.audit()
        self.settings = store.settings
        self.broken: dict[str, str] = {}  # items whose image cannot be decoded, with their paths
        self.history = History(self.settings.get("history"))
        self._load()

    def _load(self) -> None:
        """Encode the items that are looked at; again when a label outside of them has come."""
        window = self._window()
        self.chosen.see_pool([item.content for item in self.store.items(window)])
        self.ids, vectors = self._readable(window)
        if self.broken and not self.ids:
            got = f"{len(self.broken):,} that cannot be decoded, such as {min(self.broken.values())}"
            raise InputError("images", expected="at least one", got=got, fix="Repair the files.")
        self._known = frozenset(self.ids)
        self.learner = ActiveLearner(
            self.chosen.on_vectors(vectors),
            vectors,
            ids=self.ids,
            classes=[one.name for one in self.store.classes()],
            strategy=self.chosen.strategy(len(self.store.classes())),
            seed=int(self.settings.get("seed", 0)),
        )
        self.likeness = Likeness(vectors)
        self._typical: list[str] = []
        self.measures = self._measures(self.chosen.on_vectors(vectors))

    def _measures(self, spare: Model) -> Measures:
        order = random_order(self.store.ids(), int(self.settings.get("seed", 0)))
        return Measures(
            self.learner,
            spare=spare,
            history=self.history,
            audit=[name for name in order if name in self.audit],
            encode=self._readable,
            stop_below=float(self.settings.get("stop_rise", STOP_BELOW)),
        )

    def encode(self, contents: list[str]) -> Float[Array, "n H"]:
        return np.asarray(self.chosen.encode(contents))

    def _readable(self, names: Iterable[str]) -> tuple[tuple[str, ...], Float[Array, "n H"]]:
        """The vectors of items, and which items they are: those whose image is broken are set aside, for good."""
        items = [item for item in self.store.items(names) if item.id not in self.broken]
        if not items:
            return (), np.zeros((0, 0))
        try:
            vectors = self.encode([item.content for item in items])
        except BrokenImage:
            rows = images_in(str(self.settings["folder"]), [item.content for item in items]).broken()
            self.broken |= {items[row].id: items[row].content for row in rows}
            if not rows:
                raise
            return self._readable(names)
        return tuple(item.id for item in items), vectors

    def _window(self) -> tuple[str, ...]:
        """The first items of the random order, which are also those that come while the model is not ready."""
        order = random_order(self.store.ids(), int(self.settings.get("seed", 0)))
        drawn = {*[item for item in order if item not in self.audit][:WINDOW], *self.store.current()}
        return tuple(item for item in self.store.ids() if item in drawn and item not in self.audit)

    def learn(self, n: int) -> dict[str, Any]:
        """A new order of n items, and everything that the page tells about where one is."""
        start = time.perf_counter()
        answers = self.store.current()
        self._catch_up(answers)
        ready = self.learner.knowledge.ready
        names = self._order(n, ready)
        message = {
            "is": "ranking",
            "ready": ready,
            "labels": len(self.learner.labels),
            "waiting": len(self.learner.pool.candidates()),
            "strategy": self.learner.strategy if ready else self.learner.cold_start,
            "items": self._reasons(names, ready),
        }
        if ready:
            message |= self.measures.report(answers)
        return message | {"broken": sorted(self.broken.values()), "seconds": time.perf_counter() - start}

    def look(self, name: str) -> dict[str, Any]:
        """Why and what the model makes of one item, wherever it came from."""
        if name in self.broken:
            return {"item": name, "broken": True}
        if not self.learner.knowledge.ready:
            return {"item": name}
        try:
            row = self.encode([self.store.item(name).content])
        except BrokenImage:
            return {"item": name, "broken": True}
        probs = self.learner.predict(row)[0]
        return {"item": name, "guess": self._guess(probs), "near": self._near(unit(row))[0]}

    # -- the state of the labels -------------------------------------------------------------------------------------

    def _catch_up(self, answers: Mapping[str, Answer]) -> None:
        """Labels, skips and classes as they are now; nothing is learnt from audit items."""
        named = {name for name, answer in answers.items() if answer.label is not None}
        if named - self._known - self.audit - self.broken.keys():
            self._load()
        pool = self.learner.pool
        known = {name: answer for name, answer in answers.items() if name in self._known}
        labels = {name: answer.label for name, answer in known.items() if answer.label is not None}
        skipped = {name for name, answer in known.items() if answer.label is None and answer.kind != "note"}
        classes = [one.name for one in self.store.classes()]
        if (labels, skipped, classes) != (pool.labels, pool.skipped, pool.classes):
            pool.labels, pool.skipped, pool.classes = labels, skipped, classes
            self.learner.strategy = self.chosen.strategy(len(classes))
            pool.version = self.store.change_token()

    def _order(self, n: int, ready: bool) -> list[str]:
        left = len(self.learner.pool.candidates())
        if not left:
            return []
        if ready:
            return list(self.learner.ask(min(n, left)).items)
        out = self.learner.pool.labels.keys() | self.learner.pool.skipped
        rest = [name for name in self._typical if name not in out]
        if len(rest) < min(n, left) // 2 + 1:
            self._typical = rest = list(self.learner.ask(min(max(n, TYPICAL), left)).items)
        return rest

    # -- reasons -----------------------------------------------------------------------------------------------------

    def _reasons(self, names: list[str], ready: bool) -> list[dict[str, Any]]:
        told = names[:EXPLAINED]
        if not told:
            return []
        rows = self.learner.pool.positions(told)
        near = self._near(self.likeness.vectors[rows])
        guesses = self._guesses(rows) if ready else [[] for _ in told]
        parts: list[dict[str, Any]] = [
            {"item": name, "near": near[i], "guess": guesses[i]} | self._worth(i, ready) for i, name in enumerate(told)
        ]
        reasons = [part | stands for part, stands in zip(parts, self._stands_for(rows), strict=True)]
        return reasons + [{"item": name} for name in names[EXPLAINED:]]

    def _worth(self, i: int, ready: bool) -> dict[str, float]:
        """What the i-th label is expected to bring by itself; nothing before there is a model."""
        if not ready or self.learner.asked is None:
            return {}
        why = self.learner.asked.why[i]
        return {"gain": why.gain, "share": why.share}

    def _stands_for(self, rows: Int[Array, " B"]) -> list[dict[str, Any]]:
        """The waiting items that are more like each of these than like anything labelled; nothing without labels."""
        labelled, _ = self.learner.pool.labelled()
        if not len(labelled):
            return [{} for _ in rows]
        counts, examples = self.likeness.stands_for(rows, self.learner.pool.candidates(), labelled)
        return [{"stands_for": n, "others": self._names(some)} for n, some in zip(counts, examples, strict=True)]

    def _near(self, vectors: Float[Array, "B H"]) -> list[list[str]]:
        """The labelled items that are most like these."""
        labelled, _ = self.learner.pool.labelled()
        return [self._names(rows) for rows in self.likeness.nearest(vectors, labelled)]

    def _names(self, rows: list[int]) -> list[str]:
        return [self.ids[row] for row in rows]

    def _guesses(self, rows: Int[Array, " B"]) -> list[list[list[Any]]]:
        probs = self.learner.predict(take(self.learner.items, rows))
        return [self._guess(row) for row in probs]

    def _guess(self, probs: Float[Array, " K"]) -> list[list[Any]]:
        best = np.argsort(-probs)[:EXAMPLES]
        return [[self.learner.classes[code], float(probs[code])] for code in best]
