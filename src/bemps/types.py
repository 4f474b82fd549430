"""The words of bemps, used everywhere the same.

E  ensemble members            N  candidates in the pool      M  points of the estimation pool (the paper's x')
K  classes                     B  batch size                  H  features                    L  labelled items

Shapes stand in the annotations (`Float[np.ndarray, "E N K"]`) and are checked while testing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

Array = np.ndarray
Seed = int | np.random.Generator
GFunction = Callable[[Float[Array, "*batch K"]], Float[Array, "*batch"]]
Progress = Callable[[str, int, int], None]  # task, done, total


@dataclass(frozen=True, eq=False)
class Selection:
    """The items to label next, best or first picked first.

    indices   (B,) positions in the pool, all different
    scores    (B,) what the strategy thought of each pick, larger is better (its meaning is the strategy's own)
    clusters  for each pick the candidates it stands for, itself among them; None where the strategy has no such notion
    """

    indices: Int[Array, " B"]
    scores: Float[Array, " B"]
    clusters: tuple[Int[Array, " _"], ...] | None = None

    def __len__(self) -> int:
        return len(self.indices)
