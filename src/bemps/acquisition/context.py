"""The input of a strategy: one object, made by `select` and by the learner."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError, file_or_array
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
    """The candidates and all that is known of them. An array that is not available is None.

    Attributes
    ----------
    n : int
        The number of items to choose.
    size : int
        The number of candidates, N.
    rng : numpy.random.Generator
        The source of random numbers.
    probs : array (E, N, K), optional
        Probabilities of the members for the candidates.
    weights : array (E,), optional
        The probability of each member, p(theta|L).
    estimation : array (E, M, K), optional
        Probabilities of the members for the estimation pool. None: it is drawn from the candidates.
    features : array (N, H), optional
        Features of the current model (BADGE, Laplace).
    embeddings : array (N, J), optional
        Embeddings of the pretrained backbone (clustering, core-set, TypiClust).
    surprisal : array (N, T), optional
        Surprisal vectors of a masked language model (ALPS).
    labelled_features : array (L, H), optional
        Features of the labelled items.
    labelled_embeddings : array (L, J), optional
        Embeddings of the labelled items.
    labelled_probs : array (L, K), optional
        MAP probabilities of the labelled items.
    labelled_classes : array of int (L,), optional
        The labels, as positions of classes (anchors).
    estimation_features : array (M, H), optional
        Features of the estimation pool, if `estimation` is set.
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
        """Return an array that the strategy requires.

        Parameters
        ----------
        name : str
            The name of the attribute.

        Returns
        -------
        array
            Its value.

        Raises
        ------
        InputError
            If it is None.
        """
        value: Array | None = getattr(self, name)
        if value is None:
            raise InputError(
                name,
                expected=f"{_HINTS[name]}, which this strategy needs",
                got="nothing",
                fix=f"Pass {file_or_array(name)}, or choose another strategy.",
            )
        return value

    def members(self) -> tuple[Float[Array, "E N K"], Float[Array, " E"]]:
        """Return `probs` and `weights`; equal weights if there are none."""
        probs = self.need("probs")
        weights = self.weights if self.weights is not None else np.full(len(probs), 1 / len(probs))
        return probs, weights

    def representation(self) -> tuple[Float[Array, "N J"], Float[Array, "L J"] | None]:
        """Return embeddings of the candidates and of the labelled items, or features if there are no embeddings."""
        if self.embeddings is not None:
            return self.embeddings, self.labelled_embeddings
        if self.features is not None:
            return self.features, self.labelled_features
        raise InputError(
            "embeddings",
            expected="embeddings (N, H) of a pretrained model, or features of the current one",
            got="neither",
            fix=f"Pass {file_or_array('embeddings')} (or {file_or_array('features')}), or choose a strategy that needs "
            "only probs.",
        )

    def sample(self, size: int) -> Int[Array, " m"]:
        """Draw the positions of an estimation pool from the candidates.

        Parameters
        ----------
        size : int
            The number of positions. All are returned if there are no more.

        Returns
        -------
        array of int (m,)
            The positions, in ascending order.
        """
        if self.size <= size:
            return np.arange(self.size)
        return np.sort(self.rng.choice(self.size, size, replace=False))
