r"""Expected gain for scores whose gain does not factorise: the N x M matrix, computed in blocks of rows.

E members, N candidates, M estimation points, K classes, D statistics at each estimation point.

    gain[n,m] = sum_y q[n,y] G(s(m | y at n)) - G(s(m)),     s(m | y at n) = sum_e w_e (1 + a[e,n,y]) s[e,m]

where s[e,m] are the class probabilities of member e at x'_m, or any statistics that average over members.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.gain.member_posterior import mean_prediction, ratio_to_mean
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array


@runtime_checkable
class Kernel(Protocol):
    """A function that computes rows of the gain matrix for some candidates."""

    @property
    def N(self) -> int:
        """The number of candidates."""

    @property
    def M(self) -> int:
        """The number of estimation points."""

    @property
    def block_rows(self) -> int:
        """The number of rows that one block should have."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The type of the gains."""

    def __call__(self, candidates: Int[Array, " n"]) -> Float[Array, "n M"]: ...


class BlockedGain:
    """The expected gain of every candidate, from a kernel that computes rows of the matrix (`bemps.expected_gain`)."""

    def __init__(self, kernel: Kernel, estimation_weights: Float[Array, " M"]) -> None:
        self._kernel, self._estimation_weights = kernel, estimation_weights

    @property
    def scores(self) -> Float[Array, " N"]:
        """DeltaQ(x|L): the mean over the estimation pool."""
        return self._moments[0]

    @property
    def standard_error(self) -> Float[Array, " N"]:
        """Standard error of `scores` if the estimation points are a sample of p(x'); inf for a single point."""
        return self._moments[1]

    def matrix(self) -> Float[Array, "N M"]:
        """DeltaQ(x|L,x') for every candidate and estimation point.

        Returns
        -------
        array of float (N, M)
            The gains, in the dtype of the probabilities.
        """
        return self._matrix

    @property
    def vectors(self) -> Float[Array, "N D"]:
        """Vectors with the pairwise distances of the rows of `matrix()`: the rows themselves."""
        return self._matrix

    def rows(self, indices: Int[Array, " n"]) -> Float[Array, "n D"]:
        """The vectors of some candidates.

        Parameters
        ----------
        indices : array of int (n,)
            Positions of the candidates.

        Returns
        -------
        array of float (n, D)
            Rows of `vectors`.
        """
        if "_matrix" in self.__dict__:
            return self._matrix[indices]
        return self._computed(indices)

    @cached_property
    def _matrix(self) -> Float[Array, "N M"]:
        return self._computed(np.arange(self._kernel.N))

    def _computed(self, candidates: Int[Array, " n"]) -> Float[Array, "n M"]:
        out = np.empty((len(candidates), self._kernel.M), self._kernel.dtype)

        def fill(block: slice) -> None:
            out[block] = self._kernel(candidates[block])

        map_blocks(fill, slices(len(candidates), self._kernel.block_rows))
        return out

    @cached_property
    def _moments(self) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Scores and standard errors in one pass. The matrix is kept only if it fits the memory limit."""
        N, M = self._kernel.N, self._kernel.M
        keep = N * M * self._kernel.dtype.itemsize <= current_limits().memory or "_matrix" in self.__dict__
        rows = self._matrix.__getitem__ if keep else self._row_block
        parts = map_blocks(lambda s: self._moments_of(rows(s)), slices(N, self._kernel.block_rows))
        scores, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, errors

    def _row_block(self, block: slice) -> Float[Array, "n M"]:
        return self._kernel(np.arange(block.start, block.stop)).astype(self._kernel.dtype, copy=False)

    def _moments_of(self, rows: Float[Array, "n M"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        v = self._estimation_weights
        M = np.count_nonzero(v)
        exact = rows.astype(np.float64, copy=False)
        mean = exact @ v
        if M == 1:
            return mean, np.full(len(rows), np.inf)
        squared = exact - mean[:, None]
        np.square(squared, out=squared)  # in place: a block may be as large as the limit allows
        spread = squared @ (v * v)
        return mean, np.sqrt(spread * M / (M - 1))


@dataclass(eq=False)
class GeneralKernel:
    """The gain of any G by its definition: G of every updated prediction, in float64, within the memory limit.

    Attributes
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    statistics : array of float (E, M, D)
        Statistics of the members at the estimation points.
    G : callable
        The convex function, from (..., D) to (...).
    weights : array of float (E,)
        Weights of the members.
    """

    probs: Float[Array, "E N K"]
    statistics: Float[Array, "E M D"]
    G: Callable[[Float[Array, "*batch D"]], Float[Array, "*batch"]]
    weights: Float[Array, " E"]

    def __post_init__(self) -> None:
        # Points in the last axis: a G that sums or compares over D then runs along them, not over a few numbers.
        self._flat = self.statistics.astype(np.float64).transpose(0, 2, 1).reshape(len(self.weights), -1)  # (E, D*M)
        self._before = self._G(self.weights @ self._flat)

    @property
    def N(self) -> int:
        """The number of candidates."""
        return self.probs.shape[1]

    @property
    def M(self) -> int:
        """The number of estimation points."""
        return self.statistics.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The type of the gains."""
        return self.probs.dtype

    @property
    def block_rows(self) -> int:
        """The number of rows that one block should have."""
        K, D = self.probs.shape[2], self.statistics.shape[2]
        bounds = current_limits()
        needed = 8 * K * self.M * D * 4  # the updated predictions, and the intermediate arrays of a G
        return int(max(1, min(bounds.memory // bounds.threads // 4, 2**23) // needed))

    def __call__(self, candidates: Int[Array, " n"]) -> Float[Array, "n M"]:
        probs = self.probs[:, candidates].astype(np.float64)
        mean = mean_prediction(probs, self.weights)
        updated = (1 + ratio_to_mean(probs, mean)) * self.weights[:, None, None]  # (E, n, K)
        values = self._G(updated.transpose(1, 2, 0) @ self._flat) - self._before
        return np.einsum("nk,nkm->nm", mean, values)

    def _G(self, flat: Float[Array, "*batch DM"]) -> Float[Array, "*batch M"]:
        M, D = self.statistics.shape[1:]
        return self.G(flat.reshape(*flat.shape[:-1], D, M).swapaxes(-1, -2))
