r"""Partial batch label sampling for EPIG (ParBaLS, arXiv 2510.09877) on the Laplace posterior of a linear head.

N candidates, M estimation points, K classes, R draws of labels, B picks.

The picks so far get labels drawn from the model's predictions, the posterior is updated with them, and the next pick
is the candidate of largest EPIG on average over R such draws:

    next = argmax_n (1/R) sum_r EPIG(n | y_r),     y_r ~ p(labels of the picks so far)

The model is Bayesian logistic regression on frozen vectors, as in the paper. The paper samples its posterior again for
each draw and pick by Monte Carlo; here the posterior of the logits f is Gaussian, with covariance c(x,x') times the
identity over classes (`gain.closed_form_gain`), and a drawn label y at a pick x is one step of Newton:

    f(x')     becomes  f(x') + c(x',x) (onehot(y) - q(x)) / (1 + c(x,x) d),        d = (1 - |q(x)|^2) / (K - 1)
    c(x',x'') becomes  c(x',x'') - c(x',x) c(x,x'') d / (1 + c(x,x) d),            q = softmax(f)

    EPIG(n) = mean_m c(n,m)^2 tr(S_n S_m) / 2 / (1 + c(n,n) d_n),                  S = diag(q) - q q^T

So q, c and d are those of the draw. In `corelog-laplace` q is fixed: labels change its covariances and never its
predictions.

Where else this departs from the paper: a label is drawn when its item is picked, from q given the labels drawn before;
the authors' code takes the most probable label under one sampled model, drawn once for the batch. q is that of the
mean logits, without their variance. Candidates are the max(1,000, 20 B) of largest EPIG
by themselves (option `candidates`), fewer where R arrays of N x (N + M) exceed the memory limit. Equal values: the
first.
"""

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps._utils.numerics import curvature, softmax
from bemps.acquisition import batch_rules
from bemps.acquisition.closed_form import linear_items
from bemps.acquisition.context import ESTIMATION_SIZE, Context
from bemps.gain import closed_form_gain, ranking
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
    """The greedy batch, and the mean EPIG of each pick over the draws.

    Parameters
    ----------
    context : Context
        The pool, the members' predictions and the features of the model.
    draws : int
        Draws of labels, R.
    candidates : int, optional
        How many candidates of largest EPIG take part. The default is max(1,000, 20 B).
    l2 : float
        Precision of the prior, above 0.
    temperature : float
        Scale of the posterior covariance, above 0.
    estimation_size : int
        Size of a sample of the pool, if the context has no estimation pool.

    Returns
    -------
    Selection
        The batch.
    """
    number = checks.integer(draws, "draws", 1)
    items, points = linear_items(context, l2, temperature, estimation_size)
    size = max(1_000, 20 * context.n) if candidates is None else checks.integer(candidates, "candidates", 1)
    rows = batch_rules.top(
        _first_scores(items, points), _candidate_count(size, context, number, len(points.z)), context.rng
    )
    states = [LabelDraw(items[rows], points) for _ in range(number)]
    free = np.ones(len(rows), bool)
    picks, values = np.empty(context.n, np.intp), np.empty(context.n)
    for i in range(context.n):
        scores = np.mean(map_blocks(LabelDraw.scores, states), axis=0)
        best = ranking.first_largest(np.where(free, scores, -np.inf), ranking.TIE_SINGLE)
        picks[i], values[i], free[best] = best, scores[best], False
        for state, uniform in zip(states, context.rng.random(number), strict=True):
            state.label(best, uniform)
    return Selection(rows[picks], values)


class LabelDraw:
    """The posterior after one draw of labels for the picks, at the candidates and at the estimation points."""

    def __init__(self, candidates: closed_form_gain.LinearItems, points: closed_form_gain.LinearItems) -> None:
        self._size = len(candidates.z)
        self._covariance = candidates.z @ np.concatenate([candidates.z, points.z]).T  # (N, N + M)
        self._q = np.concatenate([candidates.q, points.q])
        self._logits = np.log(np.maximum(self._q, np.finfo(np.float64).tiny))

    def scores(self) -> Float[Array, " N"]:
        """EPIG of every candidate."""
        q, q_points = self._q[: self._size], self._q[self._size :]
        own = 1 + self._covariance.diagonal() * curvature(q)
        return _mean_traces(self._covariance[:, self._size :], q, q_points) / own

    def label(self, index: int, uniform: float) -> None:
        """Update the posterior with a label of candidate `index`, drawn by a uniform number."""
        q = self._q[index]
        label = min(int(np.searchsorted(np.cumsum(q), uniform * q.sum(), side="right")), len(q) - 1)
        d = float(curvature(q[None])[0])
        row = self._covariance[index].copy()
        step = row / (1 + row[index] * d)
        self._logits += np.outer(step, np.eye(len(q))[label] - q)
        self._covariance -= np.outer(row[: self._size], (d * step).astype(row.dtype))
        self._q = softmax(self._logits)


def _mean_traces(c: Float[Array, "N M"], q: Float[Array, "N K"], q_points: Float[Array, "M K"]) -> Float[Array, " N"]:
    """mean_m c^2 tr(S_n S_m) / 2."""
    squared = c * c
    factors = closed_form_gain.trace_factors(q, q_points, "log")
    if factors is None:
        return (squared * closed_form_gain.trace_terms(q, q_points, "log")).mean(1)
    phi, psi = factors
    return np.maximum((phi * (squared @ psi.astype(c.dtype))).sum(1), 0.0) / len(q_points)


def _first_scores(candidates: closed_form_gain.LinearItems, points: closed_form_gain.LinearItems) -> Float[Array, " N"]:
    """The EPIG of every candidate before any label is drawn, in blocks of candidates."""

    def part(block: slice) -> Float[Array, " n"]:
        own = 1 + (candidates.z[block] ** 2).sum(1) * curvature(candidates.q[block])
        return _mean_traces(candidates.z[block] @ points.z.T, candidates.q[block], points.q) / own

    return np.concatenate(map_blocks(part, slices(len(candidates.z), 2**20 // len(points.z))))


def _candidate_count(size: int, context: Context, draws: int, points: int) -> int:
    """How many candidates take part: at most `size`, as many as fit the memory limit, no fewer than the batch."""
    entries = current_limits().memory // (6 * draws)  # float32, and half of it again while working
    fit = int((np.sqrt(points**2 + 4 * entries) - points) / 2)  # N (N + M) = entries
    return min(context.size, max(context.n, min(size, fit)))
