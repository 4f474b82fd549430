"""Measures of time and memory, and random inputs, for the benchmarks."""

import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.types import Array


@dataclass(frozen=True)
class Row:
    """A row of a table: what was measured, against what, and the ratio."""

    what: str
    ours: float
    theirs: float
    unit: str = "s"
    goal: str = ""

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """The shortest of a few runs: noise only adds time."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak_bytes(work: Callable[[], object]) -> int:
    """The largest memory that the arrays of a call take at once, besides those from before."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def available_bytes() -> int:
    """Memory that is free now without swapping."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def ensemble(E: int, N: int, K: int, seed: int = 0) -> Float[Array, "E N K"]:
    """Members that differ as deep ensembles do: float32 probabilities."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((1, N, K), np.float32) + rng.standard_normal((E, N, K), np.float32)
    np.exp(logits, out=logits)
    return logits / logits.sum(-1, keepdims=True)
