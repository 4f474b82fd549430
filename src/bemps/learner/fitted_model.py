"""The model of a learner: fitted once for each state of the labels, and its predictions and vectors."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import InputError
from bemps.learner.input_checks import missing_vectors_error
from bemps.learner.labelled_pool import LabelledPool
from bemps.learner.unlabelled_vectors import unlabelled_vectors
from bemps.models.base import HasEmbeddings, HasFeatures, HasSurprisal, HasWeights, Items, Model, UsesPool, count, take
from bemps.types import Array

FIT, CHOOSE, ESTIMATE, WORDS = range(4)  # one stream of random numbers per purpose
Positions = Int[Array, " n"]


class FittedModel:
    """A model's predictions and vectors for the items of a pool, by their positions.

    Parameters
    ----------
    model : Model
        The model. It is fitted when it is first needed.
    items : Items
        All items.
    pool : LabelledPool
        Their ids and labels.
    seed : int
        Seed of all random numbers.
    surprisal : array of float (N, T), optional
        Surprisal vectors of the items, if the model computes none.
    """

    def __init__(
        self, model: Model, items: Items, pool: LabelledPool, seed: int, surprisal: Float[Array, "N T"] | None = None
    ) -> None:
        self.model, self._items, self._pool, self._seed = model, items, pool, seed
        self.item_surprisal = surprisal
        self._version = -1
        self._vectors: Float[Array, "N H"] | None = None
        self._predictions: dict[
            bytes | None, Float[Array, "E n K"]
        ] = {}  # by the bytes of the rows; None: the full pool
        if isinstance(model, UsesPool) and model.pool is None:
            model.see_pool(items)

    def generator(self, purpose: int) -> np.random.Generator:
        """Return the random numbers of one purpose in the present state of the labels."""
        return checks.generator(self._seed, purpose, self._pool.version)

    @property
    def ready(self) -> bool:
        """Whether two classes have a label. No model can be fitted before."""
        return len(set(self._pool.labels.values())) >= 2

    def fitted(self) -> Model:
        """Return the model, fitted to the present labels."""
        if self._version != self._pool.version:
            rows, codes = self._pool.labelled()
            self.model.fit(take(self._items, rows), codes, list(self._pool.classes), self.generator(FIT))
            self._version = self._pool.version
            self._predictions = {}
        return self.model

    def members(self, rows: Positions) -> tuple[Float[Array, "E n K"], Float[Array, " E"]]:
        """Return the predictions of the members for some items, and the weights of the members.

        Predictions are computed once for each fit: a batch, its reasons, the remaining gain and the forecast all use
        them. For many rows the full pool is predicted, for few rows only these. The rows alone decide which, because
        the last digits depend on what is predicted together, and batches depend on the last digits.
        """
        model = self.fitted()
        full_pool = 2 * len(rows) > count(self._items)
        key = None if full_pool else rows.tobytes()
        if key not in self._predictions:
            self._predictions[key] = self.predict(self._items if full_pool else take(self._items, rows), model)
        probs = self._predictions[key].take(rows, axis=1) if full_pool else self._predictions[key].copy()
        return probs, self.weights(len(probs))

    def predict(self, items: Items, model: Model | None = None) -> Float[Array, "E n K"]:
        """Predict any items, and check the answer of the model."""
        fitted = self.fitted() if model is None else model
        return checked_answer(fitted.predict(items), count(items), len(self._pool.classes), fitted)

    def weights(self, E: int) -> Float[Array, " E"]:
        """Return the weights p(theta|L) of E members; uniform if the model has none."""
        model = self.fitted()
        if not isinstance(model, HasWeights):
            return np.full(E, 1 / E)
        checks.distribution(model.weights, E, f"weights of {type(model).__name__}")
        return np.asarray(model.weights)

    def most_probable(self, rows: Positions) -> Float[Array, "n K"]:
        """Return the predictions of the single most probable model, or the mean of the members if there is none."""
        model = self.fitted()
        own: Callable[[Items], Float[Array, "n K"]] | None = getattr(model, "predict_map", None)
        if own is not None:
            return own(take(self._items, rows))
        probs, weights = self.members(rows)
        return np.tensordot(weights, probs, 1)

    def features(self, rows: Positions) -> Float[Array, "n H"]:
        """Return the features of some items from the current model."""
        model = self.fitted()
        if not isinstance(model, HasFeatures):
            raise missing_vectors_error(model, "features")
        return model.features(take(self._items, rows))

    def surprisal(self, rows: Positions) -> Float[Array, "n H"]:
        """Return the surprisal vectors of some items."""
        if self.item_surprisal is not None:
            return self.item_surprisal[rows]
        if not isinstance(self.model, HasSurprisal):
            raise missing_vectors_error(self.model, "surprisal")
        return self.model.surprisal(take(self._items, rows))

    def embeddings(self, rows: Positions) -> Float[Array, "n H"]:
        """Return vectors that need no label: embeddings of the model, or vectors of the items themselves."""
        if self._vectors is None:
            rng = np.random.default_rng([self._seed, WORDS])
            model = self.model if isinstance(self.model, HasEmbeddings) else None
            self._vectors = model.embeddings(self._items) if model is not None else unlabelled_vectors(self._items, rng)
        return self._vectors[rows]

    def context_fields(
        self, needs: tuple[str, ...], candidates: Positions, points: Int[Array, " M"]
    ) -> dict[str, Array]:
        """Return the fields of a Context that a strategy needs beside the members' predictions.

        Parameters
        ----------
        needs : tuple of str
            The needs of the strategy (`StrategyEntry.needs`).
        candidates : array of int (N,)
            Positions of the candidates.
        points : array of int (M,)
            Positions of the estimation pool.

        Returns
        -------
        dict of str to array
            The fields by name.
        """
        labelled, codes = self._pool.labelled()
        members = self.most_probable if "map" in needs else partial(_first, self.members)
        sources: dict[str, tuple[Callable[[Positions], Array], Positions]] = {
            "features": (self.features, candidates),
            "embeddings": (self.embeddings, candidates),
            "surprisal": (self.surprisal, candidates),
            "labelled_features": (self.features, labelled),
            "labelled_embeddings": (self.embeddings, labelled),
            "labelled_probs": (self.most_probable, labelled),
            "labelled_classes": (lambda _: codes, labelled),
            "estimation": (members, points),
            "estimation_features": (self.features, points),
        }
        fields = {name: source(rows) for name, (source, rows) in sources.items() if name in needs}
        if "map" in needs and "estimation" in fields:
            fields["estimation"] = fields["estimation"][None]
        return fields


def _first(members: Callable[[Positions], tuple[Array, Array]], rows: Positions) -> Array:
    return members(rows)[0]


def checked_answer(answer: object, N: int, K: int, model: object) -> Float[Array, "E N K"]:
    """Check that a model predicted probabilities of every item and class.

    Parameters
    ----------
    answer : object
        What `predict` returned.
    N : int
        The number of items.
    K : int
        The number of classes.
    model : object
        The model, for messages.

    Returns
    -------
    array of float (E, N, K)
        The probabilities.

    Raises
    ------
    InputError
        The answer has another shape, or does not hold probabilities.
    """
    what = f"{type(model).__name__}.predict"
    if hasattr(answer, "detach"):  # a torch tensor, which may carry a gradient
        answer = answer.detach().cpu().numpy()
    if N == 0:
        return np.asarray(answer)
    probs = checks.probabilities(np.asarray(answer), what)
    if probs.shape[1:] != (N, K):
        raise InputError(
            what,
            expected=f"an array (E, {N}, {K}): members, items, classes",
            got=f"shape {probs.shape}",
            fix="Return one row for each item and one column for each class, members first.",
        )
    return probs
