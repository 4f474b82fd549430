"""The area under a learning curve, as the curve's mean height."""

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array


def area_under_curve(labels: Int[Array, " R"], values: Float[Array, "*S R"]) -> Float[Array, "*S"]:
    """The area under a learning curve, divided by the range of the labels.

    Parameters
    ----------
    labels : array of int (R,)
        Number of labels in each round.
    values : array of float (..., R)
        A metric in each round.

    Returns
    -------
    array of float (...)
        The mean height of each curve by the trapezoidal rule: 0.8 for a curve that is 0.8 everywhere. The value
        itself for a single round.
    """
    if len(labels) == 1:
        return np.asarray(values[..., 0])
    return np.asarray(np.trapezoid(values, labels, axis=-1) / (labels[-1] - labels[0]))
