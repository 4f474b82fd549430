r"""A window of the pool around labelled items of every class, rare ones too (AnchorAL, arXiv 2404.05623).

N candidates, L labelled items, K classes, H features; vectors are scaled to length one, s(x, a) = x . a.

1. Of every class that has a label, `anchors` labelled items are drawn as seeds of k-means++: they are spread out, and
   other ones in every round.
2. Every anchor brings the `neighbours` candidates that are most like it.
3. A candidate's score is the mean of s over the anchors that brought it; the `window` largest scores are the window.

All classes have as many anchors, so a class of which there are few items has as large a part of the window as a common
one. `anchor-margin` asks for the smallest margins of the window.

Where this departs from the authors' code: `anchors` and `neighbours` are its settings (10 there for one model, else 50
anchors), but its window is 10,000 and here 1,000. Neighbours are exact, not from an approximate index.
A window that is smaller than the batch is filled up with the candidates most like all anchors on average. With nothing
labelled the window is the whole pool.
"""

import numpy as np
from jaxtyping import Float, Int

from bemps import baselines, batch, checks
from bemps.context import Context
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Selection

BEHIND = 3.0  # more than two similarities can differ by


def anchor_margin(context: Context, *, anchors: int = 10, neighbours: int = 50, window: int = 1_000) -> Selection:
    """The smallest margins among the candidates around the anchors."""
    margins = baselines.margin(*context.members())
    rows = anchor_window(context, anchors=anchors, neighbours=neighbours, window=window)
    picks = rows[batch.top(margins[rows], context.n, context.rng)]
    return Selection(picks, margins[picks])


def anchor_window(context: Context, *, anchors: int, neighbours: int, window: int) -> Int[Array, " V"]:
    """Positions of the candidates around the anchors, at least as many as the batch, in the order of the pool."""
    size = checks.whole(window, "window", 1)
    vectors, labelled = context.representation()
    if labelled is None:
        labelled = context.need("labelled_embeddings")
    drawn = draw_anchors(
        batch.unit_rows(labelled), context.need("labelled_classes"), checks.whole(anchors, "anchors", 1), context.rng
    )
    checks.whole(neighbours, "neighbours", 1)
    if not len(drawn):
        return np.arange(context.size)
    scores, brought = _scores(batch.unit_rows(vectors), drawn, neighbours)
    return np.sort(batch.top(scores, min(context.size, max(context.n, min(size, brought))), context.rng))


def draw_anchors(
    labelled: Float[Array, "L H"], classes: Int[Array, " L"], number: int, rng: np.random.Generator
) -> Float[Array, "A H"]:
    """Vectors of the anchors: up to `number` labelled items of each class, spread out."""
    drawn = [np.empty((0, labelled.shape[1]))]
    for code in np.unique(classes):
        rows = labelled[classes == code]
        drawn.append(rows if len(rows) <= number else rows[_seeds(rows, number, rng)])
    return np.concatenate(drawn)


def _seeds(rows: Float[Array, "n H"], number: int, rng: np.random.Generator) -> Int[Array, " number"]:
    def distance_to(i: int) -> Float[Array, " n"]:
        return ((rows - rows[i]) ** 2).sum(1)

    return batch.spread_out(distance_to, number, rng, first=int(rng.integers(len(rows))))[0]


def _scores(
    candidates: Float[Array, "N H"], anchors: Float[Array, "A H"], neighbours: int
) -> tuple[Float[Array, " N"], int]:
    """Mean similarity to the anchors that brought a candidate, and how many candidates were brought.

    Candidates that no anchor brought come after all that one did: their mean similarity to all anchors, less BEHIND.
    """
    number = min(neighbours, len(candidates))
    total, brought, overall = np.zeros((3, len(candidates)))

    def part(block: slice) -> tuple[Array, Array, Array]:
        similarity = anchors[block] @ candidates.T
        near = np.argpartition(-similarity, number - 1, axis=1)[:, :number]
        return near, np.take_along_axis(similarity, near, 1), similarity.sum(0)

    step = current_limits().memory // 32 // len(candidates)
    for near, similarity, summed in map_blocks(part, slices(len(anchors), step)):
        np.add.at(total, near, similarity)
        np.add.at(brought, near, 1)
        overall += summed
    outside = overall / len(anchors) - BEHIND
    return np.where(brought > 0, total / np.maximum(brought, 1), outside), int((brought > 0).sum())
