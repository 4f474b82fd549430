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

from bemps.errors import InputError
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Linear:
    """Items as the linear head sees them: whitened features z (so that c(x,x') = z . z') and MAP probabilities q."""

    z: Float[Array, "N H"]
    q: Float[Array, "N K"]

    def __getitem__(self, rows: Int[Array, " n"] | slice) -> "Linear":
        return Linear(self.z[rows], self.q[rows])


def curvature(q: Float[Array, "N K"]) -> Float[Array, " N"]:
    """d = (1 - |q|^2) / (K - 1): the scalar that stands for S in the precision of the logits."""
    return (1 - (q * q).sum(1)) / max(q.shape[1] - 1, 1)


def whitener(
    labelled: Float[Array, "L H"], d: Float[Array, " L"], *, l2: float, temperature: float = 1.0
) -> Float[Array, "H H"]:
    """W with A = W W^T, so that z = h W gives c(x,x') = z . z'."""
    from scipy.linalg import solve_triangular

    H = labelled.shape[1]
    precision = (labelled * d[:, None]).T @ labelled + l2 * np.eye(H)
    try:
        lower = np.linalg.cholesky(precision / temperature)
    except np.linalg.LinAlgError:  # the prior has drowned in the rounding of large features
        return _whitener_by_directions(labelled * np.sqrt(d)[:, None], l2, temperature)
    return solve_triangular(lower, np.eye(H), lower=True).T


def _whitener_by_directions(rows: Float[Array, "L H"], l2: float, temperature: float) -> Float[Array, "H H"]:
    """The symmetric W of A = temperature (rows^T rows + l2 I)^-1, by singular values: no square is ever formed."""
    _, values, directions = np.linalg.svd(rows, full_matrices=True)
    spread = np.zeros(rows.shape[1])
    spread[: len(values)] = values
    return (directions.T * np.sqrt(temperature) / np.hypot(spread, np.sqrt(l2))) @ directions


def trace_terms(a: Float[Array, "n K"], b: Float[Array, "m K"], score: str) -> Float[Array, "n m"]:
    """tr(S_a T_b), by products over classes only: S = diag(q) - q q^T is never formed."""
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


def laplace_gain(here: Linear, there: Linear, score: str = "log") -> Float[Array, "N M"]:
    """gain[n,m] = c(n,m)^2 tr(S_n T_m) / (1 + c(n,n) d_n)."""
    c = here.z @ there.z.T
    own = 1 + (here.z * here.z).sum(1) * curvature(here.q)
    return c * c * trace_terms(here.q, there.q, score) / own[:, None]


def trace_factors(a: Float[Array, "n K"], b: Float[Array, "m K"], score: str) -> tuple[Array, Array] | None:
    """(phi, psi) with tr(S_a T_b) = phi(a) . psi(b) and phi = [q, q q, vec(q q^T)].

    None where such rows would be longer than those of the traces themselves: K^2 + 2K > m.
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
    r"""A batch picked one by one; `scores` are the mean gains given the picks so far.

    Pick i takes u_i r_i^T off c (u = c(., x) d_x / (1 + c(x,x) d_x), r = c(x, .)), so with weights v of the points

        sum_m v (c - u r)^2 tr  =  sum_m v c^2 tr  -  2 u sum_m v r c tr  +  u^2 sum_m v r^2 tr,
        c tr  =  c_0 tr  -  sum_{i earlier} u_i r_i tr.

    c_0 tr is one N x M array that never changes: a pick costs one product of it with a vector. The traces themselves
    are low-rank (`trace_factors`) or, with many classes, kept.
    """

    def __init__(
        self,
        here: Linear,
        there: Linear,
        score: str = "log",
        estimation_weights: Float[Array, " M"] | None = None,
    ) -> None:
        N, M = len(here.z), len(there.z)
        self._here, self._points, kind = here, there.z, here.z.dtype
        v = np.full(M, 1 / M) if estimation_weights is None else estimation_weights
        self._v = v.astype(kind)
        self._weighted = np.empty((N, M), kind)  # c_0 tr(S_n T_m)
        self._sums = np.empty(N, kind)  # sum_m v c^2 tr, now
        factors = trace_factors(here.q, there.q, score)
        self._phi = np.empty((N, M), kind) if factors is None else factors[0].astype(kind)
        self._psi = None if factors is None else factors[1].astype(kind)
        map_blocks(lambda s: self._begin(s, there.q, score), slices(N, max(1, 2**16 // M)))
        self._d = curvature(here.q)
        self._own = (here.z * here.z).sum(1)  # c(n,n)
        self._us, self._rs = np.empty((0, N), kind), np.empty((0, M), kind)
        self._columns = np.empty((0, N), kind)

    def _begin(self, block: slice, q: Float[Array, "M K"], score: str) -> None:
        traces = trace_terms(self._here.q[block], q, score)
        if self._psi is None:
            self._phi[block] = traces
        c = self._here.z[block] @ self._points.T
        self._weighted[block] = c * traces
        self._sums[block] = (c * self._weighted[block]) @ self._v

    @property
    def scores(self) -> Float[Array, " N"]:
        return np.maximum(self._sums / (1 + self._own * self._d), 0.0)

    def pick(self, index: int) -> None:
        """Suppose that item `index` gets labelled."""
        z = self._here.z
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
    here: Linear, there: Linear, n: int, score: str = "log", estimation_weights: Float[Array, " M"] | None = None
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """The greedy joint batch: positions and the gain of each given the ones before it.

    It takes up to two N x M arrays; where they exceed the memory limit, only the candidates with the largest gains of
    their own that fit stay in.
    """
    kept = _that_fit(here, there, n, score, estimation_weights)
    greedy = GreedyLaplace(here[kept], there, score, estimation_weights)
    picks: list[int] = []
    values: list[float] = []
    for _ in range(n):
        scores = greedy.scores.copy()
        scores[picks] = -np.inf
        best = int(scores.argmax())
        picks.append(best)
        values.append(float(scores[best]))
        if len(picks) < n:
            greedy.pick(best)
    return kept[picks], np.array(values)


def _that_fit(
    here: Linear, there: Linear, n: int, score: str, estimation_weights: Float[Array, " M"] | None
) -> Int[Array, " k"]:
    N, M = len(here.z), len(there.z)
    v = np.full(M, 1 / M) if estimation_weights is None else estimation_weights
    room = max(n, current_limits().memory // (3 * M * here.z.dtype.itemsize))
    if room >= N:
        return np.arange(N)
    blocks = slices(N, max(1, 2**16 // M))
    alone = np.concatenate(map_blocks(lambda block: laplace_gain(here[block], there, score) @ v, blocks))
    return np.sort(np.argpartition(-alone, room)[:room])
