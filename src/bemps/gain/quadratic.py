r"""Expected gain for quadratic scores, G(p) = |F p|^2: it factorises over pairs of members.

E members, N candidates, M estimation points, K classes, P = E (E-1) / 2 pairs, w (E,) weights.

    gain[n,m] = sum_{e<f} b_ef[n] d_ef[m]
    b_ef[n]   = -w_e w_f sum_y q[n,y] a[e,n,y] a[f,n,y]          d_ef[m] = |F (p[e,m] - p[f,m])|^2

So the scores need only means over m, and the N x M matrix has rank at most P. Single b may be negative, gains are
not. With as many pairs as points (P >= M) that saves nothing, and rows are computed as they are defined:

    gain[n,m] = sum_y q[n,y] |sum_e w_e a[e,n,y] F (p[e,m] - q[m])|^2

For the mean over m there is a form that needs neither, and cannot turn negative:

    mean_m gain[n,m] = sum_y |R^T (w o (p[:,n,y] - q[n,y]))|^2 / q[n,y],   R R^T = Gamma,
    Gamma_ef = mean_m <F (p[e,m] - q[m]), F (p[f,m] - q[m])>

All in float64: it is cheap, and float32 members that hardly differ lose nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from bemps.gain.general import BlockedGain
from bemps.gain.member_posterior import mean_prediction, ratio_to_mean
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array

Root = Float[Array, "R K"]


def quadratic_gain(
    probs: Float[Array, "E N K"],
    estimation: Float[Array, "E M K"],
    root: Root,
    weights: Float[Array, " E"],
    estimation_weights: Float[Array, " M"],
) -> "QuadraticGain | ManyMembersGain":
    """The gain of a quadratic score: factorised, or by rows if there are more pairs of members than points.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    root : array of float (R, K)
        The matrix F of the score.
    weights : array of float (E,)
        Weights of the members.
    estimation_weights : array of float (M,)
        Weights of the estimation points.

    Returns
    -------
    QuadraticGain or ManyMembersGain
        The gain.
    """
    E, M = estimation.shape[:2]
    kind = QuadraticGain if E * (E - 1) // 2 < M else ManyMembersGain
    return kind(probs, estimation, root, weights, estimation_weights)


class QuadraticGain:
    """Expected gain of every candidate for a quadratic score, factorised over pairs of members.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    root : array of float (R, K)
        The matrix F of the score.
    weights : array of float (E,)
        Weights of the members.
    estimation_weights : array of float (M,)
        Weights of the estimation points.
    """

    def __init__(
        self,
        probs: Float[Array, "E N K"],
        estimation: Float[Array, "E M K"],
        root: Root,
        weights: Float[Array, " E"],
        estimation_weights: Float[Array, " M"],
    ) -> None:
        self._probs, self._estimation, self._root = probs, estimation, root
        self._weights, self._estimation_weights = weights, estimation_weights
        self._pairs = np.triu_indices(len(probs), 1)

    @cached_property
    def scores(self) -> Float[Array, " N"]:
        """DeltaQ(x|L): the mean over the estimation pool."""
        form = member_form(self._estimation, self._root, self._weights, self._estimation_weights)
        return quadratic_scores(self._probs, form, self._weights)

    @cached_property
    def standard_error(self) -> Float[Array, " N"]:
        """Standard error of `scores` when the estimation points are a sample of p(x'); inf for a single point."""
        M = np.count_nonzero(self._estimation_weights)
        if M == 1:
            return np.full(self._probs.shape[1], np.inf)
        centre = self._pair_sum(self._estimation_weights)
        scale = self._estimation_weights * np.sqrt(M / (M - 1))
        factor = self._triangle(lambda d, block: (d - centre) * scale[block, None])
        return self._blocks(lambda b: np.linalg.norm(b @ factor.T, axis=1))

    def matrix(self) -> Float[Array, "N M"]:
        """DeltaQ(x|L,x') for every candidate and estimation point.

        Returns
        -------
        array of float (N, M)
            The gains, in the dtype of the probabilities.
        """
        d = self._distances(slice(None))
        return self._blocks(lambda b: np.maximum(b @ d.T, 0.0), self._probs.dtype)

    @cached_property
    def vectors(self) -> Float[Array, "N D"]:
        """Vectors with the pairwise distances of the rows of `matrix()`, in P dimensions."""
        return self.rows(np.arange(self._probs.shape[1]))

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
        return self._blocks(lambda b: b @ self.factor.T, candidates=indices)

    @cached_property
    def factor(self) -> Float[Array, "D P"]:
        """R of d = Q R: |R v| = |d v| for every v, so b R^T has the distances of b d^T."""
        return self._triangle(lambda d, block: d)

    def _triangle(self, columns: Callable[[Float[Array, "m P"], slice], Float[Array, "m P"]]) -> Float[Array, "D P"]:
        """R of a tall matrix given in row blocks, by QR of one block under the last R: bounded memory."""
        M, K = self._estimation.shape[1:]
        P = len(self._pairs[0])
        triangle = np.zeros((0, P))
        for block in slices(M, max(P, current_limits().memory // (8 * P * (K + 4) + 1))):
            rows = columns(self._distances(block), block)
            triangle = np.linalg.qr(np.vstack([triangle, rows])).R
        return triangle

    def _distances(self, block: slice) -> Float[Array, "m P"]:
        """d_ef[m] = |F (p_e - p_f)|^2."""
        image = self._estimation[:, block].astype(np.float64) @ self._root.T  # (E, m, R)
        e, f = self._pairs
        d = np.empty((len(e), image.shape[1]))
        for pair, (i, j) in enumerate(zip(e, f, strict=True)):
            difference = image[i] - image[j]
            np.einsum("mk,mk->m", difference, difference, out=d[pair])
        return d.T

    def _pair_sum(self, over: Float[Array, " M"]) -> Float[Array, " P"]:
        """sum_m over_m d_ef[m]."""
        form = member_form(self._estimation, self._root, self._weights, over)
        diagonal = np.diag(form)
        e, f = self._pairs
        return diagonal[e] + diagonal[f] - 2 * form[e, f]

    def _responses(self, candidates: Int[Array, " n"] | slice) -> Float[Array, "n P"]:
        """b_ef[n] = -w_e w_f sum_y q a_e a_f."""
        scaled = _scaled_ratios(self._probs[:, candidates], self._weights)
        e, f = self._pairs
        b = np.empty((len(e), scaled.shape[1]))
        for pair, (i, j) in enumerate(zip(e, f, strict=True)):
            np.einsum("nk,nk->n", scaled[i], -scaled[j], out=b[pair])
        return b.T

    def _blocks(
        self,
        of_responses: Callable[[Float[Array, "n P"]], Array],
        dtype: np.dtype[np.floating] | None = None,
        candidates: Int[Array, " N"] | None = None,
    ) -> Array:
        """A function of b for all candidates (or some), block by block."""
        E, N, K = self._probs.shape
        indices = np.arange(N) if candidates is None else candidates
        step = current_limits().memory // (8 * current_limits().threads * (len(self._pairs[0]) + 4 * E * K) * 4 + 1)
        blocks = slices(len(indices), min(step, 65_536))
        parts = map_blocks(
            lambda s: of_responses(self._responses(indices[s])).astype(dtype or np.float64, copy=False), blocks
        )
        return np.concatenate(parts)


class ManyMembersGain(BlockedGain):
    """Expected gain for a quadratic score with more pairs of members than points. Scores need no rows.

    Parameters
    ----------
    probs, estimation, root, weights, estimation_weights
        As in `QuadraticGain`.
    """

    def __init__(
        self,
        probs: Float[Array, "E N K"],
        estimation: Float[Array, "E M K"],
        root: Root,
        weights: Float[Array, " E"],
        estimation_weights: Float[Array, " M"],
    ) -> None:
        super().__init__(DirectKernel(probs, estimation, root, weights), estimation_weights)
        self._scores_from = (probs, estimation, root, weights, estimation_weights)

    @cached_property
    def scores(self) -> Float[Array, " N"]:
        """DeltaQ(x|L): the mean over the estimation pool."""
        probs, estimation, root, weights, estimation_weights = self._scores_from
        return quadratic_scores(probs, member_form(estimation, root, weights, estimation_weights), weights)


@dataclass(eq=False)
class DirectKernel:
    """Rows of the gain matrix of a quadratic score by their definition.

    Attributes
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    root : array of float (R, K)
        The matrix F of the score.
    weights : array of float (E,)
        Weights of the members.
    """

    probs: Float[Array, "E N K"]
    estimation: Float[Array, "E M K"]
    root: Root
    weights: Float[Array, " E"]

    def __post_init__(self) -> None:
        points = self.estimation.astype(np.float64)
        points -= mean_prediction(points, self.weights)
        self._deviations = (points @ self.root.T).reshape(len(points), -1)  # (E, M*R)

    @property
    def N(self) -> int:
        """The number of candidates."""
        return self.probs.shape[1]

    @property
    def M(self) -> int:
        """The number of estimation points."""
        return self.estimation.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The type of the gains."""
        return self.probs.dtype

    @property
    def block_rows(self) -> int:
        """The number of rows that one block should have."""
        bounds = current_limits()
        per_row = 16 * self.probs.shape[2] * (self._deviations.shape[1] + 4 * len(self.probs))
        return max(1, min(bounds.memory // bounds.threads // 2, 2**23) // per_row)

    def __call__(self, candidates: Int[Array, " n"]) -> Float[Array, "n M"]:
        scaled = _scaled_ratios(self.probs[:, candidates], self.weights)
        E, n, K = scaled.shape
        squared = scaled.reshape(E, n * K).T @ self._deviations
        squared *= squared
        return squared.reshape(n, K, self.M, -1).sum((1, 3))


def _scaled_ratios(probs: Float[Array, "E n K"], weights: Float[Array, " E"]) -> Float[Array, "E n K"]:
    """w_e a[e,n,y] sqrt(q[n,y])."""
    exact = probs.astype(np.float64)
    mean = mean_prediction(exact, weights)
    return ratio_to_mean(exact, mean) * np.sqrt(mean) * weights[:, None, None]


def member_form(
    estimation: Float[Array, "E M K"],
    root: Root,
    weights: Float[Array, " E"],
    estimation_weights: Float[Array, " M"],
) -> Float[Array, "E E"]:
    """Gamma_ef = sum_m v_m <F (p_e - q), F (p_f - q)>: positive semi-definite, and Gamma w = 0.

    Parameters
    ----------
    estimation : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    root : array of float (R, K)
        The matrix F of the score.
    weights : array of float (E,)
        Weights of the members.
    estimation_weights : array of float (M,)
        Weights of the estimation points.

    Returns
    -------
    array of float (E, E)
        Gamma.
    """
    E, M, K = estimation.shape
    scale = np.sqrt(estimation_weights)[:, None]
    is_identity = root.shape[0] == K and bool((root == np.eye(K)).all())

    def part(block: slice) -> Float[Array, "E E"]:
        p = estimation[:, block].astype(np.float64)
        p -= mean_prediction(p, weights)
        image = ((p if is_identity else p @ root.T) * scale[block]).reshape(E, -1)
        return image @ image.T

    return np.sum(map_blocks(part, slices(M, _rows_in_memory(E, K))), axis=0)


def quadratic_scores(
    probs: Float[Array, "E N K"], form: Float[Array, "E E"], weights: Float[Array, " E"]
) -> Float[Array, " N"]:
    """The expected gain of each candidate: sum_y |R^T (w o (p_y - q_y))|^2 / q_y with R R^T = form.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    form : array of float (E, E)
        Gamma of the estimation pool (`member_form`).
    weights : array of float (E,)
        Weights of the members.

    Returns
    -------
    array of float (N,)
        A gain for each candidate.
    """
    E, N, K = probs.shape
    half = square_root(form) * weights  # (R, E)

    def part(block: slice) -> Float[Array, " n"]:
        p = probs[:, block].astype(np.float64)
        mean = mean_prediction(p, weights)
        p -= mean
        image = half @ p.reshape(E, -1)
        squared = np.einsum("rn,rn->n", image, image).reshape(mean.shape)
        return np.divide(squared, mean, out=np.zeros_like(mean), where=mean > 0) @ np.ones(K)

    return np.concatenate(map_blocks(part, slices(N, _rows_in_memory(E, K))))


def square_root(form: Float[Array, "E E"]) -> Float[Array, "R E"]:
    """R^T with R R^T = form, for a positive semi-definite form; directions lost in rounding are dropped."""
    values, vectors = np.linalg.eigh(form)
    keep = values > 1e-15 * max(float(values[-1]), 0.0)
    return np.sqrt(values[keep])[:, None] * vectors[:, keep].T


def _rows_in_memory(E: int, K: int) -> int:
    """How many items a block may hold: within the limit, and small enough to stay in cache."""
    bounds = current_limits()
    return int(min(bounds.memory // (32 * E * K * bounds.threads) + 1, max(2**17 // (E * K), 1)))
