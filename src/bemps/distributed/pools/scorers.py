"""Scorers compute for each item of a shard its score and, for diverse batches, the vector that k-means sees.

A scorer holds everything that the items share (weights, estimation pool or sums over the pool), so the scores of a
shard are those that the items have in the full pool. It is sent to the workers once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from bemps.acquisition import baselines
from bemps.distributed.pools.work_folder import signature
from bemps.gain import Gain, expected_gain
from bemps.gain.general import BlockedGain
from bemps.gain.logarithmic import LogKernel
from bemps.gain.quadratic import QuadraticGain, quadratic_scores
from bemps.scores import SoftZeroOne
from bemps.types import Array

Probs = Float[Array, "E n K"]
Weights = Float[Array, " E"]


def uniform(size: int) -> Float[Array, " size"]:
    """Equal weights of sum one."""
    return np.full(size, 1 / size)


@runtime_checkable
class Scorer(Protocol):
    """Computes scores and vectors of items."""

    @property
    def signature(self) -> str:
        """A hash of everything that the scores depend on besides the items."""
        ...

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        """The score of each item, larger is better."""
        ...

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
        """The vector of each item, for k-means."""
        ...


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """A scorer by a function of the item's own predictions.

    Attributes
    ----------
    name : str
        The name of the function.
    item_score : callable
        From probabilities and weights to scores.
    weights : array of float (E,) or None
        Weights of the members. None: uniform.
    """

    name: str
    item_score: Callable[[Probs, Weights], Float[Array, " n"]]
    weights: Weights | None

    @property
    def signature(self) -> str:
        """A hash of everything that the scores depend on besides the items."""
        return signature(self.name, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        """Return the score of each item."""
        return self.item_score(probs, uniform(len(probs)) if self.weights is None else self.weights)

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
        """Return vectors without columns: k-means is not used."""
        return np.zeros((probs.shape[1], 0))


@dataclass(frozen=True, eq=False)
class PointGain:
    """A scorer by the expected gain with an estimation pool of points.

    Attributes
    ----------
    name : str
        The gain: "wmocu", "smocu", or the name of a score.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    value : float
        The parameter of smocu (k) and wmocu (c).
    single : bool
        Whether float32 is enough for the log score.
    """

    name: str
    points: Float[Array, "E M K"]
    weights: Weights
    value: float = 0.0
    single: bool = False

    @property
    def signature(self) -> str:
        """A hash of everything that the scores depend on besides the items."""
        return signature(self.name, self.value, self.single, self.points, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        """Return the expected gain of each item."""
        return self._gain(probs).scores

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
        """Return the gain vector of each item."""
        return self._gain(probs).rows(np.arange(probs.shape[1]))

    def _gain(self, probs: Probs) -> Gain:
        every = uniform(self.points.shape[1])
        if self.name == "wmocu":
            return baselines.wmocu_gain(probs, self.points, self.weights, every, c=self.value)
        if self.name == "log":
            return BlockedGain(LogKernel(probs, self.points, self.weights, single=self.single), every)
        score = SoftZeroOne(self.value) if self.name == "smocu" else self.name
        return expected_gain(probs, self.points, score=score, weights=self.weights)


@dataclass(frozen=True, eq=False)
class PoolGain:
    """A scorer by CoreMSE with the full pool as estimation pool, from its sums (`pool_sums`).

    Attributes
    ----------
    form : array of float (E, E)
        Gamma of the pool.
    triangle : array of float (D, P) or None
        R of the pool. None: only scores are needed.
    weights : array of float (E,)
        Weights of the members.
    """

    form: Float[Array, "E E"]
    triangle: Float[Array, "D P"] | None
    weights: Weights

    @property
    def signature(self) -> str:
        """A hash of everything that the scores depend on besides the items."""
        return signature("brier of the pool", self.form, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        """Return the expected gain of each item."""
        return quadratic_scores(probs, self.form, self.weights)

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
        """Return the gain vector of each item."""
        assert self.triangle is not None
        return _Factored(probs, self.triangle, self.weights).vectors


class _Factored(QuadraticGain):
    """The vectors of some items, with the triangle of the whole pool."""

    def __init__(self, probs: Probs, triangle: Float[Array, "D P"], weights: Weights) -> None:
        super().__init__(probs, probs, np.eye(probs.shape[2]), weights, np.ones(probs.shape[1]))
        self._triangle_of_pool = triangle

    @cached_property
    def factor(self) -> Float[Array, "D P"]:
        return self._triangle_of_pool
