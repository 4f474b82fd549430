"""The two quantities in every gain, and the mutual information that follows from them.

E members, N items, K classes; p (E,N,K), w (E,).

    q[n,k]   = sum_e w_e p[e,n,k]                 the prediction of the ensemble
    a[e,n,k] = p[e,n,k] / q[n,k] - 1              how far a member is from it (0 where q is 0)

After label y at x_n the weights are w_e (1 + a[e,n,y]); sum_e w_e a[e,n,y] = 0.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bemps.limits import current_limits, map_blocks, slices
from bemps.types import Array


def mean_prediction(probs: Float[Array, "E N K"], weights: Float[Array, " E"]) -> Float[Array, "N K"]:
    """q = sum_e w_e p_e, in float64."""
    E, N, K = probs.shape
    return (weights @ probs.reshape(E, N * K).astype(np.float64, copy=False)).reshape(N, K)


def ratio_to_mean(probs: Float[Array, "E N K"], mean: Float[Array, "N K"]) -> Float[Array, "E N K"]:
    """a = (p - q) / q, 0 where q is 0; the difference first, so that it stays exact when members hardly differ."""
    difference = probs - mean
    return np.divide(difference, mean, out=np.zeros_like(difference), where=mean > 0)


def phi(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """(1 + t) log(1 + t) - t for t >= -1, to full relative accuracy: its series near 0, where the terms cancel."""
    small = np.abs(t) < 2.0**-7
    safe = np.maximum(np.where(small, 1.0, t), -1.0)
    logarithm = np.log1p(safe, out=np.zeros_like(safe), where=safe > -1)
    return np.where(small, phi_series(t), (1.0 + safe) * logarithm - safe)


def phi_series(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """t^2 (1/2 - t/6 + t^2/12 - t^3/20 + t^4/30), within 1e-12 of phi, relatively, for |t| < 2^-7."""
    return t * t * (0.5 + t * (-1 / 6 + t * (1 / 12 + t * (-1 / 20 + t / 30))))


def map_items(
    function: Callable[[Float[Array, "E n K"]], Float[Array, " n"]], probs: Float[Array, "E N K"]
) -> Float[Array, " N"]:
    """Apply a function to the predictions of each item, on blocks of items: bounded memory, all threads."""
    E, N, K = probs.shape
    bounds = current_limits()
    step = max(1, min(bounds.memory // bounds.threads, 2**24) // (64 * E * K))
    return np.concatenate(map_blocks(lambda block: function(probs[:, block]), slices(N, step)))


def mutual_information(probs: Float[Array, "E N K"], weights: Float[Array, " E"]) -> Float[Array, " N"]:
    """I(y; theta | x_n) = H(q) - sum_e w_e H(p_e) = sum_{e,k} w_e q phi(a): every term >= 0 (BALD)."""

    def information(p: Float[Array, "E n K"]) -> Float[Array, " n"]:
        mean = mean_prediction(p, weights)
        return np.einsum("e,nk,enk->n", weights, mean, phi(ratio_to_mean(p, mean)))

    return map_items(information, probs)
