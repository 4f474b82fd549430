"""The heads of an adapted text model on vectors that another process has made: no torch.

A row holds the vectors of the frozen encoder and then those of the fine-tuned one. A text that the fine-tuned encoder
has not read has zeros there, which is the mean: of it the second head knows only how frequent the classes are.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bemps.models.base import Items
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.models.linear.spectral_features import SpectralRecipe
from bemps.models.pool_weights import PoolWeights
from bemps.models.text.adapted_text import AdaptedText
from bemps.types import Array

HEAD = SpectralRecipe(alpha=0.0, norm=2.5)  # of the head on a fine-tuned last layer


class ColumnLaplace(SpectralLaplace):
    """The head on the columns of the fine-tuned encoder, which has learnt already."""

    progress: Callable[[str, int, int], None] | None = None

    def fit_encoder(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ColumnLaplace":
        """Do nothing: the vectors are those of a trained encoder.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        ColumnLaplace
            The model itself.
        """
        return self

    def fit_head(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ColumnLaplace":
        """Fit the head on the vectors.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        ColumnLaplace
            The model itself.
        """
        self.fit(items, labels, classes, rng)
        return self

    def last_layer(self, items: Items) -> Float[Array, "N H"]:
        """The columns of the fine-tuned encoder."""
        return self.embeddings(items)


class AdaptedVectors(AdaptedText):
    """`AdaptedText` on rows of both vectors, with weights that are known.

    Parameters
    ----------
    columns : int
        How many columns the vectors of the fine-tuned encoder have: the last ones.
    weights : PoolWeights
        The weights of the pool, as cross-fitting chose them.
    first_view : int, optional
        The columns of the first of two views of the frozen encoder, if it has two.
    members : int, optional
        The number of samples of each posterior.
    """

    def __init__(self, columns: int, weights: PoolWeights, *, first_view: int | None = None, members: int = 20) -> None:
        frozen = SpectralLaplace(members=members, encode=lambda rows: _array(rows)[:, :-columns], first_view=first_view)
        tuned = ColumnLaplace(members=members, encode=lambda rows: _array(rows)[:, -columns:], recipe=HEAD)
        super().__init__(frozen, tuned)
        self.weights_of_pool = weights

    def fit_encoder(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "AdaptedVectors":
        """Take the known weights; the arguments are not used.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        AdaptedVectors
            The model itself.
        """
        self.pool_weights_ = self.weights_of_pool
        return self

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """The rows themselves: they follow no label until the next training."""
        return _array(items)


def centred(vectors: Float[Array, "N H"], reference: Float[Array, "M H"]) -> Float[Array, "N H"]:
    """Vectors whose mean on the reference is zero, and their root-mean-square norm one."""
    mean = reference.mean(axis=0)
    norm = float(np.sqrt(np.square(reference - mean).sum(axis=1).mean()))
    return ((vectors - mean) / (norm or 1.0)).astype(np.float32)


def _array(items: Items) -> Float[Array, "N H"]:
    return np.asarray(items)
