"""Batches from embeddings alone: representatives of clusters, and the most typical items (TypiClust)."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps.acquisition.batch_rules import cluster_labels, clustered_selection, representatives
from bemps.gain import ranking
from bemps.types import Array, Selection

NEIGHBOURS = 20  # typicality is 1 / mean distance to these
MOST_CLUSTERS = 500
SMALLEST_CLUSTER = 5


def nearest_to_centres(
    vectors: Float[Array, "N D"], n: int, rng: np.random.Generator, candidates: Int[Array, " V"] | None = None
) -> Selection:
    """The item nearest to each centre of n k-means clusters.

    Parameters
    ----------
    vectors : array of float (N, D)
        Vectors of the pool.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of k-means.
    candidates : array of int (V,), optional
        Positions of the items to cluster. The default is all.

    Returns
    -------
    Selection
        The batch. A score is minus the distance to the centre.
    """
    positions = np.arange(len(vectors)) if candidates is None else candidates
    rows = vectors[positions].astype(np.float64)
    picks, labels = representatives(rows, n, rng)
    centres = np.stack([rows[labels == i].mean(0) for i in range(n)])
    scores = np.full(len(vectors), -np.inf)
    scores[positions] = -np.linalg.norm(rows - centres[labels], axis=1)
    return clustered_selection(positions, picks, labels, scores)


def typiclust(
    embeddings: Float[Array, "N H"], labelled: Float[Array, "L H"] | None, n: int, rng: np.random.Generator
) -> Selection:
    """TypiClust (Hacohen et al. 2022): the most typical item of each of the largest clusters without a label.

    Parameters
    ----------
    embeddings : array of float (N, H)
        Embeddings of the candidates.
    labelled : array of float (L, H) or None
        Embeddings of the labelled items.
    n : int
        Size of the batch.
    rng : numpy.random.Generator
        Random numbers of k-means.

    Returns
    -------
    Selection
        The batch. A score is the typicality: 1 / mean distance to the 20 nearest items of the cluster.

    Notes
    -----
    All items, labelled ones included, form |L| + n clusters (500 at most). Clusters come in the order of their number
    of labels, then of size, small ones last. Clusters have at least five items on average. If the batch needs more
    items than that allows, a cluster gives several.
    """
    N = len(embeddings)
    everything = embeddings if labelled is None else np.concatenate([embeddings, labelled.astype(embeddings.dtype)])
    most = max(1, len(everything) // SMALLEST_CLUSTER)  # of one item each, all would be as typical, in file order
    count = min(most, max(n, min(len(everything) - N + n, MOST_CLUSTERS)))
    labels = cluster_labels(everything.astype(np.float64), count, rng)
    label_counts = np.bincount(labels[N:], minlength=count)
    members = [np.flatnonzero(labels[:N] == i) for i in range(count)]
    picks, scores = _pick_typical(members, partial(_by_typicality, embeddings), label_counts, n)
    stands = tuple(members[labels[i]] for i in picks)
    return Selection(np.array(picks), np.array(scores), stands)


def _pick_typical(
    members: list[Int[Array, " _"]],
    typical: Callable[[Int[Array, " _"]], tuple[Int[Array, " _"], Float[Array, " _"]]],
    label_counts: Int[Array, " C"],
    n: int,
) -> tuple[list[int], list[float]]:
    """From each cluster in turn the most typical item that is not taken; a pick counts as a label of its cluster."""
    labels = label_counts.astype(int).copy()
    used = np.zeros(len(members), int)
    order: dict[int, tuple[Int[Array, " _"], Float[Array, " _"]]] = {}
    picks: list[int] = []
    scores: list[float] = []
    while len(picks) < n:
        open_clusters = [i for i, rows in enumerate(members) if used[i] < len(rows)]
        best = min(open_clusters, key=lambda i: (len(members[i]) < SMALLEST_CLUSTER, labels[i], -len(members[i])))
        if best not in order:
            order[best] = typical(members[best])
        items, typicality = order[best]
        picks.append(int(items[used[best]]))
        scores.append(float(typicality[used[best]]))
        used[best] += 1
        labels[best] += 1
    return picks, scores


def _by_typicality(
    embeddings: Float[Array, "N H"], rows: Int[Array, " n"]
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """The items of a cluster, most typical first, and their typicality."""
    from sklearn.neighbors import NearestNeighbors

    if len(rows) < 2:
        return rows, np.ones(len(rows))
    x = embeddings[rows]
    near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(rows) - 1)).fit(x)
    distance = near.kneighbors(return_distance=True)[0].mean(1)
    typicality = 1 / np.maximum(distance, 1e-12)
    order = ranking.ranked(typicality)
    return rows[order], typicality[order].astype(np.float64)
