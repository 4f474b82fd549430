"""Strategies by expected gain: the same gain with other scores, and other ways from gains to a batch."""

from functools import partial

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps.acquisition import baselines, batch_rules
from bemps.acquisition.baseline_strategies import by_rule
from bemps.acquisition.context import ESTIMATION_SIZE, Context
from bemps.errors import unknown_name
from bemps.gain.expected import Gain, gain_of_valid_arrays
from bemps.gain.joint import brier_form_root, joint_greedy
from bemps.gain.official import official_rows, official_scores
from bemps.gain.quadratic import quadratic_scores
from bemps.scores import ScoreLike, SoftZeroOne, quadratic_root
from bemps.scores import score as find_score
from bemps.types import Array, Selection


def gain_diverse(
    context: Context,
    *,
    score: ScoreLike,
    T: float = 0.5,
    estimation_size: int | None = None,
    compat: str | None = None,
) -> Selection:
    """Select a diverse batch of the top fraction T by expected gain.

    Parameters
    ----------
    context : Context
        The pool and the members' predictions.
    score : str, object or callable
        The score whose gain is computed.
    T : float
        The fraction of the candidates, above 0.
    estimation_size : int, optional
        Size of the estimation pool, if the context has none.
    compat : {'official'}, optional
        Compute as the authors' code does, which differs from the paper.

    Returns
    -------
    Selection
        The batch, with the candidates that each item stands for.
    """
    if compat is None:
        return _diverse(context, _gain(context, score, estimation_size), T)
    if compat != "official":
        raise unknown_name("compat", compat, ["official"])
    probs, weights = context.members()
    points = _points(context, score, estimation_size)
    scores = official_scores(probs, points, weights, score)
    rows = partial(official_rows, probs, points, weights, score)
    return batch_rules.diverse(scores, rows, context.n, context.rng, T=T)


def gain_of_any_score(
    context: Context, *, score: ScoreLike = "spherical", T: float = 0.5, estimation_size: int | None = None
) -> Selection:
    """Select a diverse batch by the expected gain in a score that the user names.

    Parameters
    ----------
    context, score, T, estimation_size
        As in `gain_diverse`.

    Returns
    -------
    Selection
        The batch.
    """
    return gain_diverse(context, score=score, T=T, estimation_size=estimation_size)


def mocu(context: Context, *, T: float = 0.5, estimation_size: int | None = None) -> Selection:
    """Select a diverse batch by the expected gain in error rate.

    Parameters
    ----------
    context, T, estimation_size
        As in `gain_diverse`.

    Returns
    -------
    Selection
        The batch.
    """
    return gain_diverse(context, score="zero-one", T=T, estimation_size=estimation_size)


def gain_topk(
    context: Context,
    *,
    score: ScoreLike,
    rule: str = "top",
    beta: float = 1.0,
    estimation_size: int | None = None,
) -> Selection:
    """Select the largest expected gains, each item by itself.

    Parameters
    ----------
    context, score, estimation_size
        As in `gain_diverse`.
    rule : {'top', 'power', 'softmax', 'softrank'}
        From scores to a batch.
    beta : float
        The sharpness of a stochastic rule.

    Returns
    -------
    Selection
        The batch.
    """
    return by_rule(_gain(context, score, estimation_size).scores, context, rule, beta)


def gain_clusters(
    context: Context, *, score: ScoreLike, candidates_per_item: int = 10, estimation_size: int | None = None
) -> Selection:
    """Select by k-means on features of the best candidates, each with its expected gain as weight.

    Parameters
    ----------
    context, score, estimation_size
        As in `gain_diverse`.
    candidates_per_item : int
        Candidates for each item of the batch.

    Returns
    -------
    Selection
        The batch, with the candidates that each item stands for.
    """
    gain = _gain(context, score, estimation_size)
    vectors = context.features if context.features is not None else context.representation()[0]
    return batch_rules.weighted_representatives(
        gain.scores, vectors, context.n, context.rng, candidates_per_item=candidates_per_item
    )


def gain_joint(context: Context, *, samples: int = 256, candidates: int | None = None) -> Selection:
    """Select greedily the batch whose labels together have the largest expected gain in the Brier score.

    Parameters
    ----------
    context : Context
        The pool and the members' predictions.
    samples : int
        The largest number of label configurations.
    candidates : int, optional
        How many candidates with the largest own gains take part. The default is max(1,000, 20 B).

    Returns
    -------
    Selection
        The batch, with the increment of each pick.
    """
    probs, weights = context.members()
    points = _points(context, "brier", None)
    form_root = brier_form_root(points, weights)
    own_gains = quadratic_scores(probs, form_root.T @ form_root, weights)
    size = max(1_000, 20 * context.n)
    if candidates is not None:
        size = max(context.n, checks.integer(candidates, "candidates", 1))
    checks.integer(samples, "samples", 1)
    best = batch_rules.top(own_gains, min(size, context.size), context.rng)
    picks, values = joint_greedy(probs[:, best], context.n, form_root, weights, samples=samples, rng=context.rng)
    return Selection(best[picks], values)


def smocu(context: Context, *, k: float = 10.0, T: float = 0.5, estimation_size: int | None = None) -> Selection:
    """Soft MOCU: select by the expected gain in a softened error rate.

    Parameters
    ----------
    context, T, estimation_size
        As in `gain_diverse`.
    k : float
        The sharpness, above 0.

    Returns
    -------
    Selection
        The batch.
    """
    return _diverse(context, _gain(context, SoftZeroOne(k), estimation_size), T)


def wmocu(context: Context, *, c: float = 1.0, T: float = 0.5, estimation_size: int | None = None) -> Selection:
    """Weighted MOCU (`baselines.wmocu_gain`).

    Parameters
    ----------
    context, T, estimation_size
        As in `gain_diverse`.
    c : float
        The weight of the square, 0 or more. 0 is MOCU.

    Returns
    -------
    Selection
        The batch.
    """
    probs, weights = context.members()
    points = _points(context, "zero-one", estimation_size)
    uniform = np.full(points.shape[1], 1 / points.shape[1])
    gain = baselines.wmocu_gain(probs, points, weights, uniform, c=checks.within(c, "c", 0))
    return _diverse(context, gain, T)


def _points(context: Context, score: ScoreLike, estimation_size: int | None) -> Float[Array, "E M K"]:
    """The estimation pool: that of the context; else all candidates where that is free; else a sample of them.

    Free means a quadratic score with no more pairs of members than a sample would have points.
    """
    if context.estimation is not None:
        return context.estimation
    probs = context.need("probs")
    pairs = len(probs) * (len(probs) - 1) // 2
    if estimation_size is None:
        free = quadratic_root(find_score(score), probs.shape[2]) is not None and pairs <= ESTIMATION_SIZE
        estimation_size = context.size if free else ESTIMATION_SIZE
    size = checks.integer(estimation_size, "estimation_size", 1)
    return probs if size >= context.size else probs[:, context.sample(size)]


def _gain(context: Context, score: ScoreLike, estimation_size: int | None) -> Gain:
    """Of predictions that `select` or the learner has checked."""
    probs, weights = context.members()
    points = _points(context, score, estimation_size)
    w, (candidates, points) = checks.weighted_members(weights, probs, points)
    return gain_of_valid_arrays(candidates, points, score, w, np.full(points.shape[1], 1 / points.shape[1]))


def _diverse(context: Context, gain: Gain, T: float) -> Selection:
    return batch_rules.diverse(gain.scores, gain.rows, context.n, context.rng, T=T)
