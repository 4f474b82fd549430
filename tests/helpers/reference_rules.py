"""MaxHerding, Uncertainty Herding, FALCUN, ParBaLS and AnchorAL as literal loops over numbers: slow, and the judges."""

import math
from typing import Any

import numpy as np

Vector = Any


def unit(x: Vector) -> list[float]:
    length = math.sqrt(sum(v * v for v in x))
    return [v / length if length else 0.0 for v in x]


def distance(x: Vector, y: Vector) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def coverage(points: Any, weights: Any, covering: Any, radius: float) -> float:
    """sum_m w_m max_x k(x_m, x), every pair in turn."""
    total = 0.0
    for point, weight in zip(points, weights, strict=True):
        near = [math.exp(-((distance(unit(point), unit(x)) / radius) ** 2)) for x in covering]
        total += weight * max(near, default=0.0)
    return total


def margin(q: Vector) -> float:
    first, second = sorted(q, reverse=True)[:2]
    return 1 - (first - second)


def tempered(q: Vector, temperature: float) -> list[float]:
    """softmax(log q / temperature)."""
    powers = [math.exp(math.log(p) / temperature) for p in q]
    return [p / sum(powers) for p in powers]


def labelled_radius(labelled: Any) -> float:
    pairs = [(i, j) for i in range(len(labelled)) for j in range(i)]
    return min((d for i, j in pairs if (d := distance(unit(labelled[i]), unit(labelled[j]))) > 1e-3), default=1.0)


def falcun(q: Any, n: int, gamma: float, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    """One pick after the other: relevance of every free item, then a draw."""
    picks: list[int] = []
    values: list[float] = []
    uncertain = [margin(row) for row in q]
    while len(picks) < n:
        free = [i for i in range(len(q)) if i not in picks]
        near = {
            i: min([uncertain[i], *(sum(abs(a - b) for a, b in zip(q[i], q[j], strict=True)) for j in picks)])
            for i in free
        }
        low, high = min(near.values()), max(near.values())
        relevance = [uncertain[i] + ((near[i] - low) / (high - low) if high > low else 0.0) for i in free]
        powers = [r**gamma for r in relevance]
        at = int(rng.choice(len(free), p=[p / sum(powers) for p in powers]))
        picks.append(free[at])
        values.append(relevance[at])
    return picks, values


class BayesianHead:
    """Weights of a linear head, Gaussian with mean W (H, K) and covariance A (H, H), the same for every class.

    `start` are logits at zero weights: those of the model before any label was drawn.
    """

    def __init__(self, precision: np.ndarray, K: int) -> None:
        self.precision, self.W = precision.copy(), np.zeros((len(precision), K))

    def probabilities(self, h: np.ndarray, start: np.ndarray) -> np.ndarray:
        powers = np.exp(start + h @ self.W)
        return powers / powers.sum()

    def learn(self, h: np.ndarray, start: np.ndarray, label: int) -> None:
        """One Newton step on a labelled item, with curvature d for every class."""
        q = self.probabilities(h, start)
        d = (1 - sum(p * p for p in q)) / (len(q) - 1)
        self.precision = self.precision + d * np.outer(h, h)
        self.W = self.W + np.outer(np.linalg.inv(self.precision) @ h, np.eye(len(q))[label] - q)

    def epig(self, h: np.ndarray, start: np.ndarray, points: np.ndarray, starts: np.ndarray) -> float:
        """mean_m c^2 tr(S_n S_m) / 2 / (1 + c(n,n) d_n), every matrix written out."""
        A = np.linalg.inv(self.precision)
        q = self.probabilities(h, start)
        S, d = np.diag(q) - np.outer(q, q), (1 - sum(p * p for p in q)) / (len(q) - 1)
        total = 0.0
        for point, other in zip(points, starts, strict=True):
            p = self.probabilities(point, other)
            total += (h @ A @ point) ** 2 * np.trace(S @ (np.diag(p) - np.outer(p, p))) / 2
        return float(total / len(points) / (1 + h @ A @ h * d))


def parbals(
    features: np.ndarray,
    q: np.ndarray,
    points: np.ndarray,
    points_q: np.ndarray,
    precision: np.ndarray,
    n: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[list[int], list[float]]:
    """Every draw has a head of its own, trained on the labels that it drew for the picks."""
    starts, point_starts = np.log(q), np.log(points_q)
    heads = [BayesianHead(precision, q.shape[1]) for _ in range(draws)]
    picks: list[int] = []
    values: list[float] = []
    while len(picks) < n:
        means = {
            i: sum(head.epig(features[i], starts[i], points, point_starts) for head in heads) / draws
            for i in range(len(q))
            if i not in picks
        }
        best = max(means, key=lambda i: means[i])
        picks.append(best)
        values.append(means[best])
        for head, uniform in zip(heads, rng.random(draws), strict=True):
            chances = np.cumsum(head.probabilities(features[best], starts[best]))
            label = next((k for k, c in enumerate(chances) if uniform < c), len(chances) - 1)
            head.learn(features[best], starts[best], label)
    return picks, values


def anchor_window(candidates: Any, anchors: Any, neighbours: int, size: int) -> set[int]:
    """The candidates of largest mean similarity to the anchors that brought them."""
    brought: dict[int, list[float]] = {}
    for anchor in anchors:
        like = [sum(a * b for a, b in zip(unit(x), unit(anchor), strict=True)) for x in candidates]
        for i in sorted(range(len(like)), key=lambda i: -like[i])[:neighbours]:
            brought.setdefault(i, []).append(like[i])
    scores = {i: sum(values) / len(values) for i, values in brought.items()}
    return set(sorted(scores, key=lambda i: -scores[i])[:size])
