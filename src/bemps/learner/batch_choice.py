"""The choice of one batch of a learner: the context, the selection and the reasons."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from bemps.acquisition.context import Context
from bemps.acquisition.strategy_registry import Strategy, StrategyEntry, find_strategy, run_strategy, strategy_name
from bemps.checks import batch_size
from bemps.errors import InputError
from bemps.learner import input_checks
from bemps.learner.batch import Batch, Why, reasons
from bemps.learner.fitted_model import CHOOSE
from bemps.models.base import take
from bemps.types import Array, Selection

if TYPE_CHECKING:
    from bemps.learner.active_learner import ActiveLearner

Positions = Int[Array, " N"]


def choose_batch(learner: "ActiveLearner", n: int) -> Batch:
    """Choose the next n items in the present state of the learner. The state does not change."""
    candidates = learner.pool.candidates()
    if not len(candidates):
        got = f"none of {len(learner.pool.ids)}: all are labelled, skipped or excluded"
        raise InputError("ask", expected="an item that is left", got=got, fix="There is nothing more to label.")
    size, ready = batch_size(n, len(candidates)), learner.fitted_model.ready
    strategy = (
        input_checks.resolved_strategy(learner.strategy, learner.model, learner.items, len(learner.classes))
        if ready
        else learner.cold_start
    )
    selection = _select(learner, strategy, candidates, size, learner.options if ready else {})
    why = _why(learner, selection, candidates) if learner.explain else ()
    rows = candidates[selection.indices]
    names = tuple(learner.pool.ids[row] for row in rows)
    return Batch(
        _batch_id(learner, names),
        names,
        tuple(map(float, selection.scores)),
        why,
        strategy_name(strategy),
        contents=take(learner.items, rows),
    )


def _select(
    learner: "ActiveLearner", strategy: str | Strategy, candidates: Positions, n: int, options: Mapping[str, object]
) -> Selection:
    fitted_model, entry = learner.fitted_model, find_strategy(strategy)
    needs = entry.needs if fitted_model.ready else _cold_needs(strategy, entry)
    context = Context(
        n=n,
        size=len(candidates),
        rng=fitted_model.generator(CHOOSE),
        **_members(learner, entry, candidates),
        **fitted_model.context_fields(needs, candidates, learner.estimation_rows()),
    )
    return run_strategy(strategy, context, **options)


def _cold_needs(strategy: str | Strategy, entry: StrategyEntry) -> tuple[str, ...]:
    """Before there are labels: embeddings for those that look at them, and for functions, which may."""
    if not isinstance(strategy, str):
        return ("embeddings", "labelled_embeddings")
    return tuple(need for need in entry.needs if need in ("embeddings", "labelled_embeddings", "surprisal"))


def _members(learner: "ActiveLearner", entry: StrategyEntry, candidates: Positions) -> dict[str, Any]:
    if not learner.fitted_model.ready:
        return {}
    if "map" in entry.needs:
        return {"probs": learner.fitted_model.most_probable(candidates)[None], "weights": np.ones(1)}
    probs, weights = learner.fitted_model.members(candidates)
    return {"probs": probs, "weights": weights}


def _why(learner: "ActiveLearner", selection: Selection, candidates: Positions) -> tuple[Why, ...]:
    if learner.fitted_model.ready:
        return reasons(*learner.fitted_model.members(candidates), selection)
    stands = [1] * len(selection) if selection.clusters is None else map(len, selection.clusters)
    return tuple(Why(0.0, 0.0, number) for number in stands)


def _batch_id(learner: "ActiveLearner", names: tuple[str, ...]) -> str:
    text = "\n".join([str(learner.seed), str(learner.pool.version), *names])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
