"""Batches from embeddings alone: representatives of clusters, and the most typical items (TypiClust)."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bemps.batch import cluster_labels, representatives, stands_for
from bemps.types import Array, Selection

NEIGHBOURS = 20  # of which the mean distance makes an item typical
MOST_CLUSTERS = 500
SMALLEST_CLUSTER = 5


def nearest_to_centres(
    vectors: Float[Array, "N D"], n: int, rng: np.random.Generator, candidates: Int[Array, " V"] | None = None
) -> Selection:
    """k-means into n clusters, and the item nearest each centre; the scores are minus the distance to it."""
    chosen = np.arange(len(vectors)) if candidates is None else candidates
    rows = vectors[chosen].astype(np.float64)
    picks, labels = representatives(rows, n, rng)
    centres = np.stack([rows[labels == i].mean(0) for i in range(n)])
    scores = np.full(len(vectors), -np.inf)
    scores[chosen] = -np.linalg.norm(rows - centres[labels], axis=1)
    return stands_for(chosen, picks, labels, scores)


def typiclust(
    embeddings: Float[Array, "N H"], labelled: Float[Array, "L H"] | None, n: int, rng: np.random.Generator
) -> Selection:
    """TypiClust (Hacohen et al. 2022): the most typical item of each of the largest clusters without a label.

    All items, labelled too, are clustered into |L| + n clusters (500 at most); clusters are visited by the labels
    they hold, then by size, small ones last; typicality is 1 / mean distance to the 20 nearest of the cluster.
    """
    N = len(embeddings)
    everything = embeddings if labelled is None else np.concatenate([embeddings, labelled.astype(embeddings.dtype)])
    count = min(len(everything), max(n, min(len(everything) - N + n, MOST_CLUSTERS)))
    labels = cluster_labels(everything.astype(np.float64), count, rng)
    held = np.bincount(labels[N:], minlength=count)
    members = [np.flatnonzero(labels[:N] == i) for i in range(count)]
    picks, scores = _visit(members, partial(_by_typicality, embeddings), held, n)
    stands = tuple(members[labels[i]] for i in picks)
    return Selection(np.array(picks), np.array(scores), stands)


def _visit(
    members: list[Int[Array, " _"]],
    typical: Callable[[Int[Array, " _"]], tuple[Int[Array, " _"], Float[Array, " _"]]],
    held: Int[Array, " C"],
    n: int,
) -> tuple[list[int], list[float]]:
    """Cluster after cluster, the most typical item not taken yet; each pick counts as a label of its cluster."""
    labels = held.astype(int).copy()
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
    order = np.argsort(-typicality, kind="stable")
    return rows[order], typicality[order].astype(np.float64)
