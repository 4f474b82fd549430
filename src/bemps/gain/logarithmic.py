r"""Expected gain for the log score (CoreLog, EPIG), in blocks that stay in the cache.

E members, N candidates, M estimation points, K classes.

    gain[n,m] = sum_{y,y'} q[n,y] q[m,y'] phi(t),   phi(t) = (1+t) log1p(t) - t,   t = sum_e w_e a[e,n,y] a[e,m,y']

Accuracy. The error of phi in floating point is about eps |t| where phi itself is t^2 / 2, so
- blocks where every |t| is small (a bound from norms, no pass over t) use the series of phi: exact and faster;
- float32 is used only where the largest gain is large against that error, else float64 (`_float32_is_enough`);
- 1 + t is never formed before the logarithm.
t >= -1 in exact arithmetic, with equality where a label is impossible afterwards: such t are set just above -1.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from bemps.gain.member_posterior import mean_prediction, phi_series, ratio_to_mean
from bemps.limits import current_limits, slices
from bemps.types import Array

BLOCK_BYTES = 2**18  # of t; with its logarithm beside it, both fit a second-level cache
SERIES_BELOW = 2.0**-7


@dataclass(frozen=True, eq=False)
class _Points:
    """One side of the matrix product: ratios a, class probabilities q, and the norms that bound t."""

    ratios: Float[Array, "n K E"]
    mean: Float[Array, "n K"]
    norm: Float[Array, " n"]  # max_y |a|_w, so that |t| <= norm[n] norm[m]
    least: Float[Array, " n"]  # min_{e,y} (1 + a), so that 1 + t >= least

    @classmethod
    def from_probs(cls, probs: Float[Array, "E n K"], weights: Float[Array, " E"]) -> "_Points":
        exact = probs.astype(np.float64, copy=False)
        mean = mean_prediction(exact, weights)
        a = np.ascontiguousarray(ratio_to_mean(exact, mean).transpose(1, 2, 0))
        norm = np.sqrt((a * a) @ weights).max(axis=1)
        return cls(a, mean, norm, 1 + a.min(axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class _Column:
    """A block of estimation points, classes outermost so that the sum over y' is over contiguous rows."""

    part: slice
    right: Float[Array, "E Km"]
    mean: Float[Array, "K m"]
    norm: float
    least: float


@dataclass(eq=False)
class LogKernel:
    """Rows of the CoreLog matrix.

    Attributes
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    reverse : bool
        Whether to compute KL(before || after) instead of KL(after || before).
    single : bool, optional
        Whether float32 is enough. None: the data decide. Parts of one pool must agree on it.
    dtype : numpy.dtype
        The type of the gains.
    """

    probs: Float[Array, "E N K"]
    estimation: Float[Array, "E M K"]
    weights: Float[Array, " E"]
    reverse: bool = False
    single: bool | None = None
    dtype: np.dtype[np.floating] = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.probs.dtype
        points = _Points.from_probs(self.estimation, self.weights)
        single = self.single
        if single is None:
            single = np.result_type(self.probs, self.estimation) == np.float32 and _float32_is_enough(
                strongest_candidate(self.probs, self.weights)[1], points, self.weights
            )
        self._work_dtype = np.dtype(np.float32 if single else np.float64)
        self._columns = [self._column(points, part) for part in self._column_blocks()]

    @property
    def N(self) -> int:
        """The number of candidates."""
        return self.probs.shape[1]

    @property
    def M(self) -> int:
        """The number of estimation points."""
        return self.estimation.shape[1]

    @property
    def block_rows(self) -> int:
        """The number of rows of one call: many cache blocks, since the candidates are prepared once for all of them."""
        bounds = current_limits()
        per_row = 8 * (self.M + 6 * self.probs.shape[0] * self.probs.shape[2])
        return max(1, min(2_048, bounds.memory // bounds.threads // per_row, -(-self.N // bounds.threads)))

    def _column_blocks(self) -> list[slice]:
        """Estimation points in blocks, so that a block of t with a few rows fits the cache whatever M is."""
        K = self.probs.shape[2]
        width = max(1, BLOCK_BYTES // (self._work_dtype.itemsize * K * K * 4))
        count = -(-self.M // width)
        edges = np.linspace(0, self.M, count + 1).astype(int)
        return [slice(int(i), int(j)) for i, j in pairwise(edges)]

    def _column(self, points: _Points, part: slice) -> _Column:
        a = points.ratios[part]  # (m, K, E)
        right = np.ascontiguousarray(a.transpose(2, 1, 0)).reshape(a.shape[2], -1).astype(self._work_dtype)
        mean = np.ascontiguousarray(points.mean[part].T).astype(self._work_dtype)
        return _Column(part, right, mean, float(points.norm[part].max()), float(points.least[part].min()))

    def __call__(self, candidates: Int[Array, " n"]) -> Float[Array, "n M"]:
        items = _Points.from_probs(self.probs[:, candidates], self.weights)
        n, K, E = items.ratios.shape
        left = (items.ratios * self.weights).astype(self._work_dtype)
        mean = items.mean.astype(self._work_dtype)[:, None, :]  # (n, 1, K)
        out = np.empty((n, self.M), self._work_dtype)
        for column in self._columns:
            width = column.right.shape[1]  # K*m
            step = max(1, BLOCK_BYTES // (self._work_dtype.itemsize * K * width))
            scratch = np.empty((2, step * K * width), self._work_dtype)
            for rows in slices(n, step):
                size = (rows.stop - rows.start) * K
                t, spare = scratch[:, : size * width].reshape(2, size, width)
                np.matmul(left[rows].reshape(size, E), column.right, out=t)
                bound, least = float(items.norm[rows].max()) * column.norm, float(items.least[rows].min())
                terms = self._terms(t, spare, bound, max(least, column.least)).reshape(-1, K, width)
                summed = (mean[rows] @ terms).reshape(-1, *column.mean.shape)  # over y: (rows, K, m)
                summed *= column.mean
                np.maximum(summed.sum(axis=1), 0, out=out[rows, column.part])  # over y'
        return out

    def _terms(
        self, t: Float[Array, "r c"], spare: Float[Array, "r c"], bound: float, least: float
    ) -> Float[Array, "r c"]:
        """phi(t), or its reverse t - log1p(t), element by element; both arrays are overwritten.

        The -t of phi is left out with the logarithm: sum_y' q[m,y'] t = 0, so it adds nothing to the gain.
        """
        if bound < SERIES_BELOW:
            return _reverse_series(t) if self.reverse else phi_series(t)
        if least < 1e-4:
            np.maximum(t, np.nextafter(self._work_dtype.type(-1), self._work_dtype.type(0)), out=t)
        np.log1p(t, out=spare)
        if self.reverse:
            return np.negative(spare, out=spare)
        t += 1
        spare *= t
        return spare


def _reverse_series(t: Float[Array, "r c"]) -> Float[Array, "r c"]:
    """t - log1p(t) = t^2 (1/2 - t/3 + t^2/4 - t^3/5 + t^4/6 - ...)."""
    return t * t * (0.5 + t * (-1 / 3 + t * (1 / 4 + t * (-1 / 5 + t / 6))))


def float32_is_enough(
    moment: Float[Array, "E E"] | None, estimation: Float[Array, "E M K"], weights: Float[Array, " E"]
) -> bool:
    """Whether the largest gain is large against the error of float32.

    Parameters
    ----------
    moment : array of float (E, E) or None
        The second moment of the strongest candidate (`strongest_candidate`).
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.

    Returns
    -------
    bool
        Whether float32 is enough.
    """
    return _float32_is_enough(moment, _Points.from_probs(estimation, weights), weights)


def _float32_is_enough(moment: Float[Array, "E E"] | None, points: _Points, weights: Float[Array, " E"]) -> bool:
    """The error is about eps sqrt(V) with V = sum q q' t^2, and the largest gain is about max V / 2.

    Relative to it the error stays under 1e-5 while sqrt(max V) > 0.03. V[n,m] = sum_ef w_e w_f r_ef[n] r_ef[m] with
    r_ef = sum_y q a_e a_f; one promising candidate against all points bounds max V from below.
    """
    if moment is None:
        return True  # members agree everywhere: every gain is exactly zero
    rotated = points.ratios @ (moment * np.outer(weights, weights))  # (M, K, E)
    V = np.einsum("mk,mke,mke->m", points.mean, rotated, points.ratios)
    return bool(np.sqrt(max(V.max(), 0.0)) > 0.03)


def strongest_candidate(
    probs: Float[Array, "E N K"], weights: Float[Array, " E"]
) -> tuple[float, Float[Array, "E E"] | None]:
    """The largest sum_e w_e r_ee of a candidate, and its r; 0 and None if members agree everywhere."""
    best, moment = 0.0, None
    E, N, K = probs.shape
    for block in slices(N, min(current_limits().memory // (64 * E * K), 65_536)):
        points = _Points.from_probs(probs[:, block], weights)
        size = np.einsum("nk,nke,e->n", points.mean, points.ratios**2, weights)
        top = int(size.argmax())
        if size[top] > best:
            best, moment = float(size[top]), _second_moment(points, top)
    return best, moment


def _second_moment(points: _Points, index: int) -> Float[Array, "E E"]:
    a, q = points.ratios[index], points.mean[index]  # (K, E), (K,)
    return (a * q[:, None]).T @ a
