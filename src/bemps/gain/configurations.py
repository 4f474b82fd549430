r"""What the members would be worth after a batch is labelled: label configurations y_S and their posteriors.

E members, C configurations, K classes. For every y_S kept: its probability, and r[c,e] = p(theta_e | L, y_S). All
configurations are kept while they number at most `samples`; beyond, that many are drawn from q(y_S).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Configurations:
    """posteriors (C, E), chances (C,) of each configuration, summing to one; `exact` while none was left out."""

    posteriors: Float[Array, "C E"]
    chances: Float[Array, " C"]
    exact: bool = True

    @classmethod
    def before_any_label(cls, weights: Float[Array, " E"]) -> "Configurations":
        return cls(weights[None, :], np.ones(1))

    def with_item(self, probs: Float[Array, "E K"], samples: int, rng: np.random.Generator) -> "Configurations":
        """Each configuration extended by every label of one more item."""
        joint = self.posteriors[:, None, :] * probs.T.astype(np.float64)  # (C, K, E)
        label_chance = joint.sum(-1)  # (C, K)
        chances = self.chances[:, None] * label_chance
        if self.exact and chances.size <= samples:
            return self._normalised(joint.reshape(-1, joint.shape[-1]), chances.ravel(), exact=True)
        if self.exact:
            chosen = _systematic(chances.ravel(), samples, rng)
            picked = joint.reshape(-1, joint.shape[-1])[chosen]
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
    at = (np.arange(samples) + rng.random()) / samples * cumulative[-1]
    return np.searchsorted(cumulative, at, side="right").clip(max=len(chances) - 1)
