"""The area under a learning curve, as the curve's mean height."""

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array


def area_under_curve(labels: Int[Array, " R"], values: Float[Array, "*S R"]) -> Float[Array, "*S"]:
    """Trapezoids over the labels divided by their range: 0.8 for a curve that is 0.8 all along.

    A single round is its own height.
    """
    if len(labels) == 1:
        return np.asarray(values[..., 0])
    return np.asarray(np.trapezoid(values, labels, axis=-1) / (labels[-1] - labels[0]))
