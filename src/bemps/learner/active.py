"""The active learner: ask for a batch, tell its labels, ask again."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bemps import checks
from bemps.errors import InputError
from bemps.gain import remaining_gain
from bemps.learner import door, stopping
from bemps.learner.asked import Batch
from bemps.learner.choosing import choose_batch
from bemps.learner.items import checked_items
from bemps.learner.knowledge import ESTIMATE, Knowledge
from bemps.learner.pool import Pool
from bemps.members.base import Model, count
from bemps.selection import AUTO
from bemps.strategies import Strategy, find
from bemps.types import Array

ESTIMATION_SIZE = 1_000
P = ParamSpec("P")
Result = TypeVar("Result")


def _alone(
    method: Callable[Concatenate["ActiveLearner", P], Result],
) -> Callable[Concatenate["ActiveLearner", P], Result]:
    """One thread at a time in a learner."""

    @wraps(method)
    def guarded(self: "ActiveLearner", *args: P.args, **kwargs: P.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(Any, guarded)


class ActiveLearner:
    """Chooses what to label next from a pool, with any model.

    Learners with the same seed that are told the same labels ask for the same items. Threads may share a learner.

    Parameters
    ----------
    model
        Anything with fit and predict (`bemps.members`), or a scikit-learn classifier, of which it makes an ensemble.
        Where a model also has features, embeddings or surprisal, the strategies that need them can be used.
    items
        Texts, rows of an array, of a DataFrame or of a sparse matrix. They are taken by position.
    ids
        One for each item; their positions as text if left out.
    classes
        The names, in order; others are refused until `add_class`. If left out, labels make them.
    strategy
        A name of `bemps.strategies()` or a function of a Context. "auto" takes `corelog-ties` with at most ten
        classes and `margin-km` with more, and `margin` where no vectors of the items can be had: near ties, unlike each
        other, which the project's own comparisons support for one member or many (docs/recipes.md, "What auto
        takes").
    options
        Those of the strategy.
    cold_start
        The strategy while there are not two classes with a label; it sees embeddings only.
    explain
        Say of each item why it is asked (`Batch.why`), which can take longer than choosing it.
    surprisal
        A vector for each item, where the model has none itself: the strategy `alps` needs them.
    estimation_size
        Items drawn once from the pool, over which gains that do not factorise are averaged.
    seed
        Of all random numbers.
    """

    def __init__(
        self,
        model: Any,
        items: Any,
        *,
        ids: Iterable[Any] | None = None,
        classes: Iterable[Any] | None = None,
        strategy: str | Strategy = AUTO,
        options: Mapping[str, object] | None = None,
        cold_start: str | Strategy = "typiclust",
        explain: bool = True,
        surprisal: ArrayLike | None = None,
        estimation_size: int = ESTIMATION_SIZE,
        seed: int = 0,
    ) -> None:
        self.model, self.items = door.checked_model(model), checked_items(items)
        self.strategy, self.options, self.cold_start = strategy, dict(options or {}), cold_start
        self.estimation_size = checks.whole(estimation_size, "estimation_size", 1)
        self.seed, self.explain = checks.whole(seed, "seed", 0), explain
        names = door.checked_ids(ids, count(self.items))
        self.pool = Pool(names, door.checked_classes(classes), closed=classes is not None)
        rule = door.resolved(strategy, self.model, self.items, len(self.pool.classes))
        door.check_strategy(rule, self.options, self.model, self.items, surprisal)
        find(cold_start)
        self.knowledge = Knowledge(
            self.model, self.items, self.pool, seed, door.checked_surprisal(surprisal, self.items)
        )
        self.asked: Batch | None = None
        self.asked_at = -1
        self.agreement: list[float] = []
        self.last_classes: Int[Array, " M"] | None = None  # what was predicted when the last batch was asked
        self.last_classes_at = -1
        self.saved_as: tuple[Path, str] | None = None  # the folder of this learner, and what was in it
        self._batches: tuple[object, dict[int, Batch]] = None, {}
        self._lock = threading.RLock()

    @_alone
    def ask(self, n: int = 1) -> Batch:
        """The next n items to label.

        The labels, the seed and n decide: asked again with the same n before anything is told, skipped or excluded, it
        is the same batch; with another n, a batch of that size, which takes the place of the one before.
        """
        batch = self._batch(n)
        if self.knowledge.ready and self.last_classes_at != self.pool.version:
            self.agreement = list(self._agreement())
            self.last_classes, self.last_classes_at = self._predicted_classes(), self.pool.version
        self.asked, self.asked_at = batch, self.pool.version
        return batch

    @_alone
    def tell(self, batch: Any, labels: Iterable[Any] | Array | None = None) -> int:
        """Take the labels of a batch in its order (None where there is none yet), or labels by id.

        It returns how many were new. Partial answers are fine, repeated ones harmless; another label for an item
        corrects the earlier one. Ids and labels may be whole numbers, which stand for their text.
        """
        if isinstance(batch, Batch):
            batch = door.labels_by_id(batch.items, labels)
        elif not isinstance(batch, Mapping):
            fix = "For example tell({'3': 'bug'}), or tell(batch, labels)."
            raise InputError("tell", expected="a batch, or labels by id", got=repr(batch)[:80], fix=fix)
        return self.pool.tell(
            {door.checked_name(i, "id"): door.checked_name(label, f"label of {i}") for i, label in batch.items()}
        )

    @_alone
    def skip(self, ids: Iterable[Any]) -> None:
        """Do not ask for these again; a label for one takes it back."""
        self.pool.skip(door.checked_names(ids))

    @_alone
    def exclude(self, ids: Iterable[Any]) -> None:
        """Do not ask for these for now, as others have them in hand; the next call replaces them, with none ends it.

        It changes nothing else: neither what is predicted nor the order of the others.
        """
        self.pool.exclude(door.checked_names(ids))

    @_alone
    def add_class(self, name: Any) -> None:
        """One more class, after those that are there."""
        self.pool.add_class(door.checked_name(name, "class"))

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.pool.classes)

    @property
    def labels(self) -> dict[str, str]:
        """What was told, by id."""
        return dict(self.pool.labels)

    @_alone
    def predict(self, items: Any) -> Float[Array, "N K"]:
        """Probabilities of the classes for any items: the members' weighted mean."""
        self._require_ready("predict")
        probs = self.knowledge.predict(checked_items(items))
        return np.tensordot(self.knowledge.weights(len(probs)), probs, 1)

    @_alone
    def remaining_gain(self) -> float:
        """How far the members differ on the estimation pool: the gain in the Brier score from knowing the true one.

        It does not tell what labels will bring (docs/forecasts.md). One member, or members that all agree, are
        refused: they say nothing.
        """
        self._require_ready("remaining_gain")
        probs, weights = self.knowledge.members(self.estimation_rows())
        checks.disagreement(probs, "remaining_gain")
        return remaining_gain(probs, weights=weights)

    @_alone
    def forecast(self, n: int = 1) -> stopping.Forecast:
        """What the batch of n that `ask(n)` would return is expected to bring; nothing is asked by it."""
        self._require_ready("forecast")
        points, _ = self.knowledge.members(self.estimation_rows())
        checks.disagreement(points, "forecast")
        batch = self._batch(n)
        probs, weights = self.knowledge.members(self.pool.positions(batch.items))
        rows = np.arange(len(batch))
        return stopping.forecast(probs, points, weights, rows, labels=len(self.pool.labels), seed=self.seed)

    @_alone
    def advice(self, rules: Sequence[stopping.Rule], n: int = 1) -> stopping.Advice:
        """Stop or go on, by any of the rules, with n items (or what is left) as the next batch; nothing is asked."""
        door.check_rules(rules)
        left, asked = len(self.pool.candidates()), any(isinstance(rule, stopping.GainBelow) for rule in rules)
        forecast = self.forecast(min(n, left)) if self.knowledge.ready and left and (asked or self._differ()) else None
        agreement = self._agreement() if self.knowledge.ready else tuple(self.agreement)
        return stopping.advice(rules, stopping.Progress(len(self.pool.labels), forecast, agreement))

    @_alone
    def save(self, path: str | PathLike[str], *, force: bool = False, with_model: bool = True) -> None:
        """Write everything but the model's weights to a folder: JSON and plain arrays, never pickle.

        Parameters
        ----------
        path
            A new folder, or the one that this learner was loaded from or saved to.
        force
            Replace another learner that is there, or one that another process has saved since.
        with_model
            False leaves the model out; `load` then needs it. A model that would not come back as itself is refused.
        """
        from bemps.learner.saved import save

        save(self, path, force=force, with_model=with_model)

    @classmethod
    def load(cls, path: str | PathLike[str], model: Model | None = None) -> "ActiveLearner":
        """A saved learner, which asks for the same next batch; `model` in place of the one that was saved.

        Loading runs nothing from the folder: it makes models from a fixed table of classes.
        """
        from bemps.learner.saved import load

        return load(path, model)

    def estimation_rows(self) -> Int[Array, " M"]:
        """Positions of the estimation pool: drawn once from all items, and the same for the whole run."""
        size = min(self.estimation_size, len(self.pool.ids))
        rng = np.random.default_rng([self.seed, ESTIMATE])
        return np.sort(rng.choice(len(self.pool.ids), size, replace=False))

    def _batch(self, n: int) -> Batch:
        """The batch of n in the present state, chosen once."""
        state = self._state()
        if self._batches[0] != state:
            self._batches = state, {}
        if n not in self._batches[1]:
            self._batches[1][n] = choose_batch(self, n)
        return self._batches[1][n]

    def _state(self) -> tuple[object, ...]:
        """What decides a batch beside its size."""
        return self.pool.version, self.pool.excluded, self.strategy, str(self.options)

    def reopen(self) -> None:
        """Take the batch that was asked before this learner was saved for what it was: the one that comes next."""
        if self.asked is not None and self.asked_at == self.pool.version:
            self._batches = self._state(), {len(self.asked): self.asked}

    def _differ(self) -> bool:
        """Whether there are members to compare; a rule that looks at no gain works with one."""
        return checks.differ(self.knowledge.members(self.estimation_rows())[0])

    def _predicted_classes(self) -> Int[Array, " M"]:
        probs, weights = self.knowledge.members(self.estimation_rows())
        return np.tensordot(weights, probs, 1).argmax(1)

    def _agreement(self) -> tuple[float, ...]:
        """How many predicted classes of the estimation pool stayed the same from batch to batch, the present last."""
        if self.last_classes is None or self.last_classes_at == self.pool.version:
            return tuple(self.agreement)
        return *self.agreement, float((self._predicted_classes() == self.last_classes).mean())

    def _require_ready(self, what: str) -> None:
        if not self.knowledge.ready:
            got = f"{len(self.pool.labels)} labels of {len(set(self.pool.labels.values()))} classes"
            raise InputError(what, expected="labels of at least two classes", got=got, fix="Tell some labels first.")

    def __repr__(self) -> str:
        strategy = self.strategy if isinstance(self.strategy, str) else "a function"
        return (
            f"ActiveLearner({type(self.model).__name__}, {len(self.pool.ids)} items, {len(self.pool.labels)} labels, "
            f"{len(self.pool.classes)} classes, strategy={strategy})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())
