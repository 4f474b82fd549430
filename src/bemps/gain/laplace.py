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
    lower = np.linalg.cholesky(precision / temperature)
    return solve_triangular(lower, np.eye(H), lower=True).T


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


class GreedyLaplace:
    """A batch picked one by one; `scores` are the mean gains given the picks so far."""

    def __init__(
        self,
        here: Linear,
        there: Linear,
        score: str = "log",
        estimation_weights: Float[Array, " M"] | None = None,
    ) -> None:
        M = len(there.z)
        self._here = here
        v = np.full(M, 1 / M) if estimation_weights is None else estimation_weights
        self._v = v.astype(here.z.dtype)
        self._c = here.z @ there.z.T  # (N, M)
        self._trace = np.empty_like(self._c)
        map_blocks(lambda s: self._fill_trace(s, there.q, score), slices(len(here.z), max(1, 2**16 // M)))
        self._d = curvature(here.q)
        self._own = (here.z * here.z).sum(1)  # c(n,n)
        self._downdates = np.zeros((0, len(here.z)), here.z.dtype)
        self.scores = self._blocks(None)

    def _fill_trace(self, block: slice, q: Float[Array, "M K"], score: str) -> None:
        self._trace[block] = trace_terms(self._here.q[block], q, score)

    def pick(self, index: int) -> None:
        """Suppose that item `index` gets labelled: A, and with it every c, by one downdate of rank one."""
        z = self._here.z
        column = z @ z[index] - self._downdates[:, index] @ self._downdates  # c(n, index)
        scale = self._d[index] / (1 + self._own[index] * self._d[index])
        self._own -= scale * column * column
        self._downdates = np.vstack([self._downdates, (np.sqrt(scale) * column)[None].astype(z.dtype)])
        self.scores = self._blocks((scale * column).astype(z.dtype), self._c[index].copy())

    def _blocks(self, column: Float[Array, " N"] | None, row: Float[Array, " M"] | None = None) -> Float[Array, " N"]:
        """Downdate c by column x row where given, and average the gains."""
        N, M = self._c.shape
        mean = np.empty(N, self._c.dtype)
        rows = max(1, 2**16 // M)  # c, its square and the traces of so many candidates stay in the cache

        def part(block: slice) -> None:
            scratch = np.empty((rows, M), self._c.dtype)
            for start in range(block.start, block.stop, rows):
                some = slice(start, min(start + rows, block.stop))
                c, spare = self._c[some], scratch[: some.stop - start]
                if column is not None and row is not None:
                    c -= np.multiply(column[some, None], row, out=spare)
                np.multiply(c, c, out=spare)
                spare *= self._trace[some]
                np.matmul(spare, self._v, out=mean[some])

        map_blocks(part, slices(N, max(rows, 2_048)))
        return np.maximum(mean / (1 + self._own * self._d), 0.0)


def greedy_batch(
    here: Linear, there: Linear, n: int, score: str = "log"
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """The greedy joint batch: positions and the gain of each given the ones before it.

    c and the traces take two N x M arrays; where they exceed the memory limit, only the candidates with the largest
    gains of their own that fit stay in.
    """
    kept = _that_fit(here, there, n, score)
    greedy = GreedyLaplace(here[kept], there, score)
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


def _that_fit(here: Linear, there: Linear, n: int, score: str) -> Int[Array, " k"]:
    N, M = len(here.z), len(there.z)
    room = max(n, current_limits().memory // (3 * M * here.z.dtype.itemsize))
    if room >= N:
        return np.arange(N)
    blocks = slices(N, max(1, 2**16 // M))
    alone = np.concatenate(map_blocks(lambda block: laplace_gain(here[block], there, score).mean(1), blocks))
    return np.sort(np.argpartition(-alone, room)[:room])
