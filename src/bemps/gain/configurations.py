r"""The posterior of the members after a batch is labelled: label configurations y_S and their posteriors.

E members, C configurations, K classes. Each y_S has a probability and r[c,e] = p(theta_e | L, y_S). All
configurations are used while there are at most `samples`. Of more, `samples` are drawn from q(y_S).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Configurations:
    """Label configurations of a batch.

    Attributes
    ----------
    posteriors : array of float (C, E)
        The posterior of the members after each configuration.
    chances : array of float (C,)
        The probability of each configuration. They sum to one.
    exact : bool
        Whether no configuration is left out.
    """

    posteriors: Float[Array, "C E"]
    chances: Float[Array, " C"]
    exact: bool = True

    @classmethod
    def before_any_label(cls, weights: Float[Array, " E"]) -> "Configurations":
        """The empty configuration: the prior weights."""
        return cls(weights[None, :], np.ones(1))

    def with_item(self, probs: Float[Array, "E K"], samples: int, rng: np.random.Generator) -> "Configurations":
        """Extend each configuration by every label of one more item.

        Parameters
        ----------
        probs : array of float (E, K)
            Probabilities of the item.
        samples : int
            The largest number of configurations. Of more, so many are drawn.
        rng : numpy.random.Generator
            Random numbers of the draws.

        Returns
        -------
        Configurations
            The extended configurations.
        """
        joint = self.posteriors[:, None, :] * probs.T.astype(np.float64)  # (C, K, E)
        label_chance = joint.sum(-1)  # (C, K)
        chances = self.chances[:, None] * label_chance
        if self.exact and chances.size <= samples:
            return self._normalised(joint.reshape(-1, joint.shape[-1]), chances.ravel(), exact=True)
        if self.exact:
            drawn = _systematic(chances.ravel(), samples, rng)
            picked = joint.reshape(-1, joint.shape[-1])[drawn]
        else:
            cumulative = np.cumsum(label_chance, axis=1)
            uniform = rng.random(len(joint)) * cumulative[:, -1]
            label = (cumulative < uniform[:, None]).sum(1)
            picked = joint[np.arange(len(joint)), label]
        return self._normalised(picked, np.full(len(picked), 1 / len(picked)), exact=False)

    @staticmethod
    def _normalised(joint: Float[Array, "C E"], chances: Float[Array, " C"], *, exact: bool) -> "Configurations":
        possible = chances > 0
        joint = joint[possible]
        return Configurations(joint / joint.sum(-1, keepdims=True), chances[possible] / chances.sum(), exact)


def _systematic(chances: Float[Array, " C"], samples: int, rng: np.random.Generator) -> Array:
    """`samples` draws with these chances, evenly spread: less noise than independent ones."""
    cumulative = np.cumsum(chances)
    positions = (np.arange(samples) + rng.random()) / samples * cumulative[-1]
    return np.searchsorted(cumulative, positions, side="right").clip(max=len(chances) - 1)
