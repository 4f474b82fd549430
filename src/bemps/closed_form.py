"""Batches from the closed form of a Laplace posterior (`gain.laplace`): greedy, joint, without an ensemble.

N candidates, L labelled items, M estimation points, H features, K classes.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bemps import baselines, batch, checks
from bemps.context import ESTIMATION_SIZE, Context
from bemps.errors import InputError
from bemps.gain import laplace
from bemps.gain.posterior import mean_prediction
from bemps.types import Array, Selection

LARGE = 1e6  # vectors beyond are scaled
WIDEST = 1e8  # of a logit's posterior deviation: its fourth power is still a float32
NORM, BIAS, KEPT = 2.5, 0.35, 0.999  # of the features that `ties` makes of embeddings


def laplace_batch(
    context: Context,
    *,
    score: str,
    near_ties: bool = False,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """The greedy batch of the current model's own features; `near_ties`: among the smallest margins only."""
    here, there = linear(context, l2, temperature, estimation_size)
    kept = np.arange(context.size)
    if near_ties:
        kept = _smallest_margins(context, max(10 * context.n, int(np.ceil(context.size * _doubt(here.q)))))
    picks, values = laplace.greedy_batch(here[kept], there, context.n, score)
    return Selection(kept[picks], values)


def margin_clusters(
    context: Context,
    *,
    pool: int = 10,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """k-means on embeddings of the pool * n smallest margins, each weighing as much as its closed-form CoreLog.

    `margin-km` spreads a batch over all near ties alike. Here those that tell more about the pool pull the centres to
    them; the estimation points weigh as in `ties`.
    """
    here, there = linear(context, l2, temperature, estimation_size)
    kept = _smallest_margins(context, checks.whole(pool, "pool", 1) * context.n)
    gains = laplace.GreedyLaplace(here[kept], there, "log", _balanced(there.q)).scores
    vectors = context.representation()[0][kept]
    chosen = batch.weighted_representatives(gains.astype(np.float64), vectors, context.n, context.rng, pool=pool)
    clusters = None if chosen.clusters is None else tuple(kept[cluster] for cluster in chosen.clusters)
    return Selection(kept[chosen.indices], chosen.scores, clusters)


def ties(
    context: Context,
    *,
    floor: float = 5.0,
    power: float = 3.0,
    balance: bool = True,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """Near ties, chosen jointly for what their labels tell about the pool (docs/recipes.md has how it was found).

    1. Candidates are the max(floor n, N doubt^power) smallest margins, doubt = mean(1 - max q): few where the model is
       mostly sure and a wrong answer is near a boundary, nearly all where it doubts everything.
    2. Closed-form CoreLog on smoothed embeddings (`smoothing`), not on the features of the model: what the model made
       of a few labels should not decide alone which items are alike.
    3. Estimation points weigh v_m = sum_k q[m,k] / mean_m q[m,k], so that rare classes count as much as common ones.
    """
    q = mean_prediction(*context.members())
    vectors, labelled = context.representation()
    if labelled is None:
        labelled = context.need("labelled_embeddings")
    smooth = smoothing(vectors)
    white = _whitener(context, q, smooth(labelled), l2, temperature)
    points = context.sample(checks.whole(estimation_size, "estimation_size", 1))
    size = max(
        checks.within(floor, "floor", 1) * context.n, context.size * _doubt(q) ** checks.within(power, "power", 0)
    )
    kept = _smallest_margins(context, int(np.ceil(size)))
    here, there = (
        laplace.Linear((smooth(vectors[rows]) @ white).astype(np.float32), q[rows]) for rows in (kept, points)
    )
    weights = _balanced(there.q) if balance else None
    picks, values = laplace.greedy_batch(here, there, context.n, "log", weights)
    return Selection(kept[picks], values)


def smoothing(vectors: Float[Array, "N J"]) -> Callable[[Float[Array, "n J"]], Float[Array, "n H"]]:
    """Vectors centred, each principal component times its standard deviation, of RMS norm 2.5 on the pool, and a bias.

    Directions in which the pool hardly varies say little about it; beyond 99.9 % of the squared norm they are dropped.
    """
    unit = _unit(vectors)
    mean = vectors.mean(0, dtype=np.float64)
    centred = ((vectors - mean) / unit).astype(np.float32)
    variance, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64) / len(vectors))
    variance, directions = np.maximum(variance[::-1], 0.0), directions[:, ::-1]
    energy = np.cumsum(variance**2)  # of each component times its standard deviation, squared
    kept = int(np.searchsorted(energy, KEPT * energy[-1])) + 1 if energy[-1] > 0 else 0
    matrix = (directions[:, :kept] * (NORM * np.sqrt(variance[:kept] / (energy[-1] or 1.0)))).astype(np.float32)

    def smooth(rows: Float[Array, "n J"]) -> Float[Array, "n H"]:
        features = np.full((len(rows), kept + 1), NORM * BIAS)
        features[:, :-1] = ((rows - mean) / unit).astype(np.float32) @ matrix
        return features

    return smooth


def _unit(vectors: Float[Array, "N J"]) -> float:
    """A power of two, 1 for usual vectors, that brings large ones into the range of float32; features do not see it."""
    largest = float(np.abs(vectors).max(initial=0))
    return 1.0 if largest < LARGE else float(2.0 ** np.floor(np.log2(largest)))


def _whitener(
    context: Context, q: Float[Array, "N K"], labelled: Float[Array, "L H"], l2: float, temperature: float
) -> Float[Array, "H H"]:
    """From features to float32 rows whose inner products are the posterior covariances of logits.

    Without `labelled_probs`, the mean curvature of the pool stands for that of the labelled items. Float32 is enough
    from there on: the products over candidates and points are the cost, and 1e-6 of a gain decides nothing.
    """
    if context.labelled_probs is None:
        d = np.full(len(labelled), float(laplace.curvature(q).mean()))
    else:
        d = laplace.curvature(context.labelled_probs)
    checks.within(l2, "l2", 0, open_low=True)
    checks.within(temperature, "temperature", 0, open_low=True)
    return laplace.whitener(labelled.astype(np.float64), d, l2=l2, temperature=temperature)


def linear(
    context: Context, l2: float, temperature: float, estimation_size: int
) -> tuple[laplace.Linear, laplace.Linear]:
    """Candidates and estimation points in the features of the current model."""
    q = mean_prediction(*context.members())
    features, labelled = context.need("features"), context.need("labelled_features")
    white = _whitener(context, q, labelled, l2, temperature)
    here = laplace.Linear(_whitened(features, white, "features"), q)
    return here, _points(context, here, white, estimation_size)


def _points(context: Context, here: laplace.Linear, white: Float[Array, "H H"], size: int) -> laplace.Linear:
    """The estimation pool: the one given, or a sample of the candidates."""
    if context.estimation is None:
        return here[context.sample(checks.whole(size, "estimation_size", 1))]
    points = context.need("estimation_features")
    there_q = mean_prediction(context.estimation, context.members()[1])
    return laplace.Linear(_whitened(points, white, "estimation_features"), there_q)


def _whitened(features: Float[Array, "n H"], white: Float[Array, "H H"], what: str) -> Float[Array, "n H"]:
    """In float32; refused where the posterior knows so little of them that gains would be no numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = features @ white
        largest = float(np.abs(rows).max(initial=0))
    if not largest < WIDEST:
        raise InputError(
            what,
            expected=f"posterior deviations of logits below {WIDEST:.0e}",
            got=f"{largest:.3g}",
            fix="Scale the columns, for example to a standard deviation of 1: some are far larger than others.",
        )
    return rows.astype(np.float32)


def _doubt(q: Float[Array, "N K"]) -> float:
    return float((1 - q.max(1)).mean())


def _smallest_margins(context: Context, size: int) -> Int[Array, " V"]:
    """Where a label can change an answer, in the order of the pool."""
    return np.sort(batch.top(baselines.margin(*context.members()), min(size, context.size), context.rng))


def _balanced(q: Float[Array, "M K"]) -> Float[Array, " M"]:
    weights = (q / np.maximum(q.mean(0), 1e-3)).sum(1)
    return weights / weights.sum()
