"""The model's side of labelling: fit to the log as it stands, order what to ask, and say why.

Runs in a process of its own. N items are looked at: all of them, or a random window of a larger pool, so that an
order takes seconds whatever the size of the file.

N  items looked at    L  labelled    B  items of an order    H  length of a vector    K  classes
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.data.images import BrokenImage
from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.models import Model
from bemps.models.base import take
from bemps.models.content_models import encode_once
from bemps.models.image_contents import encode_readable
from bemps.project.history import History
from bemps.project.project_models import ProjectModel
from bemps.server.model.guess_words import words_for_class
from bemps.server.model.likeness import EXAMPLES, Likeness, unit
from bemps.server.model.measures import Measures
from bemps.server.model.messages import Ranking
from bemps.server.model.window import WINDOW, audit_order, window_of
from bemps.server.review.item_map import ItemMap
from bemps.store import Answer, Store
from bemps.types import Array

EXPLAINED = 200  # items of an order that come with reasons; others are looked at when asked
TYPICAL = 60  # items of the order before there are labels


class Trainer:
    """A learner on the vectors of the items that follows the log of the store.

    Parameters
    ----------
    store : Store
        The database of the project.
    model : ProjectModel
        The model of the project.
    window : int
        The number of items that the model ranks, the labelled ones aside.
    """

    def __init__(self, store: Store, model: ProjectModel, window: int = WINDOW) -> None:
        self.store, self.project_model, self.window = store, model, window
        self.audit = store.audit()
        self.settings = store.read_settings()
        self.broken: dict[str, str] = {}  # items whose image cannot be decoded, with their paths
        self.history = History(self.settings.history)
        self.drawn: tuple[Likeness, ItemMap] | None = None  # the picture of the items, and of which it is
        self._load()

    def take_history(self, history: History) -> None:
        """Continue the rounds of the model before this one."""
        self.history = self.measures.history = history

    def _load(self) -> None:
        """Encode the items that are looked at; again when a label outside of them has come."""
        window = window_of(self.store, self.settings, self.window)
        self.project_model.see_pool([item.content for item in self.store.items(window)])
        self.ids, vectors = self.read(window)
        if self.broken and not self.ids:
            got = f"{len(self.broken):,} that cannot be decoded, such as {min(self.broken.values())}"
            raise InputError("images", expected="at least one", got=got, fix="Repair the files.")
        self._known = frozenset(self.ids)
        classes = [known.name for known in self.store.classes()]
        self.numbers: list[int] = []  # of the classes of the learner, which never change
        self.learner = ActiveLearner(
            self.project_model.on_vectors(vectors),
            vectors,
            ids=self.ids,
            classes=classes,
            strategy=self.project_model.strategy(len(classes)),
            seed=self.settings.seed,
        )
        self._in_step_with: tuple[dict[str, str], set[str], list[str]] = {}, set(), classes
        self.likeness = Likeness(vectors)
        self._typical: list[str] = []
        self.measures = self._measures(self.project_model.on_vectors(vectors))

    def _measures(self, spare: Model) -> Measures:
        return Measures(
            self.learner,
            spare=spare,
            history=self.history,
            audit=audit_order(self.store, self.settings),
            encode=self.read,
            stop_below=self.settings.stop_rise,
            model=self.project_model.kind,
            held_out=self.project_model.held_out,
        )

    def encode(self, contents: list[str]) -> Float[Array, "n H"]:
        """Return the vectors of texts or image files."""
        return np.asarray(self.project_model.encode(contents))

    def read(self, names: Iterable[str]) -> tuple[tuple[str, ...], Float[Array, "n H"]]:
        """Return the items that can be read, and their vectors. Broken images are set aside for good."""
        items = [item for item in self.store.items(names) if item.id not in self.broken]
        rows, vectors = encode_readable(self.encode, self.settings.folder, [item.content for item in items])
        readable = tuple(items[row].id for row in rows)
        self.broken |= {item.id: item.content for item in items if item.id not in frozenset(readable)}
        return readable, vectors

    def learn(self, n: int) -> Ranking:
        """Return a new order of n items, and everything that the page shows about the state of the project."""
        start = time.perf_counter()
        answers = self.store.current()
        self._follow(answers)
        ready = self.learner.fitted_model.ready
        reasons = self._reasons(self._order(n, ready), ready)
        report = self.measures.report(answers) if ready else {}
        return Ranking(
            ready,
            len(self.learner.labels),
            len(self.learner.pool.candidates()),
            str(self.learner.strategy if ready else self.learner.cold_start),
            reasons,
            time.perf_counter() - start,
            sorted(self.broken.values()),
            **report,
        )

    def look(self, name: str) -> dict[str, Any]:
        """Return what the model thinks of one item and why, wherever the item came from."""
        if name in self.broken:
            return {"item": name, "broken": True}
        if not self.learner.fitted_model.ready:
            return {"item": name}
        try:
            row = self.encode([self.store.item(name).content])
        except BrokenImage:
            return {"item": name, "broken": True}
        probs = self.learner.predict(row)[0]
        return {"item": name, "guess": self._guess(probs), "near": self._near(unit(row))[0]}

    def guess_words(self, name: str) -> dict[str, Any]:
        """Return the words of an item that speak for the model's guess; nothing for images and before there is one."""
        if self.settings.kind != "text" or not self.learner.fitted_model.ready:
            return {}
        text = self.store.item(name).content
        code = int(self.learner.predict(self.encode([text]))[0].argmax())
        reasons = words_for_class(text, code, self._predict_once)
        return {"class": self.learner.classes[code]} | asdict(reasons)

    def _predict_once(self, contents: list[str]) -> Float[Array, "n K"]:
        """Probabilities of texts that nobody asks for again: their vectors are not kept."""
        return np.asarray(self.learner.predict(encode_once(self.project_model.encode, contents)))

    # -- the state of the labels -------------------------------------------------------------------------------------

    def _follow(self, answers: Mapping[str, Answer]) -> None:
        """Labels, skips and classes as they are now; nothing is learnt from audit items."""
        settings = self.store.read_settings()  # as they are now
        drawn = self.store.audit()
        if drawn != self.audit:  # somebody asked for more of them: they leave what the model learns from
            self.audit = drawn
            self._load()
        named = {name for name, answer in answers.items() if settings.learns_from(answer)}
        if named - self._known - self.audit - self.broken.keys():
            self._load()
        known = {name: answer for name, answer in answers.items() if name in self._known}
        labels = {name: str(answer.label) for name, answer in known.items() if settings.learns_from(answer)}
        skipped = {name for name, answer in known.items() if name not in labels and answer.kind != "note"}
        present = self.store.classes()
        classes, numbers = [each.name for each in present], [each.id for each in present]
        if self.numbers != numbers[: len(self.numbers)]:  # merged, deleted or in another order: codes have changed
            self.learner.last_classes = None
        self.numbers = numbers
        self.measures.follow_classes(numbers, self.store.counted_classes())
        if (labels, skipped, classes) != self._in_step_with:
            self.learner.pool.sync(labels, skipped, classes, self.store.change_token())
            self.learner.strategy = self.project_model.strategy(len(classes))
            self._in_step_with = labels, skipped, classes

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
        explained = names[:EXPLAINED]
        if not explained:
            return []
        rows = self.learner.pool.positions(explained)
        near = self._near(self.likeness.vectors[rows])
        guesses = self._guesses(rows) if ready else [[] for _ in explained]
        parts: list[dict[str, Any]] = [
            {"item": name, "near": near[i], "guess": guesses[i]} | self._worth(i, ready)
            for i, name in enumerate(explained)
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
