"""A frozen and a fine-tuned classifier, weighed by held-out labels.

Fine-tuning helps much on some data, and not at all on other data. The labels show which. Both classifiers are
cross-fitted (`pool_weights`), the pool of the two gets the weights under which held-out labels are likely, and
then both learn from all labels. A fine-tuned classifier of weight 0 is not trained at the end.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.models.base import Items, NotFitted, UsesPool, check_labelled, take
from bemps.models.pool_weights import FIRST_ALONE, Evidence, PoolWeights, enough, pool_weights, pooled, stratified_folds
from bemps.models.validation_splits import Split
from bemps.types import Array

Progress = Callable[[str, int, int], None]
FOLDS = 3
HELD_OUT = 100  # the largest number of held-out labels, up to the end of a fold: enough for their log loss
FEWEST = 20  # labels; with fewer no network is trained


@runtime_checkable
class LinearModel(Protocol):
    """A model that ends in a linear head with a posterior: `SpectralLaplace`, `FineTunedLaplace`."""

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "LinearModel":
        """Learn from labelled items.

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
        LinearModel
            The model itself.
        """
        ...

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """The probabilities of each member; see `Model.predict`."""
        ...

    def predict_map(self, items: Items) -> Float[Array, "N K"]:
        """The probabilities of the most probable weights."""
        ...

    def features(self, items: Items) -> Float[Array, "N H"]:
        """The inputs of the linear head."""
        ...

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """The vectors of the encoder."""
        ...


@runtime_checkable
class TunableModel(LinearModel, Protocol):
    """A linear model whose encoder learns, apart from its head."""

    progress: Progress | None

    def fit_encoder(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "TunableModel":
        """Train the encoder; the head has to be fitted next.

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
        TunableModel
            The model itself.
        """
        ...

    def fit_head(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "TunableModel":
        """Fit the head on the features of the trained encoder.

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
        TunableModel
            The model itself.
        """
        ...

    def last_layer(self, items: Items) -> Float[Array, "N H"]:
        """The vectors of the last layer of the trained encoder."""
        ...


class AdaptedText:
    """The pool of a frozen and a fine-tuned classifier.

    Parameters
    ----------
    frozen : LinearModel
        A linear model on vectors that never change, such as `ContentLaplace(BgeAndWords(), first_view=MEANING)`.
    tuned : TunableModel
        A linear model whose encoder learns, such as `FineTunedLaplace()`, with as many members.
    pool : sequence of str, optional
        The unlabelled texts, where both were given them already; else whoever has them calls `see_pool`.
    progress : callable, optional
        Called with ("fine-tune", done, total) while networks are trained. What it raises ends the training.

    `fit` is `fit_encoder`, which takes up to three trainings of the network, and `fit_head`, which follows new labels
    within a second. After `fit_encoder`, `pool_weights_` says how much each counts and `evidence_` why.
    """

    def __init__(
        self,
        frozen: LinearModel,
        tuned: TunableModel,
        *,
        pool: Items | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.frozen, self.tuned, self.pool, self.progress = frozen, tuned, pool, progress
        self.pool_weights_: PoolWeights | None = None
        self.evidence_: Evidence | None = None
        self._answers = False

    def see_pool(self, items: Items) -> None:
        """Show the pool to both; what was learnt is forgotten."""
        self.pool, self.pool_weights_, self._answers = items, None, False
        for model in (self.frozen, self.tuned):
            if isinstance(model, UsesPool):
                model.see_pool(items)

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "AdaptedText":
        """Weigh the two classifiers, train the network, and fit both heads.

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
        AdaptedText
            The model itself.
        """
        return self.fit_encoder(items, labels, classes, rng).fit_head(items, labels, classes, rng)

    def fit_encoder(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "AdaptedText":
        """Weigh the two by cross-fitting, then train the network on all labels; the heads have to be fitted next.

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
        AdaptedText
            The model itself.
        """
        labels = check_labelled(items, labels, classes)
        self.pool_weights_, self.evidence_, self._answers = None, None, False
        weights = FIRST_ALONE
        if len(labels) >= FEWEST and len(np.unique(labels)) > 1:
            splits = list(enough(stratified_folds(labels, FOLDS, rng), HELD_OUT))
            self.evidence_ = self._cross_fitted(splits, items, labels, classes, rng)
            weights = pool_weights(self.evidence_)
        if weights.share > 0:
            self._report_part(FOLDS, FOLDS + 1)
            self.tuned.fit_encoder(items, labels, classes, rng)
        elif self.progress is not None:
            self.progress("fine-tune", (FOLDS + 1) * 100, (FOLDS + 1) * 100)
        self.pool_weights_ = weights
        return self

    def fit_head(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "AdaptedText":
        """Fit both heads on these labels; the weights stay those of the last `fit_encoder`.

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
        AdaptedText
            The model itself.
        """
        weights = self._weights()
        self._answers = False
        self.frozen.fit(items, labels, classes, rng)
        if weights.share > 0:
            self.tuned.fit_head(items, labels, classes, rng)
        self._answers = True
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        weights = self._fitted()
        first = self.frozen.predict(items)
        return pooled(first, self.tuned.predict(items), weights) if weights.share > 0 else first

    def predict_map(self, items: Items) -> Float[Array, "N K"]:
        """Probabilities of the pool of the two most probable heads."""
        weights = self._fitted()
        first = self.frozen.predict_map(items)
        return pooled(first, self.tuned.predict_map(items), weights) if weights.share > 0 else first

    def features(self, items: Items) -> Float[Array, "N H"]:
        """The features of both side by side; inner products are means of theirs, weighed as in the pool."""
        weights = self._fitted()
        first = self.frozen.features(items)
        if weights.share == 0:
            return first
        powers = weights.power * np.array([weights.first_power, weights.second_power])
        scales = np.sqrt([1 - weights.share, weights.share]) * powers
        return np.hstack([scales[0] * first, scales[1] * self.tuned.features(items)])

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """The vectors that never change."""
        return self.frozen.embeddings(items)

    def _cross_fitted(
        self,
        splits: Sequence[Split],
        items: Items,
        labels: Int[Array, " L"],
        classes: Sequence[str],
        rng: np.random.Generator,
    ) -> Evidence:
        parts = []
        for number, split in enumerate(splits):
            train, valid = take(items, split.train), take(items, split.valid)
            learnt = labels[split.train]
            self._report_part(number * FOLDS // len(splits), FOLDS + 1)
            first = self.frozen.fit(train, learnt, classes, rng).predict_map(valid)
            second = self.tuned.fit(train, learnt, classes, rng).predict_map(valid)
            known = np.isin(labels[split.valid], learnt)  # nothing can predict the only label of a class
            parts.append((labels[split.valid][known], first[known], second[known]))
        return Evidence(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _report_part(self, part: int, parts: int) -> None:
        """Report the progress of the next training as one of several parts."""
        progress = self.progress
        if progress is None:
            return

        def report(task: str, done: int, total: int) -> None:
            if task.startswith("fit"):
                progress("fine-tune", part * 100 + done * 100 // total, parts * 100)

        self.tuned.progress = report

    def _weights(self) -> PoolWeights:
        if self.pool_weights_ is None:
            raise NotFitted(self)
        return self.pool_weights_

    def _fitted(self) -> PoolWeights:
        if not self._answers:
            raise NotFitted(self)
        return self._weights()
