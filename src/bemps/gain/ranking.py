"""The order of scores that are equal but for rounding.

The last digits of a score depend on the block in which it was computed, and so on the memory limit, the number of
threads and the shards of a pool. Scores that differ by less than TIE of the largest count as equal. Equal scores are
put in the order of their positions or drawn by the seed: the batch is then the same on every machine.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.types import Array

TIE = 2.0**-40  # about 1e-12 of the largest score; rounding in float64 was seen to reach 5e-15
TIE_SINGLE = 2.0**-20  # about 1e-6, for scores that were computed in float32


def tolerance(largest: float, tie: float = TIE) -> float:
    """Return the difference up to which two scores are equal.

    Parameters
    ----------
    largest : float
        The largest absolute value of all scores. Only its power of two counts: the first digits are enough.
    tie : float
        The difference as a share of that power of two.

    Returns
    -------
    float
        The difference.
    """
    return tie * float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest > 0 else 0.0


def tolerance_of(scores: Float[Array, " N"], tie: float = TIE) -> float:
    """Return the difference up to which two of these scores are equal."""
    size = np.abs(scores)
    return tolerance(float(size.max(initial=0.0, where=np.isfinite(size))), tie)


def near_largest(scores: Float[Array, " N"], tie: float = TIE) -> Bool[Array, " N"]:
    """Return which scores equal the largest."""
    return scores >= scores.max() - tolerance_of(scores, tie)


def first_largest(scores: Float[Array, " N"], tie: float = TIE) -> int:
    """Return the first position of the largest score."""
    return int(near_largest(scores, tie).argmax())


def tie_groups(scores: Float[Array, " N"], margin: float | None = None) -> Int[Array, " N"]:
    """Number the groups of equal scores from the largest on: 0 for the best."""
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    margin = tolerance_of(scores) if margin is None else margin
    numbers = np.empty(len(scores), np.intp)
    numbers[order] = np.cumsum(np.concatenate([[False], descending[:-1] - descending[1:] > margin])[: len(scores)])
    return numbers


def ranked(scores: Float[Array, " N"], margin: float | None = None) -> Int[Array, " N"]:
    """Return the positions from the largest score to the smallest. Equal scores keep their order."""
    return np.argsort(tie_groups(scores, margin), kind="stable")


def first_top(scores: Float[Array, " N"], n: int) -> Int[Array, " n"]:
    """Return the positions of the n largest scores, ascending. Of equal scores at the edge the first are taken."""
    above, equal = around_edge(scores, n)
    return np.sort(np.concatenate([above, equal[: n - len(above)]]))


def around_edge(scores: Float[Array, " N"], n: int) -> tuple[Int[Array, " a"], Int[Array, " e"]]:
    """Return the positions of the scores above the n-th largest, and of those equal to it."""
    edge = np.partition(scores, len(scores) - n)[len(scores) - n]
    margin = tolerance_of(scores)
    above = scores > edge + margin
    return np.flatnonzero(above), np.flatnonzero((scores >= edge - margin) & ~above)


def equal_rows(vectors: Float[Array, "V D"], n: int) -> Int[Array, " V"] | None:
    """Return the group of each row, if the rows are copies of fewer than n different ones; else None.

    Groups are numbered in the order of their first rows.

    Copies are close to each other along any direction. One direction is enough to count them. Only if it shows fewer
    than n groups are the rows themselves compared.
    """
    tie = TIE if vectors.dtype.itemsize == 8 else TIE_SINGLE
    scale = float(np.abs(vectors).max(initial=0.0))
    if scale == 0:  # nothing to tell the rows apart, or no column at all
        return np.zeros(len(vectors), np.intp)
    direction: Array = np.asarray(np.random.default_rng(0).uniform(0.5, 1.0, vectors.shape[1]), vectors.dtype)
    groups = tie_groups((vectors / vectors.dtype.type(scale)) @ direction, tie * len(direction))
    if groups.max() + 1 >= n:
        return None
    first = np.unique(groups, return_index=True)[1]
    close = np.abs(vectors - vectors[first[groups]]).max() <= tie * scale
    return np.argsort(np.argsort(first))[groups] if close else None
