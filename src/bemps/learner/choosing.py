"""One batch of a learner: what the strategy sees, what it picks, and why."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from bemps.checks import batch_size
from bemps.context import Context
from bemps.errors import InputError
from bemps.learner import door
from bemps.learner.asked import Batch, Why, reasons
from bemps.learner.knowledge import CHOOSE
from bemps.members.base import take
from bemps.strategies import Entry, Strategy, find, name_for, run
from bemps.types import Array, Selection

if TYPE_CHECKING:
    from bemps.learner.active import ActiveLearner

Rows = Int[Array, " N"]


def choose_batch(learner: "ActiveLearner", n: int) -> Batch:
    """The n items that come next in the present state of the learner, which stays as it is."""
    candidates = learner.pool.candidates()
    if not len(candidates):
        got = f"none of {len(learner.pool.ids)}: all are labelled, skipped or excluded"
        raise InputError("ask", expected="an item that is left", got=got, fix="There is nothing more to label.")
    size, ready = batch_size(n, len(candidates)), learner.knowledge.ready
    strategy = (
        door.resolved(learner.strategy, learner.model, learner.items, len(learner.classes))
        if ready
        else learner.cold_start
    )
    chosen = _select(learner, strategy, candidates, size, learner.options if ready else {})
    why = _why(learner, chosen, candidates) if learner.explain else ()
    rows = candidates[chosen.indices]
    names = tuple(learner.pool.ids[row] for row in rows)
    return Batch(
        _batch_id(learner, names),
        names,
        tuple(map(float, chosen.scores)),
        why,
        name_for(strategy),
        contents=take(learner.items, rows),
    )


def _select(
    learner: "ActiveLearner", strategy: str | Strategy, candidates: Rows, n: int, options: Mapping[str, object]
) -> Selection:
    knowledge, entry = learner.knowledge, find(strategy)
    needs = entry.needs if knowledge.ready else _cold_needs(strategy, entry)
    context = Context(
        n=n,
        size=len(candidates),
        rng=knowledge.generator(CHOOSE),
        **_members(learner, entry, candidates),
        **knowledge.bring(needs, candidates, learner.estimation_rows()),
    )
    return run(strategy, context, **options)


def _cold_needs(strategy: str | Strategy, entry: Entry) -> tuple[str, ...]:
    """Before there are labels: embeddings for those that look at them, and for functions, which may."""
    if not isinstance(strategy, str):
        return ("embeddings", "labelled_embeddings")
    return tuple(need for need in entry.needs if need in ("embeddings", "labelled_embeddings", "surprisal"))


def _members(learner: "ActiveLearner", entry: Entry, candidates: Rows) -> dict[str, Any]:
    if not learner.knowledge.ready:
        return {}
    if "map" in entry.needs:
        return {"probs": learner.knowledge.most_probable(candidates)[None], "weights": np.ones(1)}
    probs, weights = learner.knowledge.members(candidates)
    return {"probs": probs, "weights": weights}


def _why(learner: "ActiveLearner", chosen: Selection, candidates: Rows) -> tuple[Why, ...]:
    if learner.knowledge.ready:
        return reasons(*learner.knowledge.members(candidates), chosen)
    stands = [1] * len(chosen) if chosen.clusters is None else map(len, chosen.clusters)
    return tuple(Why(0.0, 0.0, number) for number in stands)


def _batch_id(learner: "ActiveLearner", names: tuple[str, ...]) -> str:
    text = "\n".join([str(learner.seed), str(learner.pool.version), *names])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
