r"""A window of the pool around labelled items of every class, rare classes included (AnchorAL, arXiv 2404.05623).

N candidates, L labelled items, K classes, H features; vectors are scaled to length one, s(x, a) = x . a.

1. Of every class that has a label, `anchors` labelled items are drawn as seeds of k-means++: they are spread out, and
   other ones in every round.
2. The neighbours of an anchor are the `neighbours` candidates that are most similar to it.
3. A candidate's score is the mean of s over the anchors that have it as a neighbour. The `window` largest scores are
   the window.

All classes have as many anchors, so a rare class has as large a part of the window as a common
one. `anchor-margin` asks for the smallest margins of the window.

Where this departs from the authors' code: `anchors` and `neighbours` are its settings (10 there for one model, else 50
anchors), but its window is 10,000 and here 1,000. Neighbours are exact, not from an approximate index.
A window that is smaller than the batch is filled up with the candidates most like all anchors on average. With nothing
labelled the window is the whole pool.
"""

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.acquisition import baselines, batch_rules
from bemps.acquisition.context import Context
from bemps.gain import ranking
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Selection

OUTSIDE_PENALTY = 3.0  # larger than any difference of two similarities


def anchor_margin(context: Context, *, anchors: int = 10, neighbours: int = 50, window: int = 1_000) -> Selection:
    """Select the smallest margins among the candidates around the anchors.

    Parameters
    ----------
    context : Context
        The pool, its embeddings, the members' predictions and the labelled items with their classes.
    anchors : int
        Anchors of each class.
    neighbours : int
        Neighbours of each anchor.
    window : int
        The largest number of candidates.

    Returns
    -------
    Selection
        The batch, with its margins as scores.
    """
    margins = baselines.margin(*context.members())
    rows = anchor_window(context, anchors=anchors, neighbours=neighbours, window=window)
    picks = rows[batch_rules.top(margins[rows], context.n, context.rng)]
    return Selection(picks, margins[picks])


def anchor_window(context: Context, *, anchors: int, neighbours: int, window: int) -> Int[Array, " V"]:
    """The candidates around the anchors, at least as many as the batch.

    Parameters
    ----------
    context : Context
        The pool, its embeddings and the labelled items with their classes.
    anchors : int
        Anchors of each class.
    neighbours : int
        Neighbours of each anchor.
    window : int
        The largest number of candidates.

    Returns
    -------
    array of int (V,)
        Positions of the candidates, in the order of the pool.
    """
    size = checks.integer(window, "window", 1)
    vectors, labelled = context.representation()
    if labelled is None:
        labelled = context.need("labelled_embeddings")
    drawn = draw_anchors(
        batch_rules.unit_rows(labelled),
        context.need("labelled_classes"),
        checks.integer(anchors, "anchors", 1),
        context.rng,
    )
    checks.integer(neighbours, "neighbours", 1)
    if not len(drawn):
        return np.arange(context.size)
    scores, neighbour_count = _scores(batch_rules.unit_rows(vectors), drawn, neighbours)
    return np.sort(batch_rules.top(scores, min(context.size, max(context.n, min(size, neighbour_count))), context.rng))


def draw_anchors(
    labelled: Float[Array, "L H"], classes: Int[Array, " L"], number: int, rng: np.random.Generator
) -> Float[Array, "A H"]:
    """Draw up to `number` labelled items of each class that are spread out.

    Parameters
    ----------
    labelled : array of float (L, H)
        Vectors of the labelled items.
    classes : array of int (L,)
        Their classes.
    number : int
        Anchors of each class.
    rng : numpy.random.Generator
        Random numbers of the draws.

    Returns
    -------
    array of float (A, H)
        Vectors of the anchors.
    """
    drawn = [np.empty((0, labelled.shape[1]))]
    for code in np.unique(classes):
        rows = labelled[classes == code]
        drawn.append(rows if len(rows) <= number else rows[_seeds(rows, number, rng)])
    return np.concatenate(drawn)


def _seeds(rows: Float[Array, "n H"], number: int, rng: np.random.Generator) -> Int[Array, " number"]:
    def distance_to(i: int) -> Float[Array, " n"]:
        return ((rows - rows[i]) ** 2).sum(1)

    return batch_rules.spread_out(distance_to, number, rng, first=int(rng.integers(len(rows))))[0]


def _scores(
    candidates: Float[Array, "N H"], anchors: Float[Array, "A H"], neighbours: int
) -> tuple[Float[Array, " N"], int]:
    """Mean similarity of a candidate to its anchors, and how many candidates are neighbours of an anchor.

    Other candidates come last. Their score is the mean similarity to all anchors, less OUTSIDE_PENALTY.
    """
    number = min(neighbours, len(candidates))
    total, hits, overall = np.zeros((3, len(candidates)))

    def part(block: slice) -> tuple[Array, Array, Array]:
        similarity = anchors[block] @ candidates.T
        near = np.stack([ranking.first_top(row, number) for row in similarity])
        return near, np.take_along_axis(similarity, near, 1), similarity.sum(0)

    step = current_limits().memory // 32 // len(candidates)
    for near, similarity, summed in map_blocks(part, slices(len(anchors), step)):
        np.add.at(total, near, similarity)
        np.add.at(hits, near, 1)
        overall += summed
    outside = overall / len(anchors) - OUTSIDE_PENALTY
    return np.where(hits > 0, total / np.maximum(hits, 1), outside), int((hits > 0).sum())
