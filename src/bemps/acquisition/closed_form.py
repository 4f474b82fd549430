"""Batches from the closed form of a Laplace posterior (`gain.closed_form_gain`): greedy, joint, without an ensemble.

N candidates, L labelled items, M estimation points, H features, K classes.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps._utils.numerics import SPECTRAL_BIAS, SPECTRAL_NORM, SPECTRAL_SHARE, curvature
from bemps.acquisition import baselines, batch_rules
from bemps.acquisition.context import ESTIMATION_SIZE, Context
from bemps.errors import InputError
from bemps.gain import closed_form_gain
from bemps.gain.member_posterior import mean_prediction
from bemps.types import Array, Selection

LARGE = 1e6  # vectors with larger numbers are scaled
WIDEST = 1e8  # largest posterior deviation of a logit: its fourth power is still a float32


def laplace_batch(
    context: Context,
    *,
    score: str,
    near_ties: bool = False,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """The greedy batch on the features of the current model.

    Parameters
    ----------
    context : Context
        The pool, the members' predictions and the features of the model.
    score : {'log', 'brier'}
        The score whose gain is computed.
    near_ties : bool
        Whether only items with small margins are candidates.
    l2 : float
        Precision of the prior, above 0.
    temperature : float
        Scale of the posterior covariance, above 0.
    estimation_size : int
        Size of a sample of the pool, if the context has no estimation pool.

    Returns
    -------
    Selection
        The batch, with the gain of each pick after those before it.
    """
    candidates, points = linear_items(context, l2, temperature, estimation_size)
    rows = np.arange(context.size)
    if near_ties:
        rows = _smallest_margins(context, max(10 * context.n, int(np.ceil(context.size * _doubt(candidates.q)))))
    picks, values = closed_form_gain.greedy_batch(candidates[rows], points, context.n, score)
    return Selection(rows[picks], values)


def margin_clusters(
    context: Context,
    *,
    candidates_per_item: int = 10,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """k-means on embeddings of the smallest margins, each weighing as much as its closed-form CoreLog.

    `margin-km` spreads a batch over all near ties equally. Here items with a larger gain pull the centres towards
    them. The estimation points have the weights of `near_tie_batch`.

    Parameters
    ----------
    context : Context
        The pool, the members' predictions, the features of the model and the embeddings.
    candidates_per_item : int
        Candidates for each item of the batch.
    l2, temperature, estimation_size
        As in `laplace_batch`.

    Returns
    -------
    Selection
        The batch, with the candidates that each item stands for.
    """
    candidates, points = linear_items(context, l2, temperature, estimation_size)
    near = _smallest_margins(context, checks.integer(candidates_per_item, "candidates_per_item", 1) * context.n)
    gains = closed_form_gain.GreedyLaplace(candidates[near], points, "log", _balanced(points.q)).scores.astype(
        np.float64
    )
    vectors = context.representation()[0][near]
    picked = batch_rules.weighted_representatives(
        gains, vectors, context.n, context.rng, candidates_per_item=candidates_per_item
    )
    clusters = None if picked.clusters is None else tuple(near[cluster] for cluster in picked.clusters)
    return Selection(near[picked.indices], picked.scores, clusters)


def near_tie_batch(
    context: Context,
    *,
    floor: float = 5.0,
    power: float = 3.0,
    balance: bool = True,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """Near ties, picked jointly by closed-form CoreLog (docs/appendices/recipes.md says how the rule was developed).

    1. Candidates are the max(floor n, N doubt^power) smallest margins, doubt = mean(1 - max q): few if the model is
       mostly sure and wrong answers are near a boundary, nearly all if it is unsure everywhere.
    2. Closed-form CoreLog on smoothed embeddings (`spectral_smoother`), not on the features of the model: features
       learned from a few labels should not decide alone which items are similar.
    3. Estimation points weigh v_m = sum_k q[m,k] / mean_m q[m,k]: rare classes count as much as common ones.

    Parameters
    ----------
    context : Context
        The pool, the members' predictions and the embeddings.
    floor : float
        At least so many candidates for each item of the batch, 1 or more.
    power : float
        Exponent of the doubt, 0 or more.
    balance : bool
        Whether estimation points weigh as in point 3. Otherwise they are equal.
    l2, temperature, estimation_size
        As in `laplace_batch`.

    Returns
    -------
    Selection
        The batch, with the gain of each pick after those before it.
    """
    q = mean_prediction(*context.members())
    vectors, labelled = context.representation()
    if labelled is None:
        labelled = context.need("labelled_embeddings")
    smooth = spectral_smoother(vectors)
    white = _whitener(context, q, smooth(labelled), l2, temperature)
    points = context.sample(checks.integer(estimation_size, "estimation_size", 1))
    size = max(
        checks.within(floor, "floor", 1) * context.n, context.size * _doubt(q) ** checks.within(power, "power", 0)
    )
    near = _smallest_margins(context, int(np.ceil(size)))
    candidates, estimation = (
        closed_form_gain.LinearItems((smooth(vectors[rows]) @ white).astype(np.float32), q[rows])
        for rows in (near, points)
    )
    weights = _balanced(estimation.q) if balance else None
    picks, values = closed_form_gain.greedy_batch(candidates, estimation, context.n, "log", weights)
    return Selection(near[picks], values)


def spectral_smoother(vectors: Float[Array, "N J"]) -> Callable[[Float[Array, "n J"]], Float[Array, "n H"]]:
    """Centred vectors, each principal component times its standard deviation, scaled to RMS norm 2.5, and a bias.

    Directions in which the pool hardly varies are dropped: those beyond 99.9 % of the squared norm.
    """
    unit = _unit(vectors)
    mean = vectors.mean(0, dtype=np.float64)
    centred = ((vectors - mean) / unit).astype(np.float32)
    variance, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64) / len(vectors))
    variance, directions = np.maximum(variance[::-1], 0.0), directions[:, ::-1]
    energy = np.cumsum(variance**2)  # of each component times its standard deviation, squared
    components = int(np.searchsorted(energy, SPECTRAL_SHARE * energy[-1])) + 1 if energy[-1] > 0 else 0
    matrix = (
        directions[:, :components] * (SPECTRAL_NORM * np.sqrt(variance[:components] / (energy[-1] or 1.0)))
    ).astype(np.float32)

    def smooth(rows: Float[Array, "n J"]) -> Float[Array, "n H"]:
        features = np.full((len(rows), components + 1), SPECTRAL_NORM * SPECTRAL_BIAS)
        features[:, :-1] = ((rows - mean) / unit).astype(np.float32) @ matrix
        return features

    return smooth


def _unit(vectors: Float[Array, "N J"]) -> float:
    """A power of two, 1 for usual vectors, that scales large ones into the range of float32; features do not change."""
    largest = float(np.abs(vectors).max(initial=0))
    return 1.0 if largest < LARGE else float(2.0 ** np.floor(np.log2(largest)))


def _whitener(
    context: Context, q: Float[Array, "N K"], labelled: Float[Array, "L H"], l2: float, temperature: float
) -> Float[Array, "H H"]:
    """The matrix from features to rows whose inner products are the posterior covariances of logits.

    Without `labelled_probs`, the mean curvature of the pool replaces that of the labelled items. Float32 is enough
    for the rows: products over candidates and points are the cost, and 1e-6 of a gain decides nothing.
    """
    if context.labelled_probs is None:
        d = np.full(len(labelled), float(curvature(q).mean()))
    else:
        d = curvature(context.labelled_probs)
    checks.within(l2, "l2", 0, open_low=True)
    checks.within(temperature, "temperature", 0, open_low=True)
    return closed_form_gain.whitening_matrix(labelled.astype(np.float64), d, l2=l2, temperature=temperature)


def linear_items(
    context: Context, l2: float, temperature: float, estimation_size: int
) -> tuple[closed_form_gain.LinearItems, closed_form_gain.LinearItems]:
    """Candidates and estimation points in the features of the current model.

    Parameters
    ----------
    context : Context
        The pool, the members' predictions and the features of the model.
    l2 : float
        Precision of the prior, above 0.
    temperature : float
        Scale of the posterior covariance, above 0.
    estimation_size : int
        Size of a sample of the pool, if the context has no estimation pool.

    Returns
    -------
    candidates : LinearItems
        The candidates.
    points : LinearItems
        The estimation points.
    """
    q = mean_prediction(*context.members())
    features, labelled = context.need("features"), context.need("labelled_features")
    white = _whitener(context, q, labelled, l2, temperature)
    candidates = closed_form_gain.LinearItems(_whitened(features, white, "features"), q)
    return candidates, _points(context, candidates, white, estimation_size)


def _points(
    context: Context, candidates: closed_form_gain.LinearItems, white: Float[Array, "H H"], size: int
) -> closed_form_gain.LinearItems:
    """The estimation pool of the context, or a sample of the candidates."""
    if context.estimation is None:
        return candidates[context.sample(checks.integer(size, "estimation_size", 1))]
    points = context.need("estimation_features")
    q = mean_prediction(context.estimation, context.members()[1])
    return closed_form_gain.LinearItems(_whitened(points, white, "estimation_features"), q)


def _whitened(features: Float[Array, "n H"], white: Float[Array, "H H"], what: str) -> Float[Array, "n H"]:
    """Whitened features in float32; refused if posterior variances are so large that gains would overflow."""
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
    """The candidates with the smallest margins, in the order of the pool."""
    return np.sort(batch_rules.top(baselines.margin(*context.members()), min(size, context.size), context.rng))


def _balanced(q: Float[Array, "M K"]) -> Float[Array, " M"]:
    weights = (q / np.maximum(q.mean(0), 1e-3)).sum(1)
    return weights / weights.sum()
