"""What is computed for each item of a shard: its score and, for diverse batches, the vector that k-means sees.

A scorer knows everything that the items share (weights, estimation pool or sums over the pool), so that the scores of a
shard are those that the items have in the whole pool. It is sent to the workers once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from bemps import baselines
from bemps.distributed.folder import signature
from bemps.gain import Gain, expected_gain
from bemps.gain.blocked import BlockedGain
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
    """Scores of items, larger is better; `signature` changes with anything that changes them."""

    @property
    def signature(self) -> str: ...

    def scores(self, probs: Probs) -> Float[Array, " n"]: ...

    def rows(self, probs: Probs) -> Float[Array, "n D"]: ...


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """A function of the item's own predictions."""

    name: str
    of: Callable[[Probs, Weights], Float[Array, " n"]]
    weights: Weights | None

    @property
    def signature(self) -> str:
        return signature(self.name, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        return self.of(probs, uniform(len(probs)) if self.weights is None else self.weights)

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
        return np.zeros((probs.shape[1], 0))


@dataclass(frozen=True, eq=False)
class PointGain:
    """Expected gain with an estimation pool of points. `value` is the parameter of smocu (k) and wmocu (c)."""

    name: str
    points: Float[Array, "E M K"]
    weights: Weights
    value: float = 0.0
    single: bool = False

    @property
    def signature(self) -> str:
        return signature(self.name, self.value, self.single, self.points, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        return self._gain(probs).scores

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
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
    """CoreMSE with the whole pool as estimation pool, from its sums: see `bemps.distributed.facts`."""

    form: Float[Array, "E E"]
    triangle: Float[Array, "D P"] | None  # None where only scores are wanted
    weights: Weights

    @property
    def signature(self) -> str:
        return signature("brier of the pool", self.form, self.weights)

    def scores(self, probs: Probs) -> Float[Array, " n"]:
        return quadratic_scores(probs, self.form, self.weights)

    def rows(self, probs: Probs) -> Float[Array, "n D"]:
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
