"""What the model knows: fitted once for each state of the labels, asked for only what a strategy needs."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import InputError
from bemps.learner.door import cannot_serve
from bemps.learner.pool import Pool
from bemps.learner.unlabelled import unlabelled_vectors
from bemps.members.base import HasEmbeddings, HasFeatures, HasSurprisal, HasWeights, Items, Model, UsesPool, count, take
from bemps.types import Array

FIT, CHOOSE, ESTIMATE, WORDS = range(4)  # one stream of random numbers per purpose
Rows = Int[Array, " n"]


class Knowledge:
    """The model's answers about the items of a pool, by their positions."""

    def __init__(
        self, model: Model, items: Items, pool: Pool, seed: int, surprisal: Float[Array, "N T"] | None = None
    ) -> None:
        self.model, self._items, self._pool, self._seed = model, items, pool, seed
        self.given_surprisal = surprisal
        self._version = -1
        self._vectors: Float[Array, "N H"] | None = None
        self._told: dict[bytes | None, Float[Array, "E n K"]] = {}  # by the bytes of the rows; None: the whole pool
        if isinstance(model, UsesPool) and model.pool is None:
            model.see_pool(items)

    def generator(self, purpose: int) -> np.random.Generator:
        """Random numbers for one purpose in the present state of the labels."""
        return np.random.default_rng([self._seed, purpose, self._pool.version])

    @property
    def ready(self) -> bool:
        """Two classes have a label: before that no model has anything to say."""
        return len(set(self._pool.labels.values())) >= 2

    def fitted(self) -> Model:
        """The model, fitted to the labels as they are."""
        if self._version != self._pool.version:
            rows, codes = self._pool.labelled()
            self.model.fit(take(self._items, rows), codes, list(self._pool.classes), self.generator(FIT))
            self._version = self._pool.version
            self._told = {}
        return self.model

    def members(self, rows: Rows) -> tuple[Float[Array, "E n K"], Float[Array, " E"]]:
        """Predictions of the members, and their weights.

        What is asked for is predicted once for each fit: a batch, its reasons, the remaining gain and the forecast all
        ask. Many rows are answered from the whole pool, few rows cost only themselves; which of the two depends on
        the rows alone, as the last digits can depend on what is predicted together, and batches on the last digits.
        """
        model = self.fitted()
        whole = 2 * len(rows) > count(self._items)
        key = None if whole else rows.tobytes()
        if key not in self._told:
            self._told[key] = self.predict(self._items if whole else take(self._items, rows), model)
        probs = self._told[key].take(rows, axis=1) if whole else self._told[key].copy()
        return probs, self.weights(len(probs))

    def predict(self, items: Items, model: Model | None = None) -> Float[Array, "E n K"]:
        """The members' answers about any items, once they are what a model has to answer."""
        fitted = self.fitted() if model is None else model
        return checked_answer(fitted.predict(items), count(items), len(self._pool.classes), fitted)

    def weights(self, E: int) -> Float[Array, " E"]:
        """p(theta|L) of the E members, uniform where the model has no opinion."""
        model = self.fitted()
        if not isinstance(model, HasWeights):
            return np.full(E, 1 / E)
        checks.distribution(model.weights, E, f"weights of {type(model).__name__}")
        return np.asarray(model.weights)

    def most_probable(self, rows: Rows) -> Float[Array, "n K"]:
        """The single most probable model's predictions where the model has one, else the members' mean."""
        model = self.fitted()
        own: Callable[[Items], Float[Array, "n K"]] | None = getattr(model, "predict_map", None)
        if own is not None:
            return own(take(self._items, rows))
        probs, weights = self.members(rows)
        return np.tensordot(weights, probs, 1)

    def features(self, rows: Rows) -> Float[Array, "n H"]:
        model = self.fitted()
        if not isinstance(model, HasFeatures):
            raise cannot_serve(model, "features")
        return model.features(take(self._items, rows))

    def surprisal(self, rows: Rows) -> Float[Array, "n H"]:
        if self.given_surprisal is not None:
            return self.given_surprisal[rows]
        if not isinstance(self.model, HasSurprisal):
            raise cannot_serve(self.model, "surprisal")
        return self.model.surprisal(take(self._items, rows))

    def embeddings(self, rows: Rows) -> Float[Array, "n H"]:
        """Vectors that need no label: the backbone's, else those of the items themselves."""
        if self._vectors is None:
            rng = np.random.default_rng([self._seed, WORDS])
            model = self.model if isinstance(self.model, HasEmbeddings) else None
            self._vectors = model.embeddings(self._items) if model is not None else unlabelled_vectors(self._items, rng)
        return self._vectors[rows]

    def bring(self, needs: tuple[str, ...], candidates: Rows, points: Int[Array, " M"]) -> dict[str, Array]:
        """The fields of a Context that a strategy needs beside the members' predictions."""
        labelled, codes = self._pool.labelled()
        members = self.most_probable if "map" in needs else partial(_first, self.members)
        sources: dict[str, tuple[Callable[[Rows], Array], Rows]] = {
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
        found = {name: source(rows) for name, (source, rows) in sources.items() if name in needs}
        if "map" in needs and "estimation" in found:
            found["estimation"] = found["estimation"][None]
        return found


def _first(members: Callable[[Rows], tuple[Array, Array]], rows: Rows) -> Array:
    return members(rows)[0]


def checked_answer(answer: object, N: int, K: int, model: object) -> Float[Array, "E N K"]:
    """What `predict` returned, once it is probabilities of every item and class."""
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
