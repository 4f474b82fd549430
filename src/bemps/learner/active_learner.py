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
from bemps._utils.class_names import known_name
from bemps.acquisition.selection import AUTO
from bemps.acquisition.strategy_registry import Strategy, find_strategy
from bemps.errors import InputError
from bemps.gain import remaining_gain
from bemps.learner import input_checks, stopping
from bemps.learner.batch import Batch
from bemps.learner.batch_choice import choose_batch
from bemps.learner.fitted_model import ESTIMATE, FittedModel
from bemps.learner.item_input import checked_items
from bemps.learner.labelled_pool import LabelledPool
from bemps.models.base import Model, count
from bemps.types import Array, Progress

ESTIMATION_SIZE = 1_000
P = ParamSpec("P")
Result = TypeVar("Result")


def _one_thread(
    method: Callable[Concatenate["ActiveLearner", P], Result],
) -> Callable[Concatenate["ActiveLearner", P], Result]:
    """Let one thread at a time use a learner."""

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
    model : object
        Anything with fit and predict (`bemps.models`), or a scikit-learn classifier, of which it makes an ensemble.
        Where a model also has features, embeddings or surprisal, the strategies that need them can be used.
    items : sequence or array
        Texts, rows of an array, of a DataFrame or of a sparse matrix. They are taken by position.
    ids : iterable, optional
        One id for each item. The default is their positions as text.
    classes : iterable, optional
        The names of the classes, in order. Others are refused until `add_class`. By default labels add classes.
    strategy : str or callable
        A name of `bemps.strategies()` or a function of a Context. "auto" takes `corelog-ties` with at most ten
        classes and `margin-km` with more, and `margin` where the items have no vectors: near ties that differ
        from each other. The project's own comparisons support this for one member or many
        (docs/appendices/recipes.md, "What auto takes").
    options : mapping, optional
        Options of the strategy.
    cold_start : str or callable
        The strategy while there are not two classes with a label; it sees embeddings only.
    explain : bool
        Whether each item comes with a reason (`Batch.why`), which can take longer than choosing it.
    surprisal : array (N, T), optional
        A vector for each item, if the model computes none. The strategy `alps` needs them.
    estimation_size : int
        Items drawn once from the pool, over which gains that do not factorise are averaged.
    seed : int
        Seed of all random numbers.
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
        self.model, self.items = input_checks.checked_model(model), checked_items(items)
        self.strategy, self.options, self.cold_start = strategy, dict(options or {}), cold_start
        self.estimation_size = checks.integer(estimation_size, "estimation_size", 1)
        self.seed, self.explain = checks.integer(seed, "seed", 0), explain
        names = input_checks.checked_ids(ids, count(self.items))
        self.pool = LabelledPool(names, input_checks.checked_classes(classes), closed=classes is not None)
        rule = input_checks.resolved_strategy(strategy, self.model, self.items, len(self.pool.classes))
        input_checks.check_strategy(rule, self.options, self.model, self.items, surprisal)
        find_strategy(cold_start, "cold_start")
        self.fitted_model = FittedModel(
            self.model, self.items, self.pool, seed, input_checks.checked_surprisal(surprisal, self.items)
        )
        self.asked: Batch | None = None
        self.asked_at = -1
        self.agreement: list[float] = []
        self.last_classes: Int[Array, " M"] | None = None  # predicted classes when the last batch was asked
        self.last_classes_at = -1
        self.saved_as: tuple[Path, str] | None = None  # the folder of this learner, and its token
        self._batches: tuple[object, dict[int, Batch]] = None, {}
        self._lock = threading.RLock()

    @_one_thread
    def ask(self, n: int = 1) -> Batch:
        """Return the next n items to label.

        Parameters
        ----------
        n : int
            The number of items.

        Returns
        -------
        Batch
            The items. The labels, the seed and n decide which. The same n gives the same batch until something is
            told, skipped or excluded. Another n gives a batch of that size, which replaces the one before.
        """
        batch = self._batch(n)
        if self.fitted_model.ready and self.last_classes_at != self.pool.version:
            self.agreement = list(self._agreement())
            self.last_classes, self.last_classes_at = self.predicted_classes(), self.pool.version
        self.asked, self.asked_at = batch, self.pool.version
        return batch

    @_one_thread
    def tell(self, batch: Any, labels: Iterable[Any] | Array | None = None) -> int:
        """Add labels. Another label for an item corrects the earlier one.

        Parameters
        ----------
        batch : Batch or mapping
            A batch, or labels by id. Ids and labels may be integers, which stand for their text.
        labels : iterable, optional
            The labels of a batch, in its order; None for an item without a label.

        Returns
        -------
        int
            The number of labels that were new.
        """
        if isinstance(batch, Batch):
            batch = input_checks.labels_by_id(batch.items, labels)
        elif not isinstance(batch, Mapping):
            fix = "For example tell({'3': 'bug'}), or tell(batch, labels)."
            raise InputError("tell", expected="a batch, or labels by id", got=repr(batch)[:80], fix=fix)
        names = input_checks.checked_labels(batch)
        return self.pool.tell({i: known_name(label, self.pool.classes) for i, label in names.items()})

    @_one_thread
    def skip(self, ids: Iterable[Any]) -> None:
        """Do not ask for these items again. A label for an item ends this.

        Parameters
        ----------
        ids : iterable
            The ids of the items.
        """
        self.pool.skip(input_checks.checked_names(ids))

    @_one_thread
    def exclude(self, ids: Iterable[Any]) -> None:
        """Do not ask for these items for now, for example because others are labelling them.

        Predictions and the order of the other items stay the same.

        Parameters
        ----------
        ids : iterable
            The ids of the items. They replace those of the call before; none ends the exclusion.
        """
        self.pool.exclude(input_checks.checked_names(ids))

    @_one_thread
    def add_class(self, name: Any) -> None:
        """Add a class after the present ones.

        Parameters
        ----------
        name : str
            The name of the class.
        """
        self.pool.add_class(known_name(input_checks.checked_name(name, "class"), self.pool.classes))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in order."""
        return tuple(self.pool.classes)

    @property
    def labels(self) -> dict[str, str]:
        """The labels by id."""
        return dict(self.pool.labels)

    @_one_thread
    def predict(self, items: Any) -> Float[Array, "N K"]:
        """Predict any items.

        Parameters
        ----------
        items : sequence or array
            Items of the kind that the learner was made with.

        Returns
        -------
        array (N, K)
            Probabilities of the classes: the weighted mean over the members.

        Raises
        ------
        InputError
            If fewer than two classes have a label.
        """
        self._require_ready("predict")
        probs = self.fitted_model.predict(checked_items(items))
        return np.tensordot(self.fitted_model.weights(len(probs)), probs, 1)

    @_one_thread
    def remaining_gain(self) -> float:
        """Measure how far the members differ on the estimation pool.

        Returns
        -------
        float
            The gain in the Brier score from knowing the true member. It is no forecast of the next labels
            (docs/appendices/forecasts.md).

        Raises
        ------
        InputError
            If there is one member, or all members agree.
        """
        self._require_ready("remaining_gain")
        probs, weights = self.fitted_model.members(self.estimation_rows())
        checks.require_disagreement(probs, "remaining_gain")
        return remaining_gain(probs, weights=weights)

    @_one_thread
    def forecast(self, n: int = 1) -> stopping.Forecast:
        """Forecast the gain of the batch that `ask(n)` would return. Nothing is asked.

        Parameters
        ----------
        n : int
            The size of the batch.

        Returns
        -------
        Forecast
            The expected gain of the batch.
        """
        self._require_ready("forecast")
        points, _ = self.fitted_model.members(self.estimation_rows())
        checks.require_disagreement(points, "forecast")
        batch = self._batch(n)
        probs, weights = self.fitted_model.members(self.pool.positions(batch.items))
        rows = np.arange(len(batch))
        return stopping.forecast(probs, points, weights, rows, labels=len(self.pool.labels), seed=self.seed)

    @_one_thread
    def advice(self, rules: Sequence[stopping.StoppingRule], n: int | None = None) -> stopping.Advice:
        """Advise whether to stop labelling. Nothing is asked.

        Parameters
        ----------
        rules : sequence of StoppingRule
            The stopping rules. Any of them can stop.
        n : int, optional
            The size of the next batch; fewer if fewer items are left. The default is the size of the last batch, at
            least 10.

        Returns
        -------
        Advice
            Whether to stop, and the reasons.
        """
        input_checks.check_rules(rules)
        left, asked = len(self.pool.candidates()), any(isinstance(rule, stopping.GainBelow) for rule in rules)
        size = max(stopping.SMALLEST, len(self.asked or ())) if n is None else n
        looked = self.fitted_model.ready and left and (asked or self._differ())
        forecast = self.forecast(min(size, left)) if looked else None
        agreement = self._agreement() if self.fitted_model.ready else tuple(self.agreement)
        return stopping.advice(rules, stopping.LabellingProgress(len(self.pool.labels), forecast, agreement))

    @_one_thread
    def save(self, path: str | PathLike[str], *, force: bool = False, with_model: bool = True) -> None:
        """Write everything but the model's weights to a folder: JSON and plain arrays, never pickle.

        Parameters
        ----------
        path : path
            A new folder, or the one that this learner was loaded from or saved to.
        force : bool
            Whether to replace another learner in the folder, or one that another process has saved since.
        with_model : bool
            Whether to save the model. Without it, `load` needs the model. A model that cannot be restored is refused.
        """
        from bemps.learner.saving.saved_learner import save

        save(self, path, force=force, with_model=with_model)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        model: Model | None = None,
        *,
        cache: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> "ActiveLearner":
        """Load a saved learner. It asks for the same next batch.

        Parameters
        ----------
        path : path
            The folder, or a zip file that holds it, such as the page makes.
        model : Model, optional
            The model to use in place of the saved one.
        cache : path, optional
            A folder for vectors, if the saved model names none that is here. The default is a temporary folder.
        progress : callable, optional
            Called with (task, done, total) while the model learns, which takes minutes if its encoder is fine-tuned.

        Returns
        -------
        ActiveLearner
            The learner.

        Notes
        -----
        Loading runs no code from the folder. It makes models from a fixed table of classes.
        """
        from bemps.learner.saving.saved_learner import load

        return load(path, model, None if cache is None else str(cache), progress)

    def estimation_rows(self) -> Int[Array, " M"]:
        """Return the positions of the estimation pool, drawn once from all items."""
        size = min(self.estimation_size, len(self.pool.ids))
        rng = np.random.default_rng([self.seed, ESTIMATE])
        return np.sort(rng.choice(len(self.pool.ids), size, replace=False))

    def _batch(self, n: int) -> Batch:
        """Return the batch of n in the present state, chosen once."""
        state = self._state()
        if self._batches[0] != state:
            self._batches = state, {}
        if n not in self._batches[1]:
            self._batches[1][n] = choose_batch(self, n)
        return self._batches[1][n]

    def _state(self) -> tuple[object, ...]:
        """Return what decides a batch beside its size."""
        return self.pool.version, self.pool.excluded, self.strategy, str(self.options)

    def restore_asked_batch(self) -> None:
        """Make the batch that was asked before this learner was saved the next batch again."""
        if self.asked is not None and self.asked_at == self.pool.version:
            self._batches = self._state(), {len(self.asked): self.asked}

    def _differ(self) -> bool:
        """Whether there are members that differ. Rules that use no gain work without."""
        return checks.members_differ(self.fitted_model.members(self.estimation_rows())[0])

    def predicted_classes(self) -> Int[Array, " M"]:
        """Return the code of the most probable class of every item of the estimation pool."""
        probs, weights = self.fitted_model.members(self.estimation_rows())
        return np.tensordot(weights, probs, 1).argmax(1)

    def _agreement(self) -> tuple[float, ...]:
        """Return the share of predicted classes that stayed the same from batch to batch, the present last."""
        if self.last_classes is None or self.last_classes_at == self.pool.version:
            return tuple(self.agreement)
        return *self.agreement, float((self.predicted_classes() == self.last_classes).mean())

    def _require_ready(self, what: str) -> None:
        if not self.fitted_model.ready:
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
