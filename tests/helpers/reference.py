"""Algorithms 1, 2 and 3 of the paper as literal loops over numbers, from its text: slow, and the judge of the rest.

Written with plain arithmetic, so that they run on floats and, for members that hardly differ, on mpmath numbers of 50
digits (the difference of two nearly equal G is beyond float64 there).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

Number = Any
Row = Sequence[Number]


def g_brier(p: Row) -> Number:
    return sum(x * x for x in p) - 1


def g_log(p: Row) -> Number:
    return sum((x * _log(x) for x in p if x > 0), start=0 * p[0])


def _log(x: Number) -> Number:
    return mpmath.log(x) if isinstance(x, mpmath.mpf) else math.log(x)


def g_quadratic(C: np.ndarray) -> Callable[[Row], Number]:
    return lambda p: sum(p[i] * C[i][j] * p[j] for i in range(len(p)) for j in range(len(p)))


def mean(weights: Row, predictions: Sequence[Row]) -> list[Number]:
    return [sum(w * p[k] for w, p in zip(weights, predictions, strict=True)) for k in range(len(predictions[0]))]


def updated(weights: Row, likelihood: Row) -> list[Number]:
    """p(theta | L, (x, y)); the weights as they are where y is impossible."""
    total = sum(w * p for w, p in zip(weights, likelihood, strict=True))
    if total == 0:
        return list(weights)
    return [w * p / total for w, p in zip(weights, likelihood, strict=True)]


def algorithm_1(at_x: Sequence[Row], at_xp: Sequence[Row], weights: Row, G: Callable[[Row], Number]) -> Number:
    """DeltaQ(x | L, x'): predictions of each member at x and at x'."""
    Q = 0
    qx = mean(weights, at_x)
    for y in range(len(qx)):
        q = mean(updated(weights, [p[y] for p in at_x]), at_xp)
        Q = Q + qx[y] * G(q)
    return Q - G(mean(weights, at_xp))


def gain_matrix(probs: Any, estimation: Any, weights: Row, G: Callable[[Row], Number]) -> np.ndarray:
    """Algorithm 1 for every pair."""
    E, N, M = len(probs), len(probs[0]), len(estimation[0])
    return np.array(
        [
            [
                float(
                    algorithm_1(
                        [list(probs[e][n]) for e in range(E)], [list(estimation[e][m]) for e in range(E)], weights, G
                    )
                )
                for m in range(M)
            ]
            for n in range(N)
        ]
    )


def algorithm_2(probs: Any, estimation: Any, weights: Row, G: Callable[[Row], Number]) -> int:
    """argmax_x sum_x' DeltaQ(x | L, x')."""
    return int(gain_matrix(probs, estimation, weights, G).sum(1).argmax())


def algorithm_3(
    vectors: np.ndarray, B: int, T: float, centroids: Callable[[np.ndarray, int], np.ndarray]
) -> tuple[list[int], list[int]]:
    """The items nearest the k-means centres of the top fraction (they may repeat: the paper takes a set), and V."""
    Q = [sum(row) for row in vectors]
    V = sorted(range(len(vectors)), key=lambda x: -Q[x])[: math.ceil(T * len(vectors))]
    batch = []
    for c in centroids(np.array([vectors[x] for x in V]), B):
        batch.append(min(V, key=lambda x: float(np.linalg.norm(c - vectors[x]))))
    return batch, V


def remaining_gain(estimation: Any, weights: Row, G: Callable[[Row], Number]) -> Number:
    """Eq (QS)."""
    E, M = len(estimation), len(estimation[0])
    total = 0
    for m in range(M):
        at = [list(estimation[e][m]) for e in range(E)]
        total = total + sum(w * G(p) for w, p in zip(weights, at, strict=True)) - G(mean(weights, at))
    return total / M


def joint_gain(probs: Any, batch: Sequence[int], estimation: Any, weights: Row, G: Callable[[Row], Number]) -> Number:
    """Eq (DQS) with x a batch: every label configuration in turn."""
    E, K, M = len(probs), len(probs[0][0]), len(estimation[0])
    total = 0
    for code in range(K ** len(batch)):
        labels = [(code // K**i) % K for i in range(len(batch))]
        likelihood = [math.prod(float(probs[e][x][y]) for x, y in zip(batch, labels, strict=True)) for e in range(E)]
        chance = sum(w * p for w, p in zip(weights, likelihood, strict=True))
        after = updated(weights, likelihood)
        for m in range(M):
            at = [list(estimation[e][m]) for e in range(E)]
            total = total + chance * G(mean(after, at)) / M
    return total - sum(G(mean(weights, [list(estimation[e][m]) for e in range(E)])) for m in range(M)) / M


def wmocu(at_x: Sequence[Row], at_xp: Sequence[Row], weights: Row, c: float) -> float:
    """The expected fall of (1 - cK) K at x', K = E_theta max p - max q, both re-weighted after the label."""

    def cost(w: Row) -> float:
        K = sum(v * max(p) for v, p in zip(w, at_xp, strict=True)) - max(mean(w, at_xp))
        return (1 - c * K) * K

    qx = mean(weights, at_x)
    after = sum(qx[y] * cost(updated(weights, [p[y] for p in at_x])) for y in range(len(qx)))
    return float(cost(weights) - after)
