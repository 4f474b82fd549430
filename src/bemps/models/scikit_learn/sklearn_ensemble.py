"""Members from scikit-learn: clones of any classifier with `predict_proba`.

A class without a label keeps its column. Hard zeros would call such a class impossible, so `smoothing` (1 by
default) adds that many labels spread evenly over the classes: with L labels every probability is at least
smoothing / (K (L + smoothing)). Labels of a single class give that class everywhere, smoothed in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import InputError
from bemps.models.base import Items, NotFitted, check_probs, count, fit_members, take
from bemps.models.ensembling import (
    RESAMPLERS,
    at_temperature,
    check_choices,
    likelihood_weights,
    smoothed,
    temperature_and_likelihood,
)
from bemps.models.scikit_learn.estimators import fitting, quiet, require_probabilities, seeded_clone, weight_argument
from bemps.models.validation_splits import Split, SplitPlan, Validation, plan_splits
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted estimator, and how its answers are widened to K classes.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        The fitted estimator; None where there was one class only.
    codes : array (C,) of int
        The classes it knows, in the order of its columns.
    labels : int
        The number of labels it learnt from.
    temperature : float, optional
        The temperature of its probabilities.
    log_likelihood : float, optional
        The log-likelihood of its held-out labels.
    """

    estimator: Any
    codes: Int[Array, " C"]  # the classes it knows, in the order of its columns
    labels: int
    temperature: float = 1.0
    log_likelihood: float = 0.0

    def probs(self, items: Items, K: int, smoothing: float) -> Float[Array, "N K"]:
        """The probabilities of all K classes, smoothed and at the member's temperature.

        Parameters
        ----------
        items : array, table, or sequence
            The items.
        K : int
            The number of classes.
        smoothing : float
            How many labels are added, spread evenly over the classes.

        Returns
        -------
        array (N, K)
            The probabilities.
        """
        wide = np.zeros((count(items), K))
        if self.estimator is None:
            wide[:, self.codes] = 1.0
        elif count(items):
            wide[:, self.codes] = self._answers(items)
        return at_temperature(smoothed(check_probs(wide), self.labels, smoothing), self.temperature)

    def _answers(self, items: Items) -> Float[Array, "N C"]:
        try:
            with quiet():
                return np.asarray(self.estimator.predict_proba(items))
        except ValueError as cause:
            fix = "Give items of the kind that it was fitted on."
            got = str(cause).splitlines()[0]
            raise InputError("items", expected="what the estimator can predict", got=got, fix=fix) from cause


class SklearnEnsemble:
    """Clones of an estimator as members.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Any classifier with `predict_proba`, also a pipeline. It is cloned, never fitted itself.
    members : int
        E, the number of clones.
    resample : {"dirichlet", "bootstrap", "none"}
        How labels weigh in each member. "dirichlet" is the Bayesian bootstrap and needs `sample_weight`.
    validation : {"none", "dynamic", "constant"} or Fixed
        The labels that `calibrate` and `weighting` use.
    calibrate : bool
        Whether each member's temperature is fitted on its validation part.
    weighting : {"uniform", "likelihood"}
        How members weigh: alike, or by the likelihood of their validation parts.
    smoothing : float
        Labels added to the L labels, spread evenly over the classes.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        members: int = 5,
        resample: str = "dirichlet",
        validation: Validation = "none",
        calibrate: bool = False,
        weighting: str = "uniform",
        smoothing: float = 1.0,
    ) -> None:
        self.estimator, self.members, self.resample = estimator, members, resample
        self.validation, self.calibrate, self.weighting = validation, calibrate, weighting
        self.smoothing = smoothing
        self._check()
        self.members_: list[Member] | None = None
        self.K_ = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.estimator).__name__}, members={self.members})"

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "SklearnEnsemble":
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
        SklearnEnsemble
            The model itself.
        """
        plan = plan_splits(self.validation, items, labels, classes=classes, members=self.members, rng=rng)
        self.members_, self.K_ = None, len(classes)
        self.members_ = fit_members(
            self.members, lambda e, member_rng: self._fit_one(plan, plan.splits[e], member_rng), rng
        )
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        if self.members_ is None:
            raise NotFitted(self)
        with fitting(self.estimator, "asked about"):
            return np.stack([member.probs(items, self.K_, self.smoothing) for member in self.members_])

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members."""
        if self.members_ is None:
            raise NotFitted(self)
        if self.weighting == "uniform":
            return np.full(self.members, 1 / self.members)
        return likelihood_weights([member.log_likelihood for member in self.members_])

    def _check(self) -> None:
        checks.integer(self.members, "members", 1)
        require_probabilities(self.estimator)
        check_choices(
            resample=self.resample, weighting=self.weighting, calibrate=self.calibrate, validation=self.validation
        )
        if self.resample == "dirichlet" and weight_argument(self.estimator) is None:
            raise InputError(
                "resample='dirichlet'",
                expected="an estimator whose fit takes sample_weight",
                got=type(self.estimator).__name__,
                fix="Use resample='bootstrap', which repeats items instead of weighting them.",
            )

    def _fit_one(self, plan: SplitPlan, split: Split, rng: np.random.Generator) -> Member:
        items, labels = take(plan.items, split.train), plan.labels[split.train]
        weights = RESAMPLERS[self.resample](len(labels), rng)
        if self.resample == "bootstrap":
            drawn = np.repeat(np.arange(len(labels)), weights.astype(np.int64))
            items, labels = take(items, drawn), labels[drawn]
        estimator = seeded_clone(self.estimator, rng)
        member = _fit_member(estimator, items, labels, weights if self.resample == "dirichlet" else None)
        return self._validated(member, take(plan.items, split.valid), plan.labels[split.valid])

    def _validated(self, member: Member, items: Items, labels: Int[Array, " V"]) -> Member:
        """The member with its temperature and its likelihood on the validation part."""
        temperature, score = temperature_and_likelihood(
            member.probs(items, self.K_, self.smoothing), labels, self.calibrate
        )
        return replace(member, temperature=temperature, log_likelihood=score)


def _fit_member(estimator: Any, items: Items, labels: Int[Array, " L"], weights: Float[Array, " L"] | None) -> Member:
    codes = np.unique(labels)
    if len(codes) == 1:
        return Member(None, codes, len(labels))
    arguments = {} if weights is None else {str(weight_argument(estimator)): weights}
    with quiet(), fitting(estimator):
        estimator.fit(items, labels, **arguments)
    return Member(estimator, np.asarray(estimator.classes_), len(labels))
