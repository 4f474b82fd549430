"""Broadcast forms of CoreMSE, CoreLog and WMOCU, as baselines of benchmarks. The first two materialise
N x K x M x E x K numbers, the last N x K x M x K.

E members, N candidates, M estimation points, K classes. With prior weights over members, as in the authors' code: the
distance of every member's prediction at x' to the updated one, which is the gain plus a constant for each x'.
"""

import numpy as np
from jaxtyping import Float

from bemps.types import Array


def _updated(probs: Float[Array, "E N K"], estimation: Float[Array, "E M K"]) -> Float[Array, "N K M 1 K"]:
    """p(y' | L, (x_n, y), x'_m)."""
    posterior = (probs / probs.sum(0)).transpose(1, 2, 0)  # (N, K, E)
    after = np.tensordot(posterior, estimation, axes=([2], [0]))  # (N, K, M, K)
    return after[:, :, :, None, :]


def core_mse(probs: Float[Array, "E N K"], estimation: Float[Array, "E M K"]) -> Float[Array, "N M"]:
    """Squared distances to the updated prediction, summed over members and classes."""
    members = estimation.transpose(1, 0, 2)  # (M, E, K)
    distance = (members[None, None] - _updated(probs, estimation)) ** 2  # (N, K, M, E, K)
    return np.einsum("nk,nkm->nm", probs.mean(0).astype(probs.dtype), distance.sum((-1, -2)))


def core_log(probs: Float[Array, "E N K"], estimation: Float[Array, "E M K"]) -> Float[Array, "N M"]:
    """Logarithmic distances to the updated prediction, summed over members and classes."""
    members = estimation.transpose(1, 0, 2)
    distance = members[None, None] * np.log(members[None, None] / _updated(probs, estimation))
    return np.einsum("nk,nkm->nm", probs.mean(0).astype(probs.dtype), distance.sum((-1, -2)))


def wmocu(probs: Float[Array, "E N K"], estimation: Float[Array, "E M K"], c: float = 1.0) -> Float[Array, "N M"]:
    """(1 - cK) K after the label, K = E_theta max p - max q, which the gain takes off its value before. c = 0: MOCU."""
    posterior = (probs / probs.sum(0)).transpose(1, 2, 0)  # (N, K, E)
    best = np.tensordot(posterior, estimation.max(2), axes=([2], [0]))  # (N, K, M)
    regret = best - _updated(probs, estimation)[:, :, :, 0].max(-1)
    return np.einsum("nk,nkm->nm", probs.mean(0).astype(probs.dtype), (1 - c * regret) * regret)
