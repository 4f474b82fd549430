"""Heads on frozen features: linear or with a hidden layer, as a deep ensemble or under E dropout masks.

Items are vectors of a frozen encoder, or whatever `encode` turns into vectors (texts and images through
`feature_cache.CachedEncoder`, so that the backbone sees every item once). All heads of a fit are trained
as one computation (`head_training`). Dropout sits before the last layer alone, so the hidden units are
the same under every mask and E masks cost little more than one pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.numerics import SPECTRAL_NORM
from bemps._utils.renamed_parameters import renamed_parameters
from bemps.checks import within
from bemps.errors import unknown_name
from bemps.limits import current_limits
from bemps.models._torch.devices import pick_device, torch_threads
from bemps.models.base import Diverged, Items, NotFitted, check_vectors, member_seeds
from bemps.models.ensembling import RESAMPLERS, check_choices, likelihood_weights, temperature_and_likelihood
from bemps.models.heads.fitted_heads import FittedHeads, masked
from bemps.models.heads.head_inputs import input_map
from bemps.models.heads.head_training import HeadRecipe, TrainedHeads, train_heads
from bemps.models.heads.stacked_heads import draw_layers, stack_rows
from bemps.models.linear.logistic_regression import principal_axes
from bemps.models.linear.prior import best_norm, choose
from bemps.models.linear.spectral_features import SpectralMap, Spectrum, spectra_of
from bemps.models.validation_splits import SplitPlan, Validation, plan_splits
from bemps.types import Array

Encoder = Callable[[Items], Float[Array, "N H"]]


@dataclass(frozen=True)
class Defaults:
    """What suits a kind of head, measured against logistic regression on the same features (Appendix 7 of the docs).

    Parameters
    ----------
    hidden : int
        The number of hidden units; 0 is a linear head.
    dropout : float
        The rate of dropout.
    recipe : HeadRecipe
        How the head is trained.
    """

    hidden: int
    dropout: float
    recipe: HeadRecipe


LINEAR = {
    "ensemble": Defaults(0, 0.0, HeadRecipe(epochs=100, learning_rate=0.2)),
    "dropout": Defaults(0, 0.1, HeadRecipe(epochs=100, learning_rate=0.2)),
}
HIDDEN = {
    "ensemble": Defaults(64, 0.5, HeadRecipe(epochs=40, learning_rate=0.03, l2=0.5)),
    # A single network is wider: there are no others to average out its start.
    "dropout": Defaults(256, 0.5, HeadRecipe(epochs=40, learning_rate=0.03, l2=0.5)),
}


def defaults(posterior: str, hidden: int | None) -> Defaults:
    """What suits heads with so many hidden units; None is the usual number."""
    if posterior not in HIDDEN:
        raise unknown_name("posterior", posterior, HIDDEN)
    linear = hidden == 0 or (hidden is None and posterior == "dropout")
    return (LINEAR if linear else HIDDEN)[posterior]


@renamed_parameters(first="first_view")
class HeadClassifier:
    """Heads on vectors.

    Parameters
    ----------
    pool : items, optional
        The unlabelled items on which the map of the inputs is fitted once. `see_pool` can give them later. Without
        them the map is fitted on the labelled items of every fit, which is worse below about 250 labels.
    encode : function from items to vectors, optional
        None takes the items as vectors.
    members : int
        E, the number of members.
    posterior : {"ensemble", "dropout"}
        E heads, or one head under E masks, which stay until the next fit.
    hidden : int, optional
        Units of the hidden layer; 0 is a linear head. None is 64 for an ensemble and 0 under masks: a few masks of a
        single network with a hidden layer are worse than logistic regression.
    inputs : {"spectral", "standard"} or SpectralMap
        The map of the inputs.
    norm : float, optional
        The root-mean-square norm of the inputs on the pool, which with `l2` sets the strength of the prior. None takes
        the norm that `SpectralLogistic` chooses for these labels; with a hidden layer it goes half way there from 2.5
        (in logarithms).
    dropout : float, optional
        The rate before the last layer. None is the default of the kind of head, see `Defaults`.
    validation : {"none", "dynamic", "constant"} or Fixed
        The labels that early stopping, `calibrate` and `weighting="likelihood"` use.
    resample : {"none", "dirichlet", "bootstrap"}
        How labels weigh in each head; "dirichlet" is the Bayesian bootstrap.
    calibrate : bool
        Whether each member's temperature is fitted on its validation part.
    weighting : {"uniform", "likelihood"}
        How members weigh: alike, or by the likelihood of their validation parts.
    recipe : HeadRecipe, optional
        How to train. None is the default of the kind of head.
    device : str, optional
        The device of torch. None takes a GPU if there is one.
    first_view : int | None
        The vectors are two views, the first of this many columns (spectral inputs); see `SpectralLogistic`.
    """

    def __init__(
        self,
        pool: Items | None = None,
        *,
        encode: Encoder | None = None,
        members: int = 5,
        posterior: str = "ensemble",
        hidden: int | None = None,
        inputs: str | SpectralMap = "spectral",
        norm: float | None = None,
        dropout: float | None = None,
        validation: Validation = "none",
        resample: str = "none",
        calibrate: bool = False,
        weighting: str = "uniform",
        recipe: HeadRecipe | None = None,
        first_view: int | None = None,
        device: str | None = None,
    ) -> None:
        self.first_view = first_view
        self.pool, self.encode, self.members, self.posterior, self.hidden = pool, encode, members, posterior, hidden
        self.inputs, self.norm, self.dropout, self.validation, self.resample = (
            inputs,
            norm,
            dropout,
            validation,
            resample,
        )
        self.calibrate, self.weighting, self.recipe, self.device = calibrate, weighting, recipe, device
        self._check()
        self.trained_: TrainedHeads | None = None
        self.norm_ = 0.0
        self._fitted: FittedHeads | None = None
        self._weights: Float[Array, " E"] = np.ones(0)
        self._pool_map: SpectralMap | None = None
        self._pool_spectra: tuple[Spectrum, ...] | None = None

    def see_pool(self, items: Items) -> None:
        """Fit the map of the inputs on these items from now on; what was learnt is forgotten."""
        self.pool, self._pool_map, self._pool_spectra, self._fitted = items, None, None, None

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "HeadClassifier":
        """Train from scratch; a head that diverges is tried once more with another seed.

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
        HeadClassifier
            The model itself.

        Raises
        ------
        Diverged
            A head diverged twice.
        """
        self._fitted = None
        heads = self.members if self.posterior == "ensemble" else 1
        plan = plan_splits(self.validation, items, labels, classes=classes, members=heads, rng=rng)
        vectors = self.embeddings(plan.items)
        with torch_threads(1):  # steps of a few hundred labels are too small to share: two threads take longer
            features, self.norm_ = self._features(vectors[: len(labels)], plan.labels[: len(labels)])
            self.trained_ = self._train(self.norm_ * features(vectors)[:, :-1], plan, len(classes), rng)
            self._fitted = self._validated(self._members(self.trained_, features, rng), vectors, plan)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        fitted, vectors = self._members_fitted(), self.embeddings(items)
        with torch_threads(current_limits().threads):
            return fitted.probs(vectors)

    def features(self, items: Items) -> Float[Array, "N D"]:
        """What goes into the last layer, without dropout.

        With a hidden layer these are the units of all heads side by side, divided by sqrt(E): the inner product of
        two rows is the mean over the heads of the inner products of their units.
        """
        fitted, vectors = self._members_fitted(), self.embeddings(items)
        with torch_threads(current_limits().threads):
            return fitted.features(vectors)

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """The frozen vectors themselves, before any fit."""
        return check_vectors(items if self.encode is None else self.encode(items))

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members."""
        self._members_fitted()
        return self._weights

    def _check(self) -> None:
        check_choices(
            posterior=self.posterior,
            resample=self.resample,
            weighting=self.weighting,
            calibrate=self.calibrate,
            validation=self.validation,
        )
        within(self.members, "members", 1)
        within(self._units(), "hidden", 0)
        within(self._rate(), "dropout", 0, 0.99, open_low=self.posterior == "dropout")
        self._recipe().check()

    def _defaults(self) -> Defaults:
        return defaults(self.posterior, self.hidden)

    def _recipe(self) -> HeadRecipe:
        return self._defaults().recipe if self.recipe is None else self.recipe

    def _rate(self) -> float:
        return self._defaults().dropout if self.dropout is None else self.dropout

    def _units(self) -> int:
        return self._defaults().hidden if self.hidden is None else self.hidden

    def _members_fitted(self) -> FittedHeads:
        if self._fitted is None:
            raise NotFitted(self)
        return self._fitted

    def _features(self, labelled: Float[Array, "L H"], labels: Int[Array, " L"]) -> tuple[SpectralMap, float]:
        """The map of the inputs and their norm."""
        seen, codes = np.unique(labels, return_inverse=True)
        if self.inputs == "spectral":
            choice = choose(self._spectra(labelled), labelled, codes, len(seen))
            mapping, best = choice.map, choice.norm
        else:
            mapping = self._map(labelled)
            best = best_norm(principal_axes(mapping(labelled)), codes, len(seen))
        if self._units() == 0 and self.posterior == "dropout":
            mapping = mapping.mixed()
        if self.norm is not None:
            return mapping, within(self.norm, "norm", 0, open_low=True)
        return mapping, float(np.sqrt(SPECTRAL_NORM * best)) if self._units() else best

    def _spectra(self, labelled: Float[Array, "L H"]) -> tuple[Spectrum, ...]:
        if self.pool is None:
            return spectra_of(labelled, self.first_view)
        if self._pool_spectra is None:
            self._pool_spectra = spectra_of(self.embeddings(self.pool), self.first_view)
        return self._pool_spectra

    def _map(self, labelled: Float[Array, "L H"]) -> SpectralMap:
        if isinstance(self.inputs, SpectralMap):
            return self.inputs
        if self.pool is None:
            return input_map(self.inputs, labelled)
        if self._pool_map is None:
            self._pool_map = input_map(self.inputs, self.embeddings(self.pool))
        return self._pool_map

    def _train(self, vectors: Float[Array, "L H"], plan: SplitPlan, K: int, rng: np.random.Generator) -> TrainedHeads:
        seeds = member_seeds(len(plan.splits), rng)
        trained = self._train_once(vectors, plan, K, np.arange(len(seeds)), seeds[:, 0])
        failed = np.flatnonzero(~trained.finite)
        if len(failed) == 0:
            return trained
        again = self._train_once(vectors, plan, K, failed, seeds[failed, 1])
        if not again.finite.all():
            raise Diverged(
                f"members {failed[~again.finite].tolist()}: expected training to succeed; the loss was not finite with "
                "two seeds. Lower the learning rate or look at the items."
            )
        return trained.with_members(failed, again)

    def _train_once(
        self, vectors: Float[Array, "L H"], plan: SplitPlan, K: int, which: Int[Array, " e"], seeds: Int[Array, " e"]
    ) -> TrainedHeads:
        """The heads `which`, each from its own seed."""
        rngs = [np.random.default_rng(seed) for seed in seeds]
        splits, device = [plan.splits[e] for e in which], pick_device(self.device)
        resampled = np.stack([RESAMPLERS[self.resample](len(splits[0].train), rng) for rng in rngs])
        train = stack_rows(vectors, plan.labels, [split.train for split in splits], resampled, device)
        held_out = [split.valid for split in splits]
        even = np.ones((len(splits), len(held_out[0])))
        valid = stack_rows(vectors, plan.labels, held_out, even, device) if even.size else None
        layers = draw_layers(vectors.shape[1], self._units(), K, norm=self.norm_, rngs=rngs, device=device)
        return train_heads(layers, train, valid, recipe=self._recipe(), dropout=self._rate(), rngs=rngs)

    def _members(self, trained: TrainedHeads, features: SpectralMap, rng: np.random.Generator) -> FittedHeads:
        layers = trained.layers
        if self.posterior == "dropout":
            active = rng.random((self.members, layers[-1].weight.shape[2])) >= self._rate()
            layers = masked(layers, active, self._rate())
        return FittedHeads.of(layers, features, self.norm_)

    def _validated(self, fitted: FittedHeads, vectors: Float[Array, "L H"], plan: SplitPlan) -> FittedHeads:
        """The members at the temperatures that suit their validation parts, and their weights."""
        E = self.members
        self._weights = np.full(E, 1 / E)
        if not self.calibrate and self.weighting == "uniform":
            return fitted
        probs = fitted.probs(vectors).astype(np.float64)
        parts = [plan.splits[e % len(plan.splits)].valid for e in range(E)]
        verdicts = [
            temperature_and_likelihood(probs[e, part], plan.labels[part], self.calibrate)
            for e, part in enumerate(parts)
        ]
        if self.weighting == "likelihood":
            self._weights = likelihood_weights([likelihood for _, likelihood in verdicts])
        return fitted.at_temperatures(np.array([temperature for temperature, _ in verdicts]))
