r"""The limit of many members, in closed form: a Laplace posterior on a linear head, to second order.

N candidates, M estimation points, L labelled items, H features (with bias), K classes.
MAP probabilities q, S = diag(q) - q q^T, d = (1 - |q|^2) / (K - 1), posterior covariance of the logits
c(x,x') = h^T A h' times the identity over classes, A = temperature (H_L^T D H_L + l2 I)^-1. Then

    gain[n,m] = c(n,m)^2 tr(S_n T_m) / (1 + c(n,n) d_n),      T = S_m / 2 (log score),  T = S_m^2 (Brier score)

It holds for small posterior variance c(n,n) (a close relative of BAIT, Ash et al. 2021). Labelling x changes A by a
matrix of rank one, and so every c: a greedy batch costs one such downdate per pick, and no ensemble is trained.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.numerics import curvature
from bemps.errors import InputError
from bemps.gain import ranking
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class LinearItems:
    """Items as a linear head sees them.

    Attributes
    ----------
    z : array of float (N, H)
        Whitened features: c(x,x') = z . z'.
    q : array of float (N, K)
        MAP probabilities.
    """

    z: Float[Array, "N H"]
    q: Float[Array, "N K"]

    def __getitem__(self, rows: Int[Array, " n"] | slice) -> "LinearItems":
        return LinearItems(self.z[rows], self.q[rows])


def whitening_matrix(
    labelled: Float[Array, "L H"], d: Float[Array, " L"], *, l2: float, temperature: float = 1.0
) -> Float[Array, "H H"]:
    """The matrix W with A = W W^T: z = h W gives c(x,x') = z . z'.

    Parameters
    ----------
    labelled : array of float (L, H)
        Features of the labelled items.
    d : array of float (L,)
        Curvature of each labelled item.
    l2 : float
        Precision of the prior.
    temperature : float
        Scale of the posterior covariance.

    Returns
    -------
    array of float (H, H)
        The matrix W.
    """
    from scipy.linalg import solve_triangular

    H = labelled.shape[1]
    precision = (labelled * d[:, None]).T @ labelled + l2 * np.eye(H)
    try:
        lower = np.linalg.cholesky(precision / temperature)
    except np.linalg.LinAlgError:  # the prior is below the rounding of large features
        return _whitener_by_directions(labelled * np.sqrt(d)[:, None], l2, temperature)
    return solve_triangular(lower, np.eye(H), lower=True).T


def _whitener_by_directions(rows: Float[Array, "L H"], l2: float, temperature: float) -> Float[Array, "H H"]:
    """The symmetric W of A = temperature (rows^T rows + l2 I)^-1, by singular values: no square is ever formed."""
    _, values, directions = np.linalg.svd(rows, full_matrices=True)
    spread = np.zeros(rows.shape[1])
    spread[: len(values)] = values
    return (directions.T * np.sqrt(temperature) / np.hypot(spread, np.sqrt(l2))) @ directions


def trace_terms(a: Float[Array, "n K"], b: Float[Array, "m K"], score: str) -> Float[Array, "n m"]:
    """tr(S_a T_b) by products over classes only; S = diag(q) - q q^T is never formed.

    Parameters
    ----------
    a : array of float (n, K)
        Probabilities of the candidates.
    b : array of float (m, K)
        Probabilities of the estimation points.
    score : {'log', 'brier'}
        The score that decides T.

    Returns
    -------
    array of float (n, m)
        A trace for each pair.
    """
    if score not in ("log", "brier"):
        raise InputError(
            "score",
            expected="'log' or 'brier' in the closed form",
            got=repr(score),
            fix="Sample members instead.",
        )
    dot = a @ b.T
    if score == "log":
        return (dot - a @ (b * b).T - (a * a) @ b.T + dot * dot) / 2
    squares, norm = b * b, (b * b).sum(1)
    diagonal = a @ (squares * (1 + norm[:, None]) - 2 * squares * b).T
    outer = (a * a) @ squares.T - 2 * dot * (a @ squares.T) + dot * dot * norm
    return diagonal - outer


def laplace_gain(candidates: LinearItems, points: LinearItems, score: str = "log") -> Float[Array, "N M"]:
    """gain[n,m] = c(n,m)^2 tr(S_n T_m) / (1 + c(n,n) d_n).

    Parameters
    ----------
    candidates : LinearItems
        The N candidates.
    points : LinearItems
        The M estimation points.
    score : {'log', 'brier'}
        The score whose gain is computed.

    Returns
    -------
    array of float (N, M)
        A gain for each pair.
    """
    c = candidates.z @ points.z.T
    own = 1 + (candidates.z * candidates.z).sum(1) * curvature(candidates.q)
    return c * c * trace_terms(candidates.q, points.q, score) / own[:, None]


def trace_factors(a: Float[Array, "n K"], b: Float[Array, "m K"], score: str) -> tuple[Array, Array] | None:
    """Factors of the traces: tr(S_a T_b) = phi(a) . psi(b) with phi = [q, q q, vec(q q^T)].

    Parameters
    ----------
    a : array of float (n, K)
        Probabilities of the candidates.
    b : array of float (m, K)
        Probabilities of the estimation points.
    score : {'log', 'brier'}
        The score that decides T.

    Returns
    -------
    tuple of arrays or None
        phi and psi. None if the factors are longer than the traces: K^2 + 2K > m.
    """
    if a.shape[1] * (a.shape[1] + 2) > len(b):
        return None
    squares, pairs = b * b, _pairs(b, b)
    if score == "log":
        psi = np.concatenate([b - squares, -b, pairs], axis=1) / 2
    else:
        norm = squares.sum(1, keepdims=True)
        psi = np.concatenate([squares * (1 + norm - 2 * b), -squares, 2 * _pairs(b, squares) - norm * pairs], axis=1)
    return np.concatenate([a, a * a, _pairs(a, a)], axis=1), psi


def _pairs(a: Float[Array, "n K"], b: Float[Array, "n K"]) -> Float[Array, "n KK"]:
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


class GreedyLaplace:
    """A batch that is picked item by item. `scores` are the mean gains after the picks so far.

    Pick i takes u_i r_i^T off c (u = c(., x) d_x / (1 + c(x,x) d_x), r = c(x, .)), so with weights v of the points

        sum_m v (c - u r)^2 tr  =  sum_m v c^2 tr  -  2 u sum_m v r c tr  +  u^2 sum_m v r^2 tr,
        c tr  =  c_0 tr  -  sum_{i earlier} u_i r_i tr.

    c_0 tr is one N x M array that never changes: a pick costs one product of it with a vector. The traces themselves
    are low-rank (`trace_factors`) or, with many classes, kept.

    Parameters
    ----------
    candidates : LinearItems
        The N candidates.
    points : LinearItems
        The M estimation points.
    score : {'log', 'brier'}
        The score whose gain is computed.
    estimation_weights : array of float (M,), optional
        Weights of the points. The default is uniform.
    """

    def __init__(
        self,
        candidates: LinearItems,
        points: LinearItems,
        score: str = "log",
        estimation_weights: Float[Array, " M"] | None = None,
    ) -> None:
        N, M = len(candidates.z), len(points.z)
        self._candidates, self._points, kind = candidates, points.z, candidates.z.dtype
        v = np.full(M, 1 / M) if estimation_weights is None else estimation_weights
        self._v = v.astype(kind)
        self._weighted = np.empty((N, M), kind)  # c_0 tr(S_n T_m)
        self._sums = np.empty(N, kind)  # sum_m v c^2 tr, now
        factors = trace_factors(candidates.q, points.q, score)
        self._phi = np.empty((N, M), kind) if factors is None else factors[0].astype(kind)
        self._psi = None if factors is None else factors[1].astype(kind)
        map_blocks(lambda s: self._begin(s, points.q, score), slices(N, max(1, 2**16 // M)))
        self._d = curvature(candidates.q)
        self._own = (candidates.z * candidates.z).sum(1)  # c(n,n)
        self._us, self._rs = np.empty((0, N), kind), np.empty((0, M), kind)
        self._columns = np.empty((0, N), kind)

    def _begin(self, block: slice, q: Float[Array, "M K"], score: str) -> None:
        traces = trace_terms(self._candidates.q[block], q, score)
        if self._psi is None:
            self._phi[block] = traces
        c = self._candidates.z[block] @ self._points.T
        self._weighted[block] = c * traces
        self._sums[block] = (c * self._weighted[block]) @ self._v

    @property
    def scores(self) -> Float[Array, " N"]:
        """The mean gain of every candidate after the picks so far."""
        return np.maximum(self._sums / (1 + self._own * self._d), 0.0)

    def pick(self, index: int) -> None:
        """Update the gains as if item `index` were labelled."""
        z = self._candidates.z
        r, column = self._points @ z[index], z @ z[index]  # c(index, m), c(n, index)
        if len(self._us):
            earlier = self._us[:, index]
            r, column = r - earlier @ self._rs, column - earlier @ self._columns
        u = (column * (self._d[index] / (1 + self._own[index] * self._d[index]))).astype(z.dtype)
        self._own -= u * column
        weights = self._v * r
        changed = self._traced(weights * np.vstack([self._rs, r]))  # sum_m v r_i r tr for every pick i
        cross = self._product(weights)
        if len(self._us):
            cross -= np.einsum("in,ni->n", self._us, changed[:, :-1])
        self._sums += u * (u * changed[:, -1] - 2 * cross)
        self._us, self._rs, self._columns = (
            np.vstack(pair) for pair in ([self._us, u], [self._rs, r], [self._columns, column])
        )

    def _product(self, weights: Float[Array, " M"]) -> Float[Array, " N"]:
        parts = slices(len(self._weighted), 2_048)
        return np.concatenate(map_blocks(lambda block: self._weighted[block] @ weights, parts))

    def _traced(self, weights: Float[Array, "i M"]) -> Float[Array, "N i"]:
        """sum_m weights[i,m] tr(S_n T_m)."""
        return self._phi @ (weights.T if self._psi is None else self._psi.T @ weights.T)


def greedy_batch(
    candidates: LinearItems,
    points: LinearItems,
    n: int,
    score: str = "log",
    estimation_weights: Float[Array, " M"] | None = None,
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """Choose a joint batch greedily.

    Parameters
    ----------
    candidates : LinearItems
        The N candidates.
    points : LinearItems
        The M estimation points.
    n : int
        Size of the batch.
    score : {'log', 'brier'}
        The score whose gain is computed.
    estimation_weights : array of float (M,), optional
        Weights of the points. The default is uniform.

    Returns
    -------
    picks : array of int (n,)
        Positions of the batch.
    gains : array of float (n,)
        The gain of each pick after those before it.

    Notes
    -----
    Two arrays of N x M are needed. If they exceed the memory limit, only the candidates with the largest gains of their
    own take part, as many as fit.
    """
    rows = _rows_that_fit(candidates, points, n, score, estimation_weights)
    greedy = GreedyLaplace(candidates[rows], points, score, estimation_weights)
    picks: list[int] = []
    values: list[float] = []
    for _ in range(n):
        scores = greedy.scores.copy()
        scores[picks] = -np.inf
        best = ranking.first_largest(scores, ranking.TIE_SINGLE)
        picks.append(best)
        values.append(float(scores[best]))
        if len(picks) < n:
            greedy.pick(best)
    return rows[picks], np.array(values)


def _rows_that_fit(
    candidates: LinearItems, points: LinearItems, n: int, score: str, estimation_weights: Float[Array, " M"] | None
) -> Int[Array, " k"]:
    """The candidates with the largest gains on their own, as many as fit the memory limit."""
    N, M = len(candidates.z), len(points.z)
    v = np.full(M, 1 / M) if estimation_weights is None else estimation_weights
    room = max(n, current_limits().memory // (3 * M * candidates.z.dtype.itemsize))
    if room >= N:
        return np.arange(N)
    blocks = slices(N, max(1, 2**16 // M))
    own_gains = np.concatenate(map_blocks(lambda block: laplace_gain(candidates[block], points, score) @ v, blocks))
    return ranking.first_top(own_gains, room)
