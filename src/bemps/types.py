"""The letters of shapes, and the types that every part of bemps uses.

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

    Attributes
    ----------
    indices : array of int (B,)
        Positions in the pool, all different.
    scores : array of float (B,)
        The strategy's score of each item, larger is better. Each strategy defines its own.
    clusters : tuple of array of int, optional
        For each item the candidates that it stands for, itself included. None: the strategy does not cluster.
    """

    indices: Int[Array, " B"]
    scores: Float[Array, " B"]
    clusters: tuple[Int[Array, " _"], ...] | None = None

    def __len__(self) -> int:
        return len(self.indices)
