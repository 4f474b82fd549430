"""What the model knows: fitted once for each state of the labels, asked for only what a strategy needs."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.learner.pool import Pool
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
            self._told[key] = model.predict(self._items if whole else take(self._items, rows))
        probs = self._told[key].take(rows, axis=1) if whole else self._told[key].copy()
        return probs, self.weights(len(probs))

    def weights(self, E: int) -> Float[Array, " E"]:
        """p(theta|L) of the E members, uniform where the model has no opinion."""
        model = self.fitted()
        return model.weights if isinstance(model, HasWeights) else np.full(E, 1 / E)

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
            raise _cannot(model, "features")
        return model.features(take(self._items, rows))

    def surprisal(self, rows: Rows) -> Float[Array, "n H"]:
        if self.given_surprisal is not None:
            return self.given_surprisal[rows]
        if not isinstance(self.model, HasSurprisal):
            raise _cannot(self.model, "surprisal")
        return self.model.surprisal(take(self._items, rows))

    def embeddings(self, rows: Rows) -> Float[Array, "n H"]:
        """Vectors that need no label: the backbone's; rows of numbers as they are; texts by TF-IDF."""
        if self._vectors is None:
            self._vectors = self._unlabelled_vectors()
        return self._vectors[rows]

    def _unlabelled_vectors(self) -> Float[Array, "N H"]:
        if isinstance(self.model, HasEmbeddings):
            return self.model.embeddings(self._items)
        if isinstance(self._items, np.ndarray):
            return self._items.reshape(len(self._items), -1).astype(np.float64, copy=False)
        from bemps.members.tfidf import tfidf_vectors

        rng = np.random.default_rng([self._seed, WORDS])
        return tfidf_vectors(self._items, dimensions=64, rng=rng)(self._items)

    def bring(self, needs: tuple[str, ...], candidates: Rows, points: Int[Array, " M"]) -> dict[str, Array]:
        """The fields of a Context that a strategy needs beside the members' predictions."""
        labelled, _ = self._pool.labelled()
        members = self.most_probable if "map" in needs else partial(_first, self.members)
        sources: dict[str, tuple[Callable[[Rows], Array], Rows]] = {
            "features": (self.features, candidates),
            "embeddings": (self.embeddings, candidates),
            "surprisal": (self.surprisal, candidates),
            "labelled_features": (self.features, labelled),
            "labelled_embeddings": (self.embeddings, labelled),
            "labelled_probs": (self.most_probable, labelled),
            "estimation": (members, points),
            "estimation_features": (self.features, points),
        }
        found = {name: source(rows) for name, (source, rows) in sources.items() if name in needs}
        if "map" in needs and "estimation" in found:
            found["estimation"] = found["estimation"][None]
        return found


def _first(members: Callable[[Rows], tuple[Array, Array]], rows: Rows) -> Array:
    return members(rows)[0]


def _cannot(model: object, what: str) -> InputError:
    return InputError(
        "strategy",
        expected=f"a model with `{what}`, which this strategy needs",
        got=f"{type(model).__name__}, which has none",
        fix="Choose another strategy, or a model of bemps.members that has it.",
    )
