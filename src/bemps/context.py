"""What a strategy may look at: one object, handed over by `select` and by the learner."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.types import Array

ESTIMATION_SIZE = 1_000  # items of an estimation pool, unless it is free to take all
_HINTS = {
    "probs": "the members' probabilities (E, N, K)",
    "features": "features (N, H) of the current model",
    "surprisal": "surprisal vectors (N, T) of a masked language model",
    "labelled_features": "the labelled items' features (L, H), an empty (0, H) array where nothing is labelled",
    "labelled_embeddings": "the labelled items' embeddings (L, J), an empty (0, J) array where nothing is labelled",
    "labelled_classes": "the labelled items' classes (L,), whole numbers from 0 on",
    "estimation_features": "the features (M, H) of the estimation pool",
}


@dataclass(frozen=True, eq=False)
class Context:
    """Candidates and everything known of them. What was not given is None; `need` says what is missing.

    probs, weights       (E,N,K), (E,)   the members at the candidates, and p(theta|L)
    estimation           (E,M,K)         the members at the estimation pool, None: drawn from the candidates
    features             (N,H)           of the current model (BADGE, Laplace)
    embeddings           (N,J)           of the pretrained backbone (clustering, core-set, TypiClust)
    surprisal            (N,T)           of a masked language model (ALPS)
    labelled_*           (L,...)         the same of the labelled items; labelled_probs (L,K): MAP probabilities
    labelled_classes     (L,)            the labels, as positions of classes (anchors)
    estimation_features  (M,H)           features of the estimation pool, where that was given
    """

    n: int
    size: int
    rng: np.random.Generator
    probs: Float[Array, "E N K"] | None = None
    weights: Float[Array, " E"] | None = None
    estimation: Float[Array, "E M K"] | None = None
    features: Float[Array, "N H"] | None = None
    embeddings: Float[Array, "N J"] | None = None
    surprisal: Float[Array, "N T"] | None = None
    labelled_features: Float[Array, "L H"] | None = None
    labelled_embeddings: Float[Array, "L J"] | None = None
    labelled_probs: Float[Array, "L K"] | None = None
    labelled_classes: Int[Array, " L"] | None = None
    estimation_features: Float[Array, "M H"] | None = None

    def need(self, name: str) -> Array:
        """An array that the strategy cannot do without."""
        value: Array | None = getattr(self, name)
        if value is None:
            raise InputError(
                name,
                expected=f"{_HINTS[name]}, which this strategy needs",
                got="nothing",
                fix=f"Pass {name}=... or choose another strategy.",
            )
        return value

    def members(self) -> tuple[Float[Array, "E N K"], Float[Array, " E"]]:
        """probs and weights, together."""
        probs = self.need("probs")
        weights = self.weights if self.weights is not None else np.full(len(probs), 1 / len(probs))
        return probs, weights

    def representation(self) -> tuple[Float[Array, "N J"], Float[Array, "L J"] | None]:
        """Embeddings of the candidates and of the labelled items, features where there are no embeddings."""
        if self.embeddings is not None:
            return self.embeddings, self.labelled_embeddings
        if self.features is not None:
            return self.features, self.labelled_features
        raise InputError(
            "embeddings",
            expected="embeddings (N, H) of a pretrained model, or features of the current one",
            got="neither",
            fix="Pass embeddings=... (or features=...), or choose a strategy that needs only probs.",
        )

    def sample(self, size: int) -> Int[Array, " m"]:
        """Positions of an estimation pool drawn from the candidates; all where there are no more."""
        if self.size <= size:
            return np.arange(self.size)
        return np.sort(self.rng.choice(self.size, size, replace=False))
