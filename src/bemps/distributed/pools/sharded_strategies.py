"""The selection of a batch from a pool in shards. The table of strategies says which strategies support it.

The batch is that of `bemps.select` for the same probabilities and seed.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps.acquisition.context import ESTIMATION_SIZE, Context
from bemps.acquisition.strategy_registry import find_strategy, strategies_on_shards
from bemps.acquisition.strategy_rows import DIVERSE, JOINT, RANDOM, TOP, ShardPlan
from bemps.distributed.pools.exact_rank import BucketCounts
from bemps.distributed.pools.pool_sums import FORM, STRENGTH, TRIANGLE, PoolSums
from bemps.distributed.pools.scorers import PointGain, PoolGain, Scorer, Uncertainty
from bemps.distributed.pools.shard_pass import ShardPass
from bemps.distributed.pools.sharded_batches import BatchRules, PoolBatch
from bemps.distributed.pools.sharded_pool import ShardedPool
from bemps.errors import InputError, unknown_name
from bemps.gain.joint import brier_form_root, joint_greedy
from bemps.gain.logarithmic import float32_is_enough
from bemps.gain.quadratic import square_root
from bemps.types import Array

_SHARD_VALUES = {"rule": "top", "compat": None}  # options whose other values need all candidates in one place


def find_plan(strategy: str, options: dict[str, object]) -> tuple[ShardPlan, dict[str, Any]]:
    """Return the shard plan of a strategy and all its options. A strategy without one is refused."""
    entry = find_strategy(strategy)
    known, plan = entry.options, entry.shards
    if plan is None:
        raise InputError(
            "strategy",
            expected=f"one that can be distributed: {', '.join(strategies_on_shards())}",
            got=repr(strategy),
            fix="Choose one of them, or call bemps.select with arrays in memory.",
        )
    for option, value in options.items():
        if entry.option_name(option) not in known:
            raise unknown_name(f"option of {strategy}", option, known)
        if option in _SHARD_VALUES and value != _SHARD_VALUES[option]:
            fix = "Leave it out, or call bemps.select with arrays in memory."
            raise InputError(option, expected=f"{_SHARD_VALUES[option]!r} on shards", got=repr(value), fix=fix)
    return plan, known | entry.with_present_names(options)


@dataclass(frozen=True, eq=False)
class PoolSelector:
    """One selection from a pool in shards.

    Attributes
    ----------
    strategy : str
        The name of the strategy.
    plan : ShardPlan
        How it runs over shards.
    options : dict of str to object
        All of its options.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        The random numbers of `bemps.select`.
    shard_pass : ShardPass
        What every pass needs.
    weights : array of float (E,) or None
        Weights of the members. None: uniform.
    estimation : array of float (E, M, K) or None
        Probabilities of an estimation pool that the user gave.
    cluster_memory : int
        Bytes of vectors that k-means may see.
    """

    strategy: str
    plan: ShardPlan
    options: dict[str, Any]
    n: int
    rng: np.random.Generator
    shard_pass: ShardPass
    weights: Float[Array, " E"] | None
    estimation: Float[Array, "E M K"] | None
    cluster_memory: int

    def select(self, pool: ShardedPool) -> tuple[ShardedPool, PoolBatch]:
        """Return the pool without the shards that were skipped, and the batch."""
        if self.plan.rule == RANDOM:
            n = checks.batch_size(self.n, pool.size)
            return pool, PoolBatch(self.rng.choice(pool.size, n, replace=False), np.zeros(n))
        item_scorer = self._item_scorer()
        first_pass = replace(self.shard_pass, sum_names=self._sum_names(), scorer=item_scorer)
        pool, sums, counts = pool.run_pass(first_pass, "predicting" if first_pass.model else "reading")
        checks.batch_size(self.n, pool.size)
        self._check_members(sums, pool.size)
        weights = self.weights if self.weights is not None else np.full(sums.shape[0], 1 / sums.shape[0])
        scoring_pass = replace(self.shard_pass, model=None, reader=self._scoring_reader(), weights=weights)
        scorer = item_scorer or self._scorer(pool, sums, scoring_pass, weights)
        if counts is None:
            _, _, counts = pool.run_pass(replace(scoring_pass, scorer=scorer), "scoring")
        assert counts is not None
        return pool, self._pick(pool, scorer, scoring_pass, counts)

    def _check_members(self, sums: PoolSums, size: int) -> None:
        """Refuse members that all predict the same, as `bemps.select` does."""
        equal = not checks.is_difference(sums.spread, np.dtype(sums.dtype))
        if equal and find_strategy(self.strategy).disagreement and self.n < size:  # asking for everything is no choice
            raise checks.equal_members_error(self.strategy, sums.shape[0])

    def _scoring_reader(self) -> Any:
        column = "probs" if self.shard_pass.model is not None else self.shard_pass.reader.column
        return replace(self.shard_pass.reader, column=column)

    def _item_scorer(self) -> Scorer | None:
        """A scorer that needs nothing from the pool."""
        if self.plan.item_score is None:
            return None
        return Uncertainty(self.plan.item_score.__name__, self.plan.item_score, self.weights)

    def _sum_names(self) -> tuple[str, ...]:
        if self.plan.gain == "brier" and self.estimation is None:
            return (FORM, TRIANGLE) if self.plan.rule == DIVERSE else (FORM,)
        return (STRENGTH,) if self.plan.gain == "log" else ()

    def _scorer(
        self, pool: ShardedPool, sums: PoolSums, scoring_pass: ShardPass, weights: Float[Array, " E"]
    ) -> Scorer:
        gain = self.plan.gain
        assert gain is not None
        points = self._points(pool, sums, scoring_pass)
        if points is None:
            assert sums.form is not None
            return PoolGain(sums.form / sums.rows, sums.triangle, weights)
        checks.same_members_and_classes(np.empty((sums.shape[0], 1, sums.shape[1])), points, "estimation")
        both = np.result_type(np.dtype(sums.dtype), points)
        single = gain == "log" and both == np.float32 and float32_is_enough(sums.moment, points, weights)
        value = float(checks.within(self.options[self.plan.option], self.plan.option, 0)) if self.plan.option else 0.0
        return PointGain(gain, points, weights, value, single)

    def _points(self, pool: ShardedPool, sums: PoolSums, scoring_pass: ShardPass) -> Float[Array, "E M K"] | None:
        """The estimation pool of `bemps.select`; None for the whole pool, of which the sums are enough."""
        if self.estimation is not None:
            return self.estimation
        pairs = sums.shape[0] * (sums.shape[0] - 1) // 2
        free = self.plan.gain == "brier" and pairs <= ESTIMATION_SIZE
        size = self.options.get("estimation_size")
        if size is None:
            size = pool.size if free else ESTIMATION_SIZE
        size = checks.integer(size, "estimation_size", 1)
        if size >= pool.size and self.plan.gain == "brier" and pairs < pool.size:
            return None
        context = Context(n=self.n, size=pool.size, rng=self.rng)
        return pool.gather(scoring_pass, context.sample(size))

    def _pick(
        self, pool: ShardedPool, scorer: Scorer, scoring_pass: ShardPass, counts: list[BucketCounts]
    ) -> PoolBatch:
        rules = BatchRules(pool, scorer, scoring_pass, counts, self.rng)
        if self.plan.rule == JOINT:
            return self._joint(rules, pool, scorer, scoring_pass)
        if self.plan.rule == TOP or self.n == 1:
            return rules.top(self.n)
        T = checks.within(self.options["T"], "T", 0, 1, open_low=True)
        size = max(self.n, int(np.ceil(T * pool.size)))
        return rules.diverse(self.n, size, self.cluster_memory)

    def _joint(self, rules: BatchRules, pool: ShardedPool, scorer: Scorer, scoring_pass: ShardPass) -> PoolBatch:
        samples = checks.integer(self.options["samples"], "samples", 1)
        requested = self.options["candidates"]
        size = max(1_000, 20 * self.n) if requested is None else max(self.n, checks.integer(requested, "candidates", 1))
        candidates = rules.top(min(size, pool.size)).indices
        probs = pool.gather(scoring_pass, candidates)
        weights = scoring_pass.weights
        assert weights is not None
        form = scorer.form if isinstance(scorer, PoolGain) else _form_of(scorer, weights)
        picks, values = joint_greedy(probs, self.n, square_root(form), weights, samples=samples, rng=self.rng)
        return PoolBatch(candidates[picks], values)


def _form_of(scorer: Scorer, weights: Float[Array, " E"]) -> Float[Array, "E E"]:
    assert isinstance(scorer, PointGain)
    form_root = brier_form_root(scorer.points, weights)
    return form_root.T @ form_root
