"""The default on frozen features, without torch: spectral features, MAP logistic regression, Laplace members.

SpectralLogistic  one classifier (E = 1), the final model
SpectralLaplace   members sampled from its Laplace posterior, for acquisition

Both see the whole pool once (`pool=` or `see_pool`), as the features come from unlabelled vectors. A class without
a label keeps the weights of the prior, zero, and a low constant log-odds: it is improbable, never the answer, and
the members differ about it as the prior does.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError, unknown_name
from bemps.limits import current_limits, library_threads
from bemps.members.base import Items, NotFitted, check_labelled, check_vectors, count
from bemps.members.laplace import COVARIANCES, deviations
from bemps.members.logistic import L2, Axes, map_weights, softmax
from bemps.members.spectral import Recipe, SpectralMap, Spectrum, spectra_of
from bemps.members.strength import choose
from bemps.types import Array

Encoder = Callable[[Items], Float[Array, "N D"]]
BLOCK_LOGITS = 4_000_000  # numbers at a time while predicting
USUAL_TEMPERATURE = 0.1


class SpectralLogistic:
    """MAP logistic regression on spectral features of frozen vectors.

    pool    the unlabelled items from which the features are made; or hand them over with `see_pool`
    encode  turns items (texts, images) into vectors; None: the items are vectors already
    recipe  see `Recipe`; by default the labels choose the prior in every fit (`bemps.members.strength`)
    first   the vectors are two views side by side, of which the first has this many columns: the labels choose in
            every fit how much the second counts. None: one view

    After a fit: `map_`, `norm_`, `labelled_features_` (L, H), `labelled_probs_` (L, K), and `l2`, always 1, are what
    the closed-form strategies need beside `features` and `predict_map`.
    """

    l2 = L2
    members: int = 1

    def __init__(
        self,
        pool: Items | None = None,
        *,
        encode: Encoder | None = None,
        recipe: Recipe | None = None,
        first: int | None = None,
    ) -> None:
        self.pool, self.encode, self.recipe, self.first = pool, encode, recipe or Recipe(), first
        self.spectra_: tuple[Spectrum, ...] | None = None
        self.map_: SpectralMap | None = None
        self.weights_: Float[Array, "H K"] | None = None
        self.norm_ = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(members={self.members})"

    def see_pool(self, items: Items) -> None:
        """Make the features from these items from now on; what was learnt is forgotten."""
        self.pool, self.spectra_, self.map_, self.weights_ = items, None, None, None

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "SpectralLogistic":
        labels = check_labelled(items, labels, classes)
        pool, vectors = self._spectra_of_pool(), self.embeddings(items)
        with library_threads(current_limits().threads):  # many small products: idle threads would only get in the way
            self._learn(pool, vectors, labels, len(classes), rng)
        return self

    def _learn(
        self,
        pool: tuple[Spectrum, ...],
        vectors: Float[Array, "L D"],
        labels: Int[Array, " L"],
        K: int,
        rng: np.random.Generator,
    ) -> None:
        seen, codes = np.unique(labels, return_inverse=True)
        chosen = choose(pool, vectors, codes, len(seen), self.recipe)
        self.map_, self.norm_ = chosen.map, chosen.norm
        axes = chosen.axes.scaled(self.norm_)
        self.labelled_features_ = self.norm_ * self.map_(vectors)
        self.weights_ = self._unseen(seen, len(labels), len(axes.V), K)
        if len(seen) > 1:
            self.weights_[:, seen] = axes.V @ map_weights(axes, codes, len(seen))
        self.labelled_probs_ = softmax(self.labelled_features_ @ self.weights_)
        self._sample(axes, rng)

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        return self.predict_map(items)[None]

    def predict_map(self, items: Items) -> Float[Array, "N K"]:
        """Probabilities of the MAP classifier."""
        weights = self._fitted_weights()
        return self._probs(items, weights[:, None, :])[0]

    def features(self, items: Items) -> Float[Array, "N H"]:
        """h(x), the bias last; the MAP logits are `features(items) @ weights_`."""
        return self.norm_ * self._fitted_map()(self.embeddings(items))

    def embeddings(self, items: Items) -> Float[Array, "N D"]:
        """The vectors themselves, before any fit."""
        return check_vectors(items if self.encode is None else self.encode(items))

    def _fitted_weights(self) -> Float[Array, "H K"]:
        if self.weights_ is None:
            raise NotFitted(self)
        return self.weights_

    def _fitted_map(self) -> SpectralMap:
        if self.map_ is None:
            raise NotFitted(self)
        return self.map_

    def _spectra_of_pool(self) -> tuple[Spectrum, ...]:
        if self.spectra_ is None:
            if self.pool is None:
                raise InputError(
                    type(self).__name__,
                    expected="the unlabelled pool, from which its features are made",
                    got="none",
                    fix="Pass pool=items, or call see_pool(items) before fit.",
                )
            self.spectra_ = spectra_of(self.embeddings(self.pool), self.first)
        return self.spectra_

    def _unseen(self, seen: Int[Array, " C"], L: int, H: int, K: int) -> Float[Array, "H K"]:
        """Zero weights; for the classes not seen the log-odds of the rule of succession, on the bias."""
        weights = np.zeros((H, K))
        # Logits of the classes seen are of mean 0, a share of 1/C each; (1/K)/(L+1) is left for each other one.
        unseen = np.setdiff1d(np.arange(K), seen)
        weights[-1, unseen] = np.log(len(seen) / (K * (L + 1))) / (self.norm_ * self.recipe.bias)
        return weights

    def _sample(self, axes: Axes, rng: np.random.Generator) -> None:
        """Nothing to draw: the MAP is the only member."""

    def _probs(self, items: Items, weights: Float[Array, "H E K"]) -> Float[Array, "E N K"]:
        H, E, K = weights.shape
        vectors = self.embeddings(items)
        spectral = self._fitted_map()
        spectral.check(vectors)
        folded, offset = spectral.fold(self.norm_ * weights.reshape(H, E * K))
        probs = np.empty((E, count(items), K))
        rows = max(1, BLOCK_LOGITS // (E * K))
        for start in range(0, count(items), rows):
            block = slice(start, start + rows)
            logits = (vectors[block] @ folded + offset).reshape(-1, E, K)
            probs[:, block] = softmax(logits).transpose(1, 0, 2)
        return probs


class SpectralLaplace(SpectralLogistic):
    """SpectralLogistic with members sampled from its Laplace posterior.

    members      E; sampling is cheap, so more than a deep ensemble has. Their mean weights are the MAP's
    temperature  times the posterior covariance; 1 is the posterior itself, which is wide with few labels. None: 0.1,
                 and 1 / K with K > 10 classes, so that the deviations of all logits together stay those of ten
                 classes: else the largest of many deviations decides what a member predicts
    covariance   full (exact), or shared (one covariance for all classes, that of the closed-form strategies)
    """

    def __init__(
        self,
        pool: Items | None = None,
        *,
        members: int = 20,
        temperature: float | None = None,
        covariance: str = "full",
        encode: Encoder | None = None,
        recipe: Recipe | None = None,
        first: int | None = None,
    ) -> None:
        super().__init__(pool, encode=encode, recipe=recipe, first=first)
        self.members, self.temperature, self.covariance = members, temperature, covariance
        self.member_weights_: Float[Array, "H E K"] | None = None

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        if self.member_weights_ is None:
            raise NotFitted(self)
        return self._probs(items, self.member_weights_)

    def see_pool(self, items: Items) -> None:
        super().see_pool(items)
        self.member_weights_ = None

    def _sample(self, axes: Axes, rng: np.random.Generator) -> None:
        if self.covariance not in COVARIANCES:
            raise unknown_name("covariance", self.covariance, COVARIANCES)
        temperature = min(USUAL_TEMPERATURE, 1 / self.labelled_probs_.shape[1])
        if self.temperature is not None:
            temperature = self.temperature
        if self.members < 1 or not temperature > 0:
            raise InputError(
                "SpectralLaplace",
                expected="at least one member and a temperature above 0",
                got=f"members={self.members}, temperature={self.temperature}",
                fix="Use SpectralLogistic for the MAP alone.",
            )
        drawn = deviations(COVARIANCES[self.covariance], axes, self.labelled_probs_, self.members, rng)
        if self.members > 1:
            # Members around the MAP, not around a point that a few draws happen to miss it by; same covariance.
            drawn -= drawn.mean(axis=1, keepdims=True)
            drawn *= np.sqrt(self.members / (self.members - 1))
        self.member_weights_ = self._fitted_weights()[:, None, :] + np.sqrt(temperature) * drawn
