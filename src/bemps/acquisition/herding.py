r"""Greedy coverage of the pool: MaxHerding (arXiv 2407.12212) and Uncertainty Herding (arXiv 2412.20644).

N candidates, M points to cover, L labelled items, B picks, H features; every vector x is scaled to length one.

    C(S) = sum_m w_m max_{x in L or S} k(x_m, x),      k(x, x') = exp(-|x - x'|^2 / radius^2)

The next pick is the candidate that raises C most, by sum_m w_m max(k(x_m, x) - cover_m, 0), where cover_m is the
largest k(x_m, .) of what is labelled or picked.

- MaxHerding: w = 1/M, radius = 1.
- Uncertainty Herding: w_m = U_m / M with U = 1 - (largest - second largest probability), and radius = the smallest
  distance between two labelled items. With few labels the radius is wide and the batch covers the pool; with many it
  is narrow and the batch is the most uncertain items.

A gain never grows while picks are added (C is submodular), so an earlier gain bounds it: only candidates whose bound
reaches the best are computed again. The picks are those of the plain greedy rule.

Where this departs from the papers:

- The second paper finds a temperature for U by calibration on held-out labels, with a model trained on the rest. No
  such model is at hand here, and the learners of bemps choose their own scale by cross-validation: `temperature` is an
  option, 1 unless given.
- The points are all candidates up to `estimation_size`, else a sample. Labelled items are covered already.
- Labelled items nearer than 1e-3 count as one, or two copies of a text would make the radius zero. With fewer than two
  different ones the radius is 1.
- Where every U is zero, all points weigh the same.
- Equal gains are decided at random by the seed.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.acquisition import baselines
from bemps.acquisition.batch_rules import unit_rows
from bemps.acquisition.context import Context
from bemps.gain import ranking
from bemps.gain.member_posterior import mean_prediction
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Selection

MOST_POINTS = 20_000  # points to cover; of more candidates a sample is taken
COPY_DISTANCE = 1e-3  # two labelled items that are nearer are copies
CHUNK = 8  # candidates computed again between two checks of the bound
BLOCK_ENTRIES = 2**20  # of the kernel matrix, computed at a time


def maxherding(context: Context, *, radius: float = 1.0, estimation_size: int = MOST_POINTS) -> Selection:
    """The batch that covers the pool best. Predictions are not used.

    Parameters
    ----------
    context : Context
        The pool and its embeddings.
    radius : float
        Radius of the kernel, at least 0.001.
    estimation_size : int
        The largest number of points to cover. A larger pool is sampled.

    Returns
    -------
    Selection
        The batch, with the coverage that each pick added.
    """
    return _herd(context, np.ones(context.size), _checked_radius(radius), estimation_size)


def uncertainty_herding(
    context: Context, *, radius: float | None = None, temperature: float = 1.0, estimation_size: int = MOST_POINTS
) -> Selection:
    """The batch that covers the uncertain part of the pool best.

    Parameters
    ----------
    context : Context
        The pool, its embeddings and the members' predictions.
    radius : float, optional
        Radius of the kernel. The default is the smallest distance of two labelled items.
    temperature : float
        Temperature of the probabilities in the uncertainty, above 0.
    estimation_size : int
        The largest number of points to cover. A larger pool is sampled.

    Returns
    -------
    Selection
        The batch, with the coverage that each pick added.
    """
    uncertain = _tempered_margin(context, checks.within(temperature, "temperature", 0, open_low=True))
    if not uncertain.any():
        uncertain = np.ones(context.size)
    width = _labelled_radius(context) if radius is None else _checked_radius(radius)
    return _herd(context, uncertain, width, estimation_size)


def smallest_distance(vectors: Float[Array, "L H"]) -> float | None:
    """The smallest distance of two rows that differ; None where there are no two."""
    nearest = np.inf
    for i, row in enumerate(vectors[1:], start=1):
        distances = np.linalg.norm(vectors[:i] - row, axis=1)
        nearest = min(nearest, float(distances[distances > COPY_DISTANCE].min(initial=np.inf)))
    return None if np.isinf(nearest) else nearest


def _checked_radius(radius: float) -> float:
    return checks.within(radius, "radius", COPY_DISTANCE)


def _labelled_radius(context: Context) -> float:
    labelled = context.representation()[1]
    return (None if labelled is None else smallest_distance(unit_rows(labelled))) or 1.0


def _tempered_margin(context: Context, temperature: float) -> Float[Array, " N"]:
    q = mean_prediction(*context.members())
    if temperature != 1:
        q = (q / q.max(1, keepdims=True)) ** (1 / temperature)
        q /= q.sum(1, keepdims=True)
    return baselines.margin(q[None], np.ones(1))


def _herd(context: Context, weights: Float[Array, " N"], radius: float, estimation_size: int) -> Selection:
    vectors, labelled = context.representation()
    x = unit_rows(vectors).astype(np.float32)
    points = context.sample(checks.integer(estimation_size, "estimation_size", 1))
    order = context.rng.permutation(context.size)  # equal gains: the first in this order
    coverage = Coverage(x[order], x[points], weights[points] / len(points), radius)
    if labelled is not None and len(labelled):
        coverage.add(unit_rows(labelled).astype(np.float32))
    picks, values = coverage.greedy(context.n)
    return Selection(order[picks], values)


class Coverage:
    """How well points are covered, and how much each candidate would add.

    Parameters
    ----------
    candidates : array of float (N, H)
        Vectors of the candidates.
    points : array of float (M, H)
        Vectors of the points to cover.
    weights : array of float (M,)
        Weights of the points.
    radius : float
        Radius of the kernel.
    """

    def __init__(
        self,
        candidates: Float[Array, "N H"],
        points: Float[Array, "M H"],
        weights: Float[Array, " M"],
        radius: float,
    ) -> None:
        self._candidates, self._points = candidates, points
        self._norms = (points * points).sum(1)
        self._weights = weights.astype(np.float32)
        self._scale = np.float32(radius**-2)
        self._cover = np.zeros(len(points), np.float32)

    def kernel(self, rows: Float[Array, "n H"]) -> Float[Array, "n M"]:
        """k of every row with every point."""
        exponent = 2 * (rows @ self._points.T)
        exponent -= (rows * rows).sum(1)[:, None]
        exponent -= self._norms
        exponent *= self._scale
        np.minimum(exponent, 0, out=exponent)  # a distance that rounding made negative
        return np.exp(exponent, out=exponent)

    def add(self, rows: Float[Array, "n H"]) -> None:
        """Add vectors that cover points."""
        nearest = self._in_blocks(lambda block: self.kernel(rows[block]).max(0)[None], len(rows))
        self._cover = np.maximum(self._cover, nearest.max(0))

    def gains(self, rows: Int[Array, " n"]) -> Float[Array, " n"]:
        """How much coverage each of these candidates would add."""

        def part(block: slice) -> Float[Array, " b"]:
            k = self.kernel(self._candidates[rows[block]])
            k -= self._cover
            return np.maximum(k, 0, out=k) @ self._weights

        return self._in_blocks(part, len(rows)).astype(np.float64)

    def greedy(self, n: int) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
        """The greedy picks, and how much coverage each added."""
        bound = self.gains(np.arange(len(self._candidates)))
        picks: list[int] = []
        values: list[float] = []
        while len(picks) < n:
            best = self._best(bound)
            picks.append(best)
            values.append(float(bound[best]))
            bound[best] = -np.inf
            self.add(self._candidates[[best]])
        return np.array(picks), np.array(values)

    def _best(self, bound: Float[Array, " N"]) -> int:
        """The candidate of the largest gain. Bounds that are computed again become gains."""
        order = np.argsort(-bound, kind="stable")
        order = order[bound[order] > -np.inf]
        margin, value = ranking.tolerance(float(bound[order[0]]), ranking.TIE_SINGLE), -np.inf
        for block in slices(len(order), CHUNK):
            rows = order[block]
            if bound[rows[0]] < value - margin:
                break
            bound[rows] = self.gains(rows)
            value = max(value, float(bound[rows].max()))
        return int((bound >= value - margin).argmax())

    def _in_blocks(self, part: Callable[[slice], Array], size: int) -> Array:
        """`part` on blocks of rows, each with a bounded piece of the kernel, whatever the number of threads."""
        entries = min(BLOCK_ENTRIES, current_limits().memory // 32)
        return np.concatenate(map_blocks(part, slices(size, entries // len(self._points))))
