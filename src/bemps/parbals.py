r"""Partial batch label sampling for EPIG (ParBaLS, arXiv 2510.09877) on the Laplace posterior of a linear head.

N candidates, M estimation points, K classes, R draws of labels, B picks.

The picks so far get labels drawn from what the model believes, the posterior takes them in, and the next pick is the
one of largest EPIG on average over R such draws:

    next = argmax_n (1/R) sum_r EPIG(n | y_r),     y_r ~ p(labels of the picks so far)

The model is Bayesian logistic regression on frozen vectors, as in the paper. The paper samples its posterior again for
each draw and pick by Monte Carlo; here the posterior of the logits f is Gaussian, with covariance c(x,x') times the
identity over classes (`gain.laplace`), and a drawn label y at a pick x is one step of Newton:

    f(x')     becomes  f(x') + c(x',x) (onehot(y) - q(x)) / (1 + c(x,x) d),        d = (1 - |q(x)|^2) / (K - 1)
    c(x',x'') becomes  c(x',x'') - c(x',x) c(x,x'') d / (1 + c(x,x) d),            q = softmax(f)

    EPIG(n) = mean_m c(n,m)^2 tr(S_n S_m) / 2 / (1 + c(n,n) d_n),                  S = diag(q) - q q^T

So q, c and d are those of the draw. `corelog-laplace` keeps q as it is: labels move its covariances and never its
predictions.

Where else this departs from the paper: a label is drawn when its item is picked, from q given the labels drawn before;
the authors' code takes the most probable label under one sampled model, drawn once for the batch. q is that of the
mean logits, without their variance. Candidates are the max(1,000, 20 B) of largest EPIG
by themselves (option `candidates`), fewer where R arrays of N x (N + M) exceed the memory limit. Equal values: the
first.
"""

import numpy as np
from jaxtyping import Float

from bemps import batch, checks
from bemps.closed_form import linear
from bemps.context import ESTIMATION_SIZE, Context
from bemps.gain import laplace
from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array, Selection


def parbals(
    context: Context,
    *,
    draws: int = 10,
    candidates: int | None = None,
    l2: float = 1.0,
    temperature: float = 1.0,
    estimation_size: int = ESTIMATION_SIZE,
) -> Selection:
    """The greedy batch, and the mean EPIG of each pick over the draws."""
    number = checks.whole(draws, "draws", 1)
    here, there = linear(context, l2, temperature, estimation_size)
    size = max(1_000, 20 * context.n) if candidates is None else checks.whole(candidates, "candidates", 1)
    rows = batch.top(_alone(here, there), _that_fit(size, context, number, len(there.z)), context.rng)
    states = [LabelDraw(here[rows], there) for _ in range(number)]
    free = np.ones(len(rows), bool)
    picks, values = np.empty(context.n, np.intp), np.empty(context.n)
    for i in range(context.n):
        scores = np.mean(map_blocks(LabelDraw.scores, states), axis=0)
        best = int(np.where(free, scores, -np.inf).argmax())
        picks[i], values[i], free[best] = best, scores[best], False
        for state, uniform in zip(states, context.rng.random(number), strict=True):
            state.label(best, uniform)
    return Selection(rows[picks], values)


class LabelDraw:
    """The posterior after one draw of labels for the picks, at the candidates and at the estimation points."""

    def __init__(self, here: laplace.Linear, there: laplace.Linear) -> None:
        self._size = len(here.z)
        self._covariance = here.z @ np.concatenate([here.z, there.z]).T  # (N, N + M)
        self._q = np.concatenate([here.q, there.q])
        self._logits = np.log(np.maximum(self._q, np.finfo(np.float64).tiny))

    def scores(self) -> Float[Array, " N"]:
        """EPIG of every candidate."""
        here, there = self._q[: self._size], self._q[self._size :]
        own = 1 + self._covariance.diagonal() * laplace.curvature(here)
        return _traced(self._covariance[:, self._size :], here, there) / own

    def label(self, index: int, uniform: float) -> None:
        """Give candidate `index` the label that a uniform number draws, and take it in."""
        from scipy.special import softmax

        q = self._q[index]
        label = min(int(np.searchsorted(np.cumsum(q), uniform * q.sum(), side="right")), len(q) - 1)
        d = float(laplace.curvature(q[None])[0])
        row = self._covariance[index].copy()
        step = row / (1 + row[index] * d)
        self._logits += np.outer(step, np.eye(len(q))[label] - q)
        self._covariance -= np.outer(row[: self._size], (d * step).astype(row.dtype))
        self._q = softmax(self._logits, axis=1)


def _traced(c: Float[Array, "N M"], here: Float[Array, "N K"], there: Float[Array, "M K"]) -> Float[Array, " N"]:
    """mean_m c^2 tr(S_n S_m) / 2."""
    squared = c * c
    factors = laplace.trace_factors(here, there, "log")
    if factors is None:
        return (squared * laplace.trace_terms(here, there, "log")).mean(1)
    phi, psi = factors
    return np.maximum((phi * (squared @ psi.astype(c.dtype))).sum(1), 0.0) / len(there)


def _alone(here: laplace.Linear, there: laplace.Linear) -> Float[Array, " N"]:
    """EPIG before any label was drawn, in blocks of candidates."""

    def part(block: slice) -> Float[Array, " n"]:
        own = 1 + (here.z[block] ** 2).sum(1) * laplace.curvature(here.q[block])
        return _traced(here.z[block] @ there.z.T, here.q[block], there.q) / own

    return np.concatenate(map_blocks(part, slices(len(here.z), 2**20 // len(there.z))))


def _that_fit(size: int, context: Context, draws: int, points: int) -> int:
    """At most `size` candidates, so many that the covariances of all draws fit, and no fewer than the batch."""
    entries = current_limits().memory // (6 * draws)  # float32, and half of it again while working
    fit = int((np.sqrt(points**2 + 4 * entries) - points) / 2)  # N (N + M) = entries
    return min(context.size, max(context.n, min(size, fit)))
