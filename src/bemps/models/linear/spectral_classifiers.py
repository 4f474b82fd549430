"""The default on frozen features, without torch: spectral features, MAP logistic regression, Laplace members.

SpectralLogistic  one classifier (E = 1), the final model
SpectralLaplace   members sampled from its Laplace posterior, for acquisition

Both see the whole pool once (`pool=` or `see_pool`), as the features come from unlabelled vectors. A class without
a label has the weights of the prior, zero, and a low constant log-odds: it is improbable and never the most probable
class, and the members differ about it as the prior does.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.numerics import softmax
from bemps._utils.renamed_parameters import renamed_parameters
from bemps.errors import InputError, unknown_name
from bemps.limits import current_limits, library_threads
from bemps.models.base import Items, NotFitted, check_labelled, check_vectors, count
from bemps.models.linear.laplace_posterior import COVARIANCES, deviations
from bemps.models.linear.logistic_regression import L2, Axes, map_weights
from bemps.models.linear.prior import choose
from bemps.models.linear.spectral_features import SpectralMap, SpectralRecipe, Spectrum, spectra_of
from bemps.types import Array

Encoder = Callable[[Items], Float[Array, "N D"]]
BLOCK_LOGITS = 4_000_000  # numbers at a time while predicting
USUAL_TEMPERATURE = 0.1


@renamed_parameters(first="first_view")
class SpectralLogistic:
    """MAP logistic regression on spectral features of frozen vectors.

    Parameters
    ----------
    pool : items, optional
        The unlabelled items from which the features are made. `see_pool` can give them later.
    encode : function from items to vectors, optional
        Turns items (texts, images) into vectors. None takes the items as vectors.
    recipe : SpectralRecipe, optional
        How vectors become features. By default the labels choose the prior in every fit (`bemps.models.linear.prior`).
    first_view : int | None
        The vectors are two views side by side, of which the first has this many columns: the labels choose in
        every fit how much the second counts. None: one view.

    Notes
    -----
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
        recipe: SpectralRecipe | None = None,
        first_view: int | None = None,
    ) -> None:
        self.pool, self.encode, self.recipe, self.first_view = pool, encode, recipe or SpectralRecipe(), first_view
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
        SpectralLogistic
            The model itself.
        """
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
        choice = choose(pool, vectors, codes, len(seen), self.recipe)
        self.map_, self.norm_ = choice.map, choice.norm
        axes = choice.axes.scaled(self.norm_)
        self.labelled_features_ = self.norm_ * self.map_(vectors)
        self.weights_ = self._unseen(seen, len(labels), len(axes.V), K)
        if len(seen) > 1:
            self.weights_[:, seen] = axes.V @ map_weights(axes, codes, len(seen))
        self.labelled_probs_ = softmax(self.labelled_features_ @ self.weights_)
        self._sample(axes, rng)

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
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
            self.spectra_ = spectra_of(self.embeddings(self.pool), self.first_view)
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

    def folded_members(self) -> tuple[Float[Array, "D E K"], Float[Array, "E K"]]:
        """What predicts without features: member e has the logits `vectors @ F[:, e] + b[e]`."""
        return self._unfolded(self._fitted_weights()[:, None, :])

    def _unfolded(self, weights: Float[Array, "H E K"]) -> tuple[Float[Array, "D E K"], Float[Array, "E K"]]:
        folded, offset = self._folded(weights)
        return folded.reshape(len(folded), *weights.shape[1:]), offset.reshape(weights.shape[1:])

    def _folded(self, weights: Float[Array, "H E K"]) -> tuple[Float[Array, "D EK"], Float[Array, " EK"]]:
        return self._fitted_map().fold(self.norm_ * weights.reshape(len(weights), -1))

    def _probs(self, items: Items, weights: Float[Array, "H E K"]) -> Float[Array, "E N K"]:
        _, E, K = weights.shape
        vectors = self.embeddings(items)
        self._fitted_map().check(vectors)
        folded, offset = self._folded(weights)
        probs = np.empty((E, count(items), K))
        rows = max(1, BLOCK_LOGITS // (E * K))
        for start in range(0, count(items), rows):
            block = slice(start, start + rows)
            logits = (vectors[block] @ folded + offset).reshape(-1, E, K)
            probs[:, block] = softmax(logits).transpose(1, 0, 2)
        return probs


@renamed_parameters(first="first_view")
class SpectralLaplace(SpectralLogistic):
    """SpectralLogistic with members sampled from its Laplace posterior.

    Parameters
    ----------
    members : int
        E, the number of samples. Sampling is cheap, so there can be more than in a deep ensemble. The mean of their
        weights is the MAP's.
    temperature : float or None
        A factor of the posterior covariance. 1 is the posterior itself, which is wide with few labels. None takes 0.1,
        and 1 / K with K > 10 classes: then the deviations of all logits together are those of ten classes, and the
        largest of many deviations does not decide what a member predicts.
    covariance : {"full", "shared"}
        "full" is exact; "shared" has one covariance for all classes, that of the closed-form strategies.
    pool, encode, recipe, first_view
        As in `SpectralLogistic`.

    See Also
    --------
    SpectralLogistic : explains `pool`, `encode`, `recipe` and the other parameters.
    """

    def __init__(
        self,
        pool: Items | None = None,
        *,
        members: int = 20,
        temperature: float | None = None,
        covariance: str = "full",
        encode: Encoder | None = None,
        recipe: SpectralRecipe | None = None,
        first_view: int | None = None,
    ) -> None:
        super().__init__(pool, encode=encode, recipe=recipe, first_view=first_view)
        self.members, self.temperature, self.covariance = members, temperature, covariance
        self.member_weights_: Float[Array, "H E K"] | None = None

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        if self.member_weights_ is None:
            raise NotFitted(self)
        return self._probs(items, self.member_weights_)

    def folded_members(self) -> tuple[Float[Array, "D E K"], Float[Array, "E K"]]:
        """What predicts without features: member e has the logits `vectors @ F[:, e] + b[e]`."""
        if self.member_weights_ is None:
            raise NotFitted(self)
        return self._unfolded(self.member_weights_)

    def see_pool(self, items: Items) -> None:
        """Make the features from these items from now on; what was learnt is forgotten."""
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
            # The mean of the members is exactly the MAP, not up to the error of a few draws; same covariance.
            drawn -= drawn.mean(axis=1, keepdims=True)
            drawn *= np.sqrt(self.members / (self.members - 1))
        self.member_weights_ = self._fitted_weights()[:, None, :] + np.sqrt(temperature) * drawn
