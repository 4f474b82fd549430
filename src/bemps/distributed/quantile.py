"""The exact n-th largest of numbers that lie in many places: by their digits, sixteen bits at a time.

Four counts of at most 65,536 buckets give the number itself, not an estimate, whatever the distribution; each
place answers with its non-empty buckets only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt64

from bemps.types import Array

LEVELS, BITS = 4, 16
BUCKETS = 2**BITS
Counts = tuple[Int[Array, " _"], Int[Array, " _"]]
"""Non-empty buckets, and how many numbers each holds."""


def keys(scores: Float[Array, " n"]) -> UInt64[Array, " n"]:
    """Whole numbers in the order of the scores: the bits of a float, turned so that negative ones come first."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def score_of(key: int) -> float:
    """The number of a key."""
    bits = key ^ (1 << 63) if key >> 63 else ~key & (2**64 - 1)
    return float(np.uint64(bits).view(np.float64))


def count(found: UInt64[Array, " n"], level: int, prefix: int) -> Counts:
    """How the digits of one level are spread among the keys that begin with `prefix`."""
    shift = np.uint64(64 - BITS * (level + 1))
    if level:
        found = found[found >> (shift + np.uint64(BITS)) == np.uint64(prefix)]
    buckets, sizes = np.unique((found >> shift) & np.uint64(BUCKETS - 1), return_counts=True)
    return buckets.astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Edge:
    """The n-th largest score, and how many in each place are above it and equal to it."""

    key: int
    above: Int[Array, " S"]
    equal: Int[Array, " S"]

    @property
    def score(self) -> float:
        return score_of(self.key)


def find_edge(n: int, first: Sequence[Counts], deeper: Callable[[int, int], Sequence[Counts]]) -> Edge:
    """`first` are the counts of level 0 in every place; `deeper(level, prefix)` asks all places for another level."""
    above = np.zeros(len(first), np.int64)
    prefix, left, counts = 0, n, first
    for level in range(LEVELS):
        if level:
            counts = deeper(level, prefix)
        total = np.zeros(BUCKETS, np.int64)
        for buckets, sizes in counts:
            total[buckets] += sizes
        from_the_top = np.cumsum(total[::-1])
        bucket = BUCKETS - 1 - int(np.searchsorted(from_the_top, left))
        above += [int(sizes[buckets > bucket].sum()) for buckets, sizes in counts]
        left -= int(total[bucket + 1 :].sum())
        prefix = prefix << BITS | bucket
    equal = np.array([int(sizes[buckets == bucket].sum()) for buckets, sizes in counts], np.int64)
    return Edge(prefix, above, equal)
