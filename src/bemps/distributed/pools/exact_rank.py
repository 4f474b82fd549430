"""The exact n-th largest of numbers in many shards: by their digits, sixteen bits at a time.

Four counts of at most 65,536 buckets give the number itself, not an estimate, whatever the distribution. Each shard
returns only its non-empty buckets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt64

from bemps.types import Array

LEVELS, BITS = 4, 16
BUCKETS = 2**BITS
BucketCounts = tuple[Int[Array, " _"], Int[Array, " _"]]
"""Non-empty buckets, and how many numbers each holds."""


def sortable_keys(scores: Float[Array, " n"]) -> UInt64[Array, " n"]:
    """Integers in the order of the scores: the bits of a float, changed so that negative numbers come first."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def score_of(key: int) -> float:
    """The score of a key."""
    bits = key ^ (1 << 63) if key >> 63 else ~key & (2**64 - 1)
    return float(np.uint64(bits).view(np.float64))


def count_digits(score_keys: UInt64[Array, " n"], level: int, prefix: int) -> BucketCounts:
    """Count the digits at a level of the keys that begin with a prefix.

    Parameters
    ----------
    score_keys : array of uint64 (n,)
        The keys (`sortable_keys`).
    level : int
        The level: 0 for the first sixteen bits.
    prefix : int
        The digits of the levels before.

    Returns
    -------
    tuple of arrays of int
        Non-empty buckets, and how many keys each has.
    """
    shift = np.uint64(64 - BITS * (level + 1))
    if level:
        score_keys = score_keys[score_keys >> (shift + np.uint64(BITS)) == np.uint64(prefix)]
    buckets, sizes = np.unique((score_keys >> shift) & np.uint64(BUCKETS - 1), return_counts=True)
    return buckets.astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class ScoreThreshold:
    """The threshold of the n best scores: those above `high` and, to make up n, some between `low` and `high`.

    Attributes
    ----------
    low, high : float
        Scores between them equal the n-th largest but for rounding.
    tolerance : float
        The difference up to which two scores of the pool are equal.
    above : array of int (S,)
        How many scores of each shard are above.
    equal : array of int (S,)
        How many scores of each shard are between.
    """

    low: float
    high: float
    tolerance: float
    above: Int[Array, " S"]
    equal: Int[Array, " S"]


def count_above_and_equal(scores: Float[Array, " n"], low: float, high: float) -> tuple[int, int]:
    """Count the scores above `high`, and those between `low` and `high`.

    Parameters
    ----------
    scores : array of float (n,)
        The scores.
    low, high : float
        The threshold.

    Returns
    -------
    tuple of int
        Both counts.
    """
    above = int((scores > high).sum())
    return above, int((scores >= low).sum()) - above


def largest_size(first: Sequence[BucketCounts]) -> float:
    """The largest absolute value of the scores to its first digits, from the counts of level 0."""
    ends = [int(end) << (64 - BITS) for buckets, _ in first if len(buckets) for end in (buckets.min(), buckets.max())]
    return max(abs(score_of(end if end >> 63 else end | (1 << (64 - BITS)) - 1)) for end in ends)


def nth_largest(
    n: int, first: Sequence[BucketCounts], count_level: Callable[[int, int], Sequence[BucketCounts]]
) -> float:
    """Find the n-th largest score.

    Parameters
    ----------
    n : int
        Its rank, from 1.
    first : sequence of counts
        The counts of level 0 of every shard.
    count_level : callable
        From level and prefix to the counts of every shard.

    Returns
    -------
    float
        The score.
    """
    prefix, remaining, counts = 0, n, first
    for level in range(LEVELS):
        if level:
            counts = count_level(level, prefix)
        total = np.zeros(BUCKETS, np.int64)
        for buckets, sizes in counts:
            total[buckets] += sizes
        from_the_top = np.cumsum(total[::-1])
        bucket = BUCKETS - 1 - int(np.searchsorted(from_the_top, remaining))
        remaining -= int(total[bucket + 1 :].sum())
        prefix = prefix << BITS | bucket
    return score_of(prefix)
