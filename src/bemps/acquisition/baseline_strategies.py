"""Strategies that need no expected gain: random, by uncertainty, and spread over features or embeddings."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps.acquisition import baselines, batch_rules, clusters
from bemps.acquisition.batchbald import batchbald
from bemps.acquisition.context import Context
from bemps.errors import unknown_name
from bemps.types import Array, Selection


def at_random(context: Context) -> Selection:
    """Draw the batch at random."""
    return Selection(context.rng.choice(context.size, context.n, replace=False), np.zeros(context.n))


def by_rule(scores: Float[Array, " N"], context: Context, rule: str, beta: float) -> Selection:
    """Take the largest scores, or draw items by one of the stochastic rules.

    Parameters
    ----------
    scores : array of float (N,)
        A score for each candidate.
    context : Context
        The pool and the size of the batch.
    rule : {'top', 'power', 'softmax', 'softrank'}
        The rule.
    beta : float
        The sharpness of a stochastic rule.

    Returns
    -------
    Selection
        The batch.
    """
    checks.within(beta, "beta", 0)  # also where the rule does not use it
    if rule == "top":
        picks = batch_rules.top(scores, context.n, context.rng)
    elif isinstance(rule, str) and rule in batch_rules.STOCHASTIC:
        picks = batch_rules.stochastic(scores, context.n, context.rng, kind=rule, beta=beta)
    else:
        raise unknown_name("rule", rule, ["top", *batch_rules.STOCHASTIC])
    return Selection(picks, scores[picks].astype(np.float64))


def uncertainty(
    context: Context,
    *,
    item_score: Callable[[Float[Array, "E N K"], Float[Array, " E"]], Float[Array, " N"]],
    rule: str = "top",
    beta: float = 1.0,
) -> Selection:
    """Select by a score that is a function of an item's own predictions.

    Parameters
    ----------
    context : Context
        The pool and the members' predictions.
    item_score : callable
        The score, from probabilities (E, N, K) and weights (E,) to scores (N,).
    rule : {'top', 'power', 'softmax', 'softrank'}
        From scores to a batch.
    beta : float
        The sharpness of a stochastic rule.

    Returns
    -------
    Selection
        The batch.
    """
    return by_rule(item_score(*context.members()), context, rule, beta)


def greedy_batchbald(context: Context, *, samples: int = 10_000) -> Selection:
    """BatchBALD; `samples` configurations of labels stand for all where there are more."""
    probs, weights = context.members()
    size = checks.integer(samples, "samples", 1)
    return Selection(*batchbald(probs, weights, context.n, context.rng, samples=size))


def badge(context: Context) -> Selection:
    """BADGE on the features of the current model."""
    probs, weights = context.members()
    return Selection(*baselines.badge(probs, weights, context.need("features"), context.n, context.rng))


def embedding_clusters(context: Context) -> Selection:
    """The item nearest each k-means centre of the embeddings."""
    return clusters.nearest_to_centres(context.representation()[0], context.n, context.rng)


def surprisal_clusters(context: Context) -> Selection:
    """The item nearest each k-means centre of the surprisal vectors (ALPS)."""
    return clusters.nearest_to_centres(batch_rules.unit_rows(context.need("surprisal")), context.n, context.rng)


def near_tie_clusters(context: Context, *, candidates_per_item: int = 10) -> Selection:
    """The item nearest each k-means centre of the `candidates_per_item` times n smallest margins."""
    margins = baselines.margin(*context.members())
    if context.n == 1:
        return by_rule(margins, context, "top", 1.0)
    size = checks.integer(candidates_per_item, "candidates_per_item", 1) * context.n
    near = batch_rules.top(margins, min(size, context.size), context.rng)
    return clusters.nearest_to_centres(context.representation()[0], context.n, context.rng, near)


def coreset(context: Context) -> Selection:
    """k-centre greedy on embeddings, from the labelled items on."""
    vectors, labelled = context.representation()
    return Selection(*baselines.coreset(vectors, labelled, context.n, context.rng))


def typical_of_clusters(context: Context) -> Selection:
    """TypiClust: the most typical item of each cluster that has no label."""
    vectors, labelled = context.representation()
    return clusters.typiclust(vectors, labelled, context.n, context.rng)
