"""The strategies that can be had from shards, and how each turns a pool into a batch.

Every one of them gives what `bemps.select` gives for the same probabilities and seed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps import baselines, checks
from bemps.context import ESTIMATION_SIZE, Context
from bemps.distributed.clustering import Batches, Picked
from bemps.distributed.facts import FORM, STRENGTH, TRIANGLE, Facts
from bemps.distributed.pool import Pool
from bemps.distributed.quantile import Counts
from bemps.distributed.scorers import PointGain, PoolGain, Scorer, Uncertainty
from bemps.distributed.visit import Pass
from bemps.errors import InputError, unknown_name
from bemps.gain.joint import brier_half, joint_greedy
from bemps.gain.logarithmic import float32_is_enough
from bemps.gain.quadratic import square_root
from bemps.strategies import ALIASES, find
from bemps.types import Array

TOP, DIVERSE, JOINT = "top", "diverse", "joint"


@dataclass(frozen=True)
class Plan:
    """A row of the table: a function of the item's own predictions, or a gain and the option that is its parameter."""

    rule: str
    of: Callable[..., Float[Array, " n"]] | None = None
    gain: str | None = None
    option: str | None = None


PLANS: dict[str, Plan] = {
    "random": Plan("random"),
    "least-confidence": Plan(TOP, of=baselines.least_confidence),
    "margin": Plan(TOP, of=baselines.margin),
    "entropy": Plan(TOP, of=baselines.entropy),
    "bald": Plan(TOP, of=baselines.bald),
    "mocu": Plan(DIVERSE, gain="zero-one"),
    "wmocu": Plan(DIVERSE, gain="wmocu", option="c"),
    "smocu": Plan(DIVERSE, gain="smocu", option="k"),
    "coremse": Plan(DIVERSE, gain="brier"),
    "corelog": Plan(DIVERSE, gain="log"),
    "coremse-topk": Plan(TOP, gain="brier"),
    "corelog-topk": Plan(TOP, gain="log"),
    "coremse-joint": Plan(JOINT, gain="brier"),
}
_ONE_MACHINE = {"rule": "top", "compat": None}  # options whose other values need all candidates in one place


def find_plan(strategy: str, options: dict[str, object]) -> tuple[Plan, dict[str, Any]]:
    """The plan of a strategy and all its options; what cannot be distributed is refused before anything is read."""
    name = ALIASES.get(strategy, strategy)
    known = find(name).options
    if name not in PLANS:
        raise InputError(
            "strategy",
            expected=f"one that can be distributed: {', '.join(PLANS)}",
            got=repr(strategy),
            fix="Choose one of them, or call bemps.select with arrays in memory.",
        )
    for option, value in options.items():
        if option not in known:
            raise unknown_name(f"option of {strategy}", option, known)
        if option in _ONE_MACHINE and value != _ONE_MACHINE[option]:
            fix = "Leave it out, or call bemps.select with arrays in memory."
            raise InputError(option, expected=f"{_ONE_MACHINE[option]!r} on shards", got=repr(value), fix=fix)
    return PLANS[name], known | options


@dataclass(frozen=True, eq=False)
class Choosing:
    """One selection: the plan, its options, and the random numbers of `bemps.select`."""

    strategy: str
    plan: Plan
    options: dict[str, Any]
    n: int
    rng: np.random.Generator
    given: Pass
    weights: Float[Array, " E"] | None
    estimation: Float[Array, "E M K"] | None
    cluster_memory: int

    def batch(self, pool: Pool) -> tuple[Pool, Picked]:
        """The batch, and the pool without the shards that had to be skipped."""
        if self.plan.rule == "random":
            n = checks.batch_size(self.n, pool.size)
            return pool, Picked(self.rng.choice(pool.size, n, replace=False), np.zeros(n))
        ready = self._ready()
        first = replace(self.given, wanted=self._wanted(), scorer=ready)
        pool, facts, counts = pool.visited(first, "predicting" if first.model else "reading")
        checks.batch_size(self.n, pool.size)
        self._check_members(facts, pool.size)
        weights = self.weights if self.weights is not None else np.full(facts.shape[0], 1 / facts.shape[0])
        later = replace(self.given, model=None, reading=self._later_reading(), weights=weights)
        scorer = ready or self._scorer(pool, facts, later, weights)
        if counts is None:
            _, _, counts = pool.visited(replace(later, scorer=scorer), "scoring")
        assert counts is not None
        return pool, self._pick(pool, scorer, later, counts)

    def _check_members(self, facts: Facts, size: int) -> None:
        """Refuse members that leave nothing to compare, as `bemps.select` does."""
        equal = not checks.is_difference(facts.spread, np.dtype(facts.dtype))
        if equal and find(self.strategy).disagreement and self.n < size:  # asking for everything is no choice
            raise checks.equal_members(self.strategy, facts.shape[0])

    def _later_reading(self) -> Any:
        column = "probs" if self.given.model is not None else self.given.reading.column
        return replace(self.given.reading, column=column)

    def _ready(self) -> Scorer | None:
        """A scorer that needs nothing from the pool."""
        if self.plan.of is None:
            return None
        return Uncertainty(self.plan.of.__name__, self.plan.of, self.weights)

    def _wanted(self) -> tuple[str, ...]:
        if self.plan.gain == "brier" and self.estimation is None:
            return (FORM, TRIANGLE) if self.plan.rule == DIVERSE else (FORM,)
        return (STRENGTH,) if self.plan.gain == "log" else ()

    def _scorer(self, pool: Pool, facts: Facts, later: Pass, weights: Float[Array, " E"]) -> Scorer:
        gain = self.plan.gain
        assert gain is not None
        points = self._points(pool, facts, later)
        if points is None:
            assert facts.form is not None
            return PoolGain(facts.form / facts.rows, facts.triangle, weights)
        checks.same_members_and_classes(np.empty((facts.shape[0], 1, facts.shape[1])), points, "estimation")
        both = np.result_type(np.dtype(facts.dtype), points)
        single = gain == "log" and both == np.float32 and float32_is_enough(facts.moment, points, weights)
        value = float(checks.within(self.options[self.plan.option], self.plan.option, 0)) if self.plan.option else 0.0
        return PointGain(gain, points, weights, value, single)

    def _points(self, pool: Pool, facts: Facts, later: Pass) -> Float[Array, "E M K"] | None:
        """The estimation pool as `bemps.select` has it; None for the whole pool, of which the sums are enough."""
        if self.estimation is not None:
            return self.estimation
        pairs = facts.shape[0] * (facts.shape[0] - 1) // 2
        free = self.plan.gain == "brier" and pairs <= ESTIMATION_SIZE
        asked = self.options.get("estimation_size")
        size = (pool.size if free else ESTIMATION_SIZE) if asked is None else checks.whole(asked, "estimation_size", 1)
        if size >= pool.size and self.plan.gain == "brier" and pairs < pool.size:
            return None
        context = Context(n=self.n, size=pool.size, rng=self.rng)
        return pool.gather(later, context.sample(size))

    def _pick(self, pool: Pool, scorer: Scorer, later: Pass, counts: list[Counts]) -> Picked:
        batches = Batches(pool, scorer, later, counts, self.rng)
        if self.plan.rule == JOINT:
            return self._joint(batches, pool, scorer, later)
        if self.plan.rule == TOP or self.n == 1:
            return batches.top(self.n)
        T = checks.within(self.options["T"], "T", 0, 1, open_low=True)
        size = max(self.n, int(np.ceil(T * pool.size)))
        return batches.diverse(self.n, size, self.cluster_memory)

    def _joint(self, batches: Batches, pool: Pool, scorer: Scorer, later: Pass) -> Picked:
        samples = checks.whole(self.options["samples"], "samples", 1)
        asked = self.options["candidates"]
        size = max(1_000, 20 * self.n) if asked is None else max(self.n, checks.whole(asked, "candidates", 1))
        kept = batches.top(min(size, pool.size)).indices
        probs = pool.gather(later, kept)
        weights = later.weights
        assert weights is not None
        form = scorer.form if isinstance(scorer, PoolGain) else _form_of(scorer, weights)
        picks, values = joint_greedy(probs, self.n, square_root(form), weights, samples=samples, rng=self.rng)
        return Picked(kept[picks], values)


def _form_of(scorer: Scorer, weights: Float[Array, " E"]) -> Float[Array, "E E"]:
    assert isinstance(scorer, PointGain)
    half = brier_half(scorer.points, weights)
    return half.T @ half
