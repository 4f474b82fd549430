"""Batch rules: from scores or vectors of the candidates to B different ones.

Every rule returns exactly B distinct positions whatever the data (equal rows, fewer clusters than B, B = N), the same
ones for the same generator state.
"""

import warnings
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import unknown_name
from bemps.gain import ranking
from bemps.limits import current_limits, library_threads
from bemps.types import Array, Selection

ROUNDING = {2: 1e-2, 4: 1e-6, 8: 1e-12}  # of squared distances, by the bytes of a number


def top(scores: Float[Array, " N"], n: int, rng: np.random.Generator) -> Int[Array, " n"]:
    """The n largest scores, best first. Equal scores at the edge are drawn at random: file order never decides.

    Parameters
    ----------
    scores : array of float (N,)
        A score for each candidate.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers for equal scores.

    Returns
    -------
    array of int (n,)
        Positions of the batch.
    """
    above, equal = ranking.around_edge(scores, n)
    picks = np.concatenate([above, rng.choice(equal, n - len(above), replace=False)])
    return picks[ranking.ranked(scores[picks], ranking.tolerance_of(scores))]


STOCHASTIC: dict[str, Callable[[Float[Array, " N"]], Float[Array, " N"]]] = {
    "power": lambda s: np.log(np.maximum(s, 1e-300)),
    "softmax": lambda s: s,
    "softrank": lambda s: -np.log1p(np.argsort(ranking.ranked(s), kind="stable")),
}


def stochastic(
    scores: Float[Array, " N"], n: int, rng: np.random.Generator, *, kind: str = "power", beta: float = 1.0
) -> Int[Array, " n"]:
    """Sample without replacement: Gumbel top-k on beta f(score) (Kirsch et al. 2023).

    Parameters
    ----------
    scores : array of float (N,)
        A score for each candidate.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of the sample.
    kind : {'power', 'softmax', 'softrank'}
        Chances in proportion to score^beta, exp(beta score) or rank^-beta.
    beta : float
        The sharpness, 0 or more.

    Returns
    -------
    array of int (n,)
        Positions of the batch.
    """
    if kind not in STOCHASTIC:
        raise unknown_name("rule", kind, STOCHASTIC)
    logits = checks.within(beta, "beta", 0) * STOCHASTIC[kind](scores)
    return top(logits + rng.gumbel(size=len(scores)), n, rng)


def diverse(
    scores: Float[Array, " N"],
    rows: Callable[[Int[Array, " V"]], Float[Array, "V D"]],
    n: int,
    rng: np.random.Generator,
    *,
    T: float = 0.5,
) -> Selection:
    """Algorithm 3: k-means on the gain vectors of the top fraction T, and the item nearest each centre.

    Parameters
    ----------
    scores : array of float (N,)
        A score for each candidate.
    rows : callable
        From positions of candidates to their gain vectors.
    n : int
        Size of the batch. For 1 it is the best candidate (Algorithm 2).
    rng : numpy.random.Generator
        Random numbers of k-means.
    T : float
        The fraction of the candidates, above 0.

    Returns
    -------
    Selection
        The batch, with the candidates that each item stands for.
    """
    if n == 1:
        return _selection(top(scores, 1, rng), scores)
    size = max(n, int(np.ceil(checks.within(T, "T", 0, 1, open_low=True) * len(scores))))
    candidates = top(scores, size, rng)
    picks, labels = representatives(rows(candidates), n, rng)
    return clustered_selection(candidates, picks, labels, scores)


def weighted_representatives(
    scores: Float[Array, " N"],
    features: Float[Array, "N H"],
    n: int,
    rng: np.random.Generator,
    *,
    candidates_per_item: int = 10,
) -> Selection:
    """k-means on features of the best candidates, each with its score as weight.

    Parameters
    ----------
    scores : array of float (N,)
        A score for each candidate.
    features : array of float (N, H)
        Features of the candidates.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of k-means.
    candidates_per_item : int
        Candidates for each item of the batch.

    Returns
    -------
    Selection
        The batch, with the candidates that each item stands for.
    """
    if n == 1:
        return _selection(top(scores, 1, rng), scores)
    size = checks.integer(candidates_per_item, "candidates_per_item", 1) * n
    candidates = top(scores, min(len(scores), size), rng)
    weights = np.maximum(scores[candidates], 0)
    picks, labels = representatives(features[candidates], n, rng, weights if weights.any() else None)
    return clustered_selection(candidates, picks, labels, scores)


def representatives(
    vectors: Float[Array, "V D"],
    n: int,
    rng: np.random.Generator,
    weights: Float[Array, " V"] | None = None,
) -> tuple[Int[Array, " n"], Int[Array, " V"]]:
    """k-means (k-means++ start, seeded): for each centre the nearest row that is not taken.

    Parameters
    ----------
    vectors : array of float (V, D)
        The rows, best first: of rows that are equally near the first is taken.
    n : int
        Number of clusters.
    rng : numpy.random.Generator
        Random numbers of k-means.
    weights : array of float (V,), optional
        Weights of the rows. The default is uniform.

    Returns
    -------
    picks : array of int (n,)
        A row for each cluster.
    labels : array of int (V,)
        The cluster of each row.
    """
    vectors = _in_few_columns(vectors, n)
    centres, labels = _kmeans(vectors, n, rng, weights)
    middle = vectors.mean(axis=0, dtype=np.float64)  # distances far from the origin cancel
    rows, centres = vectors - middle, centres - middle
    norms = np.einsum("vd,vd->v", rows, rows)
    rounding = norms.max(initial=0.0) * ROUNDING[vectors.dtype.itemsize]
    picks = np.empty(n, np.intp)
    taken = np.zeros(len(vectors), bool)
    for i, centre in enumerate(centres):
        distance = norms - 2 * (rows @ centre)  # plus |centre|^2, the same for all
        distance[taken] = np.inf
        picks[i] = (distance <= distance.min() + rounding).argmax()  # the first of the nearest
        taken[picks[i]] = True
    labels[picks] = np.arange(n)
    return picks, labels


def _in_few_columns(vectors: Float[Array, "V D"], n: int) -> Float[Array, "V d"]:
    """Rows along the directions in which they vary (all but 1e-8 of their variance): distances stay but for a factor.

    Gains at a thousand estimation points have a rank of some hundred, and k-means there half the cost and less. What
    finding the directions takes, V D^2, pays where k-means takes more, about 60 n V D.
    """
    V, D = vectors.shape
    if D < 128 or V < 2 * D or 60 * n < D:
        return vectors
    centred = vectors - vectors.mean(axis=0)
    scale = np.abs(centred).max()
    if scale == 0:  # equal rows
        return vectors
    centred /= scale  # tiny gains, squared, would be zero
    variance, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))  # the weakest first
    significant = np.cumsum(variance) > 1e-8 * variance.sum()
    return vectors if 4 * significant.sum() > 3 * D else centred @ directions[:, significant].astype(vectors.dtype)


def _kmeans(
    vectors: Float[Array, "V D"], n: int, rng: np.random.Generator, weights: Float[Array, " V"] | None
) -> tuple[Float[Array, "n D"], Int[Array, " V"]]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if n == len(vectors):
        return vectors, np.arange(n)
    scale = float(np.abs(vectors).max(initial=0.0))
    groups = ranking.equal_rows(vectors, n)
    if groups is not None:  # k-means would divide copies by their rounding
        first = np.unique(groups, return_index=True)[1]
        return vectors[first[np.arange(n) % len(first)]], groups
    model = KMeans(n, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings(), library_threads(current_limits().threads):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than n is allowed here
        model.fit(vectors / vectors.dtype.type(scale), sample_weight=weights)
    return (model.cluster_centers_ * scale).astype(vectors.dtype), model.labels_.astype(np.intp)


def cluster_labels(vectors: Float[Array, "V D"], n: int, rng: np.random.Generator) -> Int[Array, " V"]:
    """The cluster of every row, of n clusters by k-means.

    Parameters
    ----------
    vectors : array of float (V, D)
        The rows.
    n : int
        Number of clusters.
    rng : numpy.random.Generator
        Random numbers of k-means.

    Returns
    -------
    array of int (V,)
        The cluster of each row.
    """
    return _kmeans(vectors, n, rng, None)[1]


def cluster_centres(vectors: Float[Array, "V D"], n: int, rng: np.random.Generator) -> Float[Array, "n D"]:
    """The centres of n clusters by k-means.

    Parameters
    ----------
    vectors : array of float (V, D)
        The rows.
    n : int
        Number of clusters.
    rng : numpy.random.Generator
        Random numbers of k-means.

    Returns
    -------
    array of float (n, D)
        The centres.
    """
    return _kmeans(vectors, n, rng, None)[0]


def clustered_selection(
    candidates: Int[Array, " V"],
    picks: Int[Array, " n"],
    labels: Int[Array, " V"],
    scores: Float[Array, " N"],
) -> Selection:
    """A selection of the picks, best first, each with the candidates of its cluster.

    Parameters
    ----------
    candidates : array of int (V,)
        Positions of the candidates that were clustered.
    picks : array of int (n,)
        The pick of each cluster, as a position in `candidates`.
    labels : array of int (V,)
        The cluster of each candidate.
    scores : array of float (N,)
        Scores of the pool.

    Returns
    -------
    Selection
        The batch.
    """
    order = ranking.ranked(scores[candidates[picks]])
    by_label = np.argsort(labels, kind="stable")
    edges = np.searchsorted(labels[by_label], np.arange(len(picks) + 1))
    clusters = tuple(candidates[by_label[edges[i] : edges[i + 1]]] for i in order)
    indices = candidates[picks[order]]
    return Selection(indices, scores[indices].astype(np.float64), clusters)


def unit_rows(vectors: Float[Array, "N H"]) -> Float[Array, "N H"]:
    """Rows scaled to length one, in float64; rows of zeros stay."""
    rows = vectors.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def spread_out(
    distance_to: Callable[[int], Float[Array, " N"]],
    n: int,
    rng: np.random.Generator,
    *,
    first: int | None = None,
    closest: Float[Array, " N"] | None = None,
    farthest: bool = False,
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """Choose items that are far from each other: seeds of k-means++, or k-centre greedy.

    Parameters
    ----------
    distance_to : callable
        From item i to the squared distance of every item to it.
    n : int
        Number of items.
    rng : numpy.random.Generator
        Random numbers of the seeds.
    first : int, optional
        The first item.
    closest : array of float (N,), optional
        Squared distances to items that are chosen already. Give this or `first`.
    farthest : bool
        Whether the next item is the farthest one. Otherwise its chance is proportional to its squared distance.

    Returns
    -------
    picks : array of int (n,)
        The items.
    distances : array of float (n,)
        The squared distance of each pick to those before it; infinite for `first`.
    """
    if first is None and closest is None:
        raise ValueError("spread_out needs `first` or `closest`")
    picks = [] if first is None else [first]
    values = [np.inf] * len(picks)
    nearest = closest if first is None else distance_to(first)
    assert nearest is not None
    free = np.ones(len(nearest), bool)
    free[picks] = False
    while len(picks) < n:
        index = _next_seed(np.where(free, nearest, 0.0), free, rng, farthest)
        picks.append(index)
        values.append(float(nearest[index]))
        free[index] = False
        nearest = np.minimum(nearest, distance_to(index))
    return np.array(picks), np.array(values)


def _next_seed(chance: Float[Array, " N"], free: Array, rng: np.random.Generator, farthest: bool) -> int:
    total = float(chance.sum())
    if total <= 0:  # every item left equals one that is taken
        return int(rng.choice(np.flatnonzero(free)))
    if farthest:
        return ranking.first_largest(chance)
    return int(rng.choice(len(chance), p=chance / total))


def _selection(indices: Int[Array, " n"], scores: Float[Array, " N"]) -> Selection:
    return Selection(indices, scores[indices].astype(np.float64))
