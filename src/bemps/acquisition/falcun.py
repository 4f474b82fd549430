r"""FALCUN: uncertain items whose predictions differ (Gilhuber, Beer, Ma and Seidl, ECML PKDD 2024).

N candidates, K classes; q = sum_e w_e p_e. Everything happens among the N x K predictions, no vectors are needed.

    u_n = 1 - (largest - second largest q_n)
    d_n = u_n before the first pick;  after picking j:  d_n = min(d_n, sum_k |q_nk - q_jk|)
    r_n = u_n + (d_n - min d) / (max d - min d),  minimum and maximum over what is not picked yet

The next pick is drawn with chance proportional to r_n^gamma. Early picks are uncertain items. As d falls near them,
items with other predictions become more likely. gamma = 0 is a random choice, a large gamma takes the largest r.

This is the authors' public code with its setting `distance_unc_norm`, which rescales d before the first pick too;
scikit-activeml documents (2 u)^gamma for that pick.

Where all d are equal the second term is zero; where all r are zero the draw is uniform.
"""

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps.acquisition import baselines
from bemps.acquisition.context import Context
from bemps.gain.member_posterior import mean_prediction
from bemps.types import Array, Selection


def falcun(context: Context, *, gamma: float = 10.0) -> Selection:
    """Draw items one by one, with chances that grow with the relevance r.

    Parameters
    ----------
    context : Context
        The pool and the members' predictions.
    gamma : float
        Exponent of the relevance, 0 or more. 0: a random choice.

    Returns
    -------
    Selection
        The batch, with the relevance of each pick when it was drawn.
    """
    checks.within(gamma, "gamma", 0)
    q = mean_prediction(*context.members())
    uncertain = baselines.margin(*context.members())
    distance = uncertain.copy()
    free = np.arange(context.size)
    picks, values = np.empty(context.n, np.intp), np.empty(context.n)
    for i in range(context.n):
        relevance = uncertain[free] + _rescaled(distance[free])
        pick = int(context.rng.choice(len(free), p=_chances(relevance, gamma)))
        picks[i], values[i] = free[pick], relevance[pick]
        free = np.delete(free, pick)
        distance = np.minimum(distance, np.abs(q - q[picks[i]]).sum(1))
    return Selection(picks, values)


def _rescaled(distance: Float[Array, " n"]) -> Float[Array, " n"]:
    """Distances scaled to the range from 0 to 1; all 0 if they are equal."""
    low, high = distance.min(), distance.max()
    return (distance - low) / (high - low if high > low else 1.0)


def _chances(relevance: Float[Array, " n"], gamma: float) -> Float[Array, " n"]:
    largest = relevance.max()
    if largest <= 0:
        return np.full(len(relevance), 1 / len(relevance))
    powers = (relevance / largest) ** gamma  # at most one, so no overflow
    return powers / powers.sum()
