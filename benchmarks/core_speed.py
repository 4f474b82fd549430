"""Benchmarks of the core: against broadcast forms, against NumPy itself, and how cost grows."""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from bemps.acquisition import baselines, batch_rules
from bemps.gain import core_log, core_mse
from bemps.limits import library_threads, limits
from bemps.types import Array
from benchmarks import broadcast_forms
from benchmarks.measuring import Row, available_bytes, ensemble, peak_bytes, seconds

MIB = 2**20
SHAPE = (5, 8_000, 400, 4)  # E, N, M, K


def against_broadcast(threads: int) -> Iterator[Row]:
    """CoreMSE scores and the CoreLog matrix against the form that materialises N x K x M x E x K."""
    E, N, M, K = SHAPE
    yield from _against_broadcast(ensemble(E, N, K), ensemble(E, M, K, seed=1), threads, "")
    largest = _largest_points(E, N, K)
    if largest > M:
        yield from _against_broadcast(
            ensemble(E, N, K), ensemble(E, largest, K, seed=1), threads, " (largest that fits)"
        )


def _largest_points(E: int, N: int, K: int) -> int:
    """Estimation points for which the broadcast form (about four arrays of that size) fits half of the memory."""
    return int(available_bytes() / 2 / (4 * 4 * N * K * E * K)) // 100 * 100


def _against_broadcast(
    probs: Float[Array, "E N K"], points: Float[Array, "E M K"], threads: int, note: str
) -> Iterator[Row]:
    E, N, K = probs.shape
    size = f"N={N:,} M={points.shape[1]:,} E={E} K={K}{note}"
    with library_threads(threads):
        broadcast_mse = seconds(lambda: broadcast_forms.core_mse(probs, points), 1 if note else 2)
        broadcast_log = seconds(lambda: broadcast_forms.core_log(probs, points), 1 if note else 2)
    with limits(threads=threads):
        mse = seconds(lambda: core_mse(probs, points).scores, 7)
        log = seconds(lambda: core_log(probs, points).matrix())
    yield Row(f"CoreMSE scores, {size}", mse, broadcast_mse, goal="at least 400 times faster")
    yield Row(f"CoreLog matrix, {size}", log, broadcast_log, goal="at least 30 times faster")
    if not note and threads == 1:
        broadcast_mib = peak_bytes(lambda: broadcast_forms.core_log(probs, points)) / MIB
        ours = max(
            peak_bytes(lambda: core_mse(probs, points).scores), peak_bytes(lambda: core_log(probs, points).matrix())
        )
        yield Row(f"peak memory, {size}", ours / MIB, broadcast_mib, "MiB", "under 5 % of it")


def million(threads: int) -> Iterator[Row]:
    """One million candidates, the whole pool as estimation pool, against the entropy of every member's prediction."""
    probs = ensemble(5, 1_000_000, 4)
    with limits(threads=threads):
        scores = seconds(lambda: core_mse(probs).scores)
        gain = core_mse(probs)
        batch_seconds = seconds(lambda: batch_rules.diverse(gain.scores, gain.rows, 100, np.random.default_rng(0)), 1)
        rows = gain.rows(batch_rules.top(gain.scores, 500_000, np.random.default_rng(0)))
        alone = seconds(lambda: batch_rules.cluster_labels(rows, 100, np.random.default_rng(0)), 1)
    entropy = seconds(lambda: -(probs * np.log(probs)).sum(-1))
    yield Row(
        "CoreMSE scores of 1,000,000, M = N, against member entropies in NumPy", scores, entropy, goal="ratio above 0.1"
    )
    yield Row(
        "diverse 100 of 1,000,000, against one k-means run on its vectors", batch_seconds, alone, goal="ratio near 1"
    )
    if threads == 1:
        peak = peak_bytes(lambda: core_mse(probs).scores) + probs.nbytes
        yield Row("memory of those scores with their input, against 1.5 GB", peak / MIB, 1.5e9 / MIB, "MiB", "under it")


def against_logarithm(threads: int) -> Iterator[Row]:
    """The CoreLog matrix against NumPy's float32 logarithm of N*K*M*K numbers, in cache and on one thread."""
    E, N, M, K = SHAPE
    probs, points = ensemble(E, N, K), ensemble(E, M, K, seed=1)
    with limits(threads=threads):
        ours = seconds(lambda: core_log(probs, points).matrix(), 5)
    yield Row(
        "CoreLog matrix against float32 log alone (in cache)",
        ours,
        _logarithms(N * K * M * K),
        goal="at most 5 times: ratio above 0.2",
    )


def _logarithms(numbers: int) -> float:
    block = np.random.default_rng(0).random(2**16, np.float32) + np.float32(0.1)
    out = np.empty_like(block)

    def work() -> None:
        for _ in range(numbers // len(block)):
            np.log(block, out=out)

    return seconds(work, 5)


def growth() -> list[tuple[str, str, float, float]]:
    """Cost against N, M, K and E, each doubled: (what, axis, expected exponent, measured exponent), one thread.

    Expected: CoreMSE scores are linear in N, K and, with M = N fixed, near E (the E^2 products are not what takes
    time at this size); the CoreLog matrix is linear in N and M, square in K, and hardly depends on E.
    """
    forms: dict[str, tuple[Callable[[Array, Array], object], dict[str, float]]] = {
        "CoreMSE scores": (lambda p, x: core_mse(p, x).scores, {"N": 1, "M": 0, "K": 1, "E": 1}),
        "CoreLog matrix": (lambda p, x: core_log(p, x).matrix(), {"N": 1, "M": 1, "K": 2, "E": 0}),
        "BALD": (lambda p, x: baselines.bald(p, np.full(len(p), 1 / len(p))), {"N": 1, "K": 1, "E": 1}),
    }
    rows = []
    for name, (work, expected) in forms.items():
        base = {"N": 40_000, "M": 400, "K": 4, "E": 5} if "Log" not in name else {"N": 2_000, "M": 800, "K": 4, "E": 5}
        once = _cost(work, base)
        for axis, exponent in expected.items():
            doubled = _cost(work, base | {axis: 2 * base[axis]})
            rows.append((name, axis, exponent, float(np.log2(doubled / once))))
    return rows


def _cost(work: Callable[[Array, Array], object], size: dict[str, int]) -> float:
    probs = ensemble(size["E"], size["N"], size["K"])
    points = ensemble(size["E"], size["M"], size["K"], seed=1)
    return seconds(lambda: work(probs, points), 5)
