"""The inputs of heads: an affine map of frozen features, fitted on the pool where there is one.

spectral  principal directions, the strong ones scaled up (see `bemps.models.linear.spectral_features`); the default
standard  every coordinate minus its mean, over its standard deviation
Both give inputs of root-mean-square norm 1 on the pool.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bemps.errors import unknown_name
from bemps.models.linear.spectral_features import SpectralMap, spectral_map
from bemps.types import Array


def standard_map(pool: Float[Array, "N D"]) -> SpectralMap:
    """z(x) = (x - mean) / sd / sqrt(D); coordinates that never vary are left out."""
    mean, spread = pool.mean(axis=0, dtype=np.float64), pool.std(axis=0, dtype=np.float64)
    varying = np.flatnonzero(spread > 1e-6 * spread.max(initial=0.0))
    matrix = np.zeros((pool.shape[1], len(varying)))
    matrix[varying, np.arange(len(varying))] = 1 / (spread[varying] * np.sqrt(max(len(varying), 1)))
    return SpectralMap(mean, matrix, bias=0.0)


INPUTS: dict[str, Callable[[Float[Array, "N D"]], SpectralMap]] = {"spectral": spectral_map, "standard": standard_map}


def input_map(name: str, pool: Float[Array, "N D"]) -> SpectralMap:
    """The map of this name, fitted on the vectors of the pool."""
    if name not in INPUTS:
        raise unknown_name("inputs", name, INPUTS, "Or give a SpectralMap.")
    return INPUTS[name](pool)
