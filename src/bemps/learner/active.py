"""The active learner: ask for a batch, tell its labels, ask again."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import numpy as np
from jaxtyping import Float, Int

from bemps.checks import batch_size
from bemps.context import Context
from bemps.errors import InputError
from bemps.gain import remaining_gain
from bemps.learner import stopping
from bemps.learner.asked import Batch, Why, reasons
from bemps.learner.knowledge import CHOOSE, ESTIMATE, Knowledge
from bemps.learner.pool import Pool
from bemps.members.base import Items, Model, count
from bemps.strategies import Strategy, find, run
from bemps.types import Array, Selection

ESTIMATION_SIZE = 1_000


class ActiveLearner:
    """Chooses what to label next from a pool, with any model.

    model            anything with fit and predict (`bemps.members`); where it also has features, embeddings or
                     surprisal, the strategies that need them can be used
    items            texts, or rows of an array
    ids              one for each item; their positions as text if left out
    classes          the names, in order; others are refused until `add_class`. If left out, labels make them
    strategy         a name of `bemps.strategies()` or a function of a Context; `options` are its own
    cold_start       the strategy while there are not two classes with a label; it sees embeddings only
    explain          say of each item why it is asked (`Batch.why`), which can take longer than choosing it
    surprisal        a vector for each item, where the model has none itself: the strategy `alps` needs them
    estimation_size  items drawn once from the pool, over which gains that do not factorise are averaged

    Learners with the same seed that are told the same labels ask for the same items.
    """

    def __init__(
        self,
        model: Model,
        items: Items,
        *,
        ids: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        strategy: str | Strategy = "coremse",
        options: Mapping[str, object] | None = None,
        cold_start: str | Strategy = "typiclust",
        explain: bool = True,
        surprisal: Float[Array, "N T"] | None = None,
        estimation_size: int = ESTIMATION_SIZE,
        seed: int = 0,
    ) -> None:
        self.model, self.items, self.strategy, self.options = model, items, strategy, dict(options or {})
        self.cold_start, self.estimation_size, self.seed = cold_start, estimation_size, seed
        self.explain = explain
        names = tuple(map(str, range(count(items)))) if ids is None else tuple(ids)
        if len(names) != count(items):
            got = f"{len(names)} ids of {count(items)} items"
            raise InputError("ids", expected="one for each item", got=got, fix="Give both in the same order.")
        for known in (strategy, cold_start):
            find(known)
        self.pool = Pool(names, list(classes or []), closed=classes is not None)
        self.knowledge = Knowledge(model, items, self.pool, seed, surprisal)
        self.asked: Batch | None = None
        self.asked_at = -1
        self.agreement: list[float] = []
        self._last_classes: Int[Array, " N"] | None = None

    def ask(self, n: int = 1) -> Batch:
        """The next n items to label. Asked again before anything is told or skipped, it is the same batch."""
        if self.asked is not None and self.asked_at == self.pool.version:
            return self.asked
        candidates = self.pool.candidates()
        size = batch_size(n, len(candidates))
        if self.knowledge.ready:
            self._track_agreement()
            chosen, name = self._choose(self.strategy, candidates, size, self.options)
        else:
            chosen, name = self._choose(self.cold_start, candidates, size, {})
        why = self._why(chosen, candidates) if self.explain else ()
        names = tuple(self.pool.ids[candidates[i]] for i in chosen.indices)
        self.asked = Batch(self._batch_id(names), names, tuple(map(float, chosen.scores)), why, name)
        self.asked_at = self.pool.version
        return self.asked

    def tell(self, batch: Batch | Mapping[str, str], labels: Sequence[str | None] | None = None) -> int:
        """Labels of a batch in its order (None where there is none yet), or by id; returns how many were new.

        Partial answers are fine, repeated ones harmless; another label for an item corrects the earlier one.
        """
        if not isinstance(batch, Batch):
            return self.pool.tell(batch)
        if labels is None or len(labels) != len(batch):
            got = "none" if labels is None else str(len(labels))
            fix = "Give None for an item that has no label yet, or tell({id: label})."
            raise InputError("labels", expected=f"{len(batch)}, one for each item of the batch", got=got, fix=fix)
        given = zip(batch.items, labels, strict=True)
        return self.pool.tell({name: label for name, label in given if label is not None})

    def skip(self, ids: Iterable[str]) -> None:
        """Do not ask for these again; a label for one takes it back."""
        self.pool.skip(ids)

    def add_class(self, name: str) -> None:
        """One more class, after those that are there."""
        self.pool.add_class(name)

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.pool.classes)

    @property
    def labels(self) -> dict[str, str]:
        """What was told, by id."""
        return dict(self.pool.labels)

    def predict(self, items: Items) -> Float[Array, "N K"]:
        """Probabilities of the classes for any items: the members' weighted mean."""
        self._require_ready("predict")
        probs = self.knowledge.fitted().predict(items)
        return np.tensordot(self.knowledge.weights(len(probs)), probs, 1)

    def remaining_gain(self) -> float:
        """What could still be gained in the Brier score on the estimation pool, if everything were known."""
        self._require_ready("remaining_gain")
        probs, weights = self.knowledge.members(self.estimation_rows())
        return remaining_gain(probs, weights=weights)

    def forecast(self, n: int = 1) -> stopping.Forecast:
        """What the next batch of n is expected to bring; it asks for that batch."""
        self._require_ready("forecast")
        batch = self.ask(n)
        probs, weights = self.knowledge.members(self.pool.positions(batch.items))
        points, _ = self.knowledge.members(self.estimation_rows())
        return stopping.forecast(probs, points, weights, np.arange(len(batch)), self.seed)

    def advice(self, rules: Sequence[stopping.Rule], n: int = 1) -> stopping.Advice:
        """Stop or go on, by any of the rules, with n items as the next batch."""
        told = self.forecast(n) if self.knowledge.ready and len(self.pool.candidates()) else None
        progress = stopping.Progress(len(self.pool.labels), told, tuple(self.agreement))
        return stopping.advice(rules, progress)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything but the model's weights to a folder: JSON and plain arrays, never pickle."""
        from bemps.learner.saved import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], model: Model | None = None) -> "ActiveLearner":
        """A saved learner, which asks for the same next batch; `model` where it could not be described in JSON."""
        from bemps.learner.saved import load

        return load(path, model)

    def _choose(
        self, strategy: str | Strategy, candidates: Int[Array, " N"], n: int, options: Mapping[str, object]
    ) -> tuple[Selection, str]:
        entry = find(strategy)
        ready = self.knowledge.ready
        known = self.knowledge.members(candidates) if ready and "map" not in entry.needs else None
        if ready and "map" in entry.needs:
            known = self.knowledge.most_probable(candidates)[None], np.ones(1)
        needs = entry.needs if ready else ("embeddings", "labelled_embeddings")
        context = Context(
            n=n,
            size=len(candidates),
            rng=self.knowledge.generator(CHOOSE),
            probs=None if known is None else known[0],
            weights=None if known is None else known[1],
            **self.knowledge.bring(needs, candidates, self.estimation_rows()),
        )
        name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", "own")
        return run(strategy, context, **options), name

    def _why(self, chosen: Selection, candidates: Int[Array, " N"]) -> tuple[Why, ...]:
        if self.knowledge.ready:
            return reasons(*self.knowledge.members(candidates), chosen)
        stands = [1] * len(chosen) if chosen.clusters is None else map(len, chosen.clusters)
        return tuple(Why(0.0, 0.0, number) for number in stands)

    def estimation_rows(self) -> Int[Array, " M"]:
        """Positions of the estimation pool: drawn once from all items, and the same for the whole run."""
        size = min(self.estimation_size, len(self.pool.ids))
        rng = np.random.default_rng([self.seed, ESTIMATE])
        return np.sort(rng.choice(len(self.pool.ids), size, replace=False))

    def _track_agreement(self) -> None:
        """How many classes that `predict` tells of the estimation pool stayed the same since the last batch."""
        probs, weights = self.knowledge.members(self.estimation_rows())
        now = np.tensordot(weights, probs, 1).argmax(1)
        if self._last_classes is not None:
            self.agreement.append(float((now == self._last_classes).mean()))
        self._last_classes = now

    def _batch_id(self, names: tuple[str, ...]) -> str:
        text = "\n".join([str(self.seed), str(self.pool.version), *names])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def _require_ready(self, what: str) -> None:
        if not self.knowledge.ready:
            got = f"{len(self.pool.labels)} labels of {len(set(self.pool.labels.values()))} classes"
            raise InputError(what, expected="labels of at least two classes", got=got, fix="Tell some labels first.")
