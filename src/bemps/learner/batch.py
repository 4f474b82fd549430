"""A batch: the items to label, with an identity and reasons."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.gain import core_mse, remaining_gain
from bemps.types import Array, Selection

SHOWN = 200  # characters of a text in a notebook


@dataclass(frozen=True)
class Why:
    """The reason why an item is asked.

    Attributes
    ----------
    gain : float
        The expected gain of its label alone in the Brier score, over the pool.
    share : float
        That gain divided by all that is left to gain; 0 if nothing is left.
    stands_for : int
        The number of candidates that the item stands for, itself included.
    """

    gain: float
    share: float
    stands_for: int


@dataclass(frozen=True)
class Batch:
    """Items to label, best first.

    Attributes
    ----------
    id : str
        The identity of the batch. Equal batches have equal ids.
    items : tuple of str
        The ids of the items.
    scores : tuple of float
        The score of each item.
    why : tuple of Why
        The reason for each item; empty if the learner does not explain.
    strategy : str
        The name of the strategy that chose the items.
    contents : object
        The items themselves, in the same order.
    """

    id: str
    items: tuple[str, ...]
    scores: tuple[float, ...]
    why: tuple[Why, ...]
    strategy: str
    contents: Any = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of the items."""
        return iter(self.items)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = zip(self.items, _shown(self.contents, len(self)), self.scores, strict=True)
        cells = "".join(f"<tr><td>{escape(i)}</td><td>{escape(c)}</td><td>{s:.4g}</td></tr>" for i, c, s in rows)
        return f"<table><tr><th>id</th><th>item</th><th>score ({escape(self.strategy)})</th></tr>{cells}</table>"


def _shown(contents: Any, size: int) -> list[str]:
    """Texts at their beginning, other items in short; empty where the batch came without them."""
    if contents is None:
        return [""] * size
    rows = contents.to_numpy() if hasattr(contents, "to_numpy") else contents
    return [row[:SHOWN] if isinstance(row, str) else np.array2string(np.asarray(row), threshold=6) for row in rows]


def reasons(probs: Float[Array, "E N K"], weights: Float[Array, " E"] | None, selection: Selection) -> tuple[Why, ...]:
    """The reason for each pick: its own gain, its share, and the number of candidates that it stands for.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    weights : array of float (E,) or None
        Weights of the members. None: uniform.
    selection : Selection
        The picks.

    Returns
    -------
    tuple of Why
        A reason for each pick.
    """
    gain = core_mse(probs[:, selection.indices], probs, weights).scores
    left = remaining_gain(probs, weights=weights)
    counts = _sizes(probs, weights, selection)
    return tuple(Why(float(g), float(g / left) if left > 0 else 0.0, int(n)) for g, n in zip(gain, counts, strict=True))


def _sizes(probs: Float[Array, "E N K"], weights: Float[Array, " E"] | None, selection: Selection) -> Int[Array, " B"]:
    """The strategy's own clusters; without them, candidates go to the pick with the nearest gain vector."""
    if selection.clusters is not None:
        return np.array([len(cluster) for cluster in selection.clusters])
    gain = core_mse(probs, probs[:, : min(probs.shape[1], 1_000)], weights)
    rows = gain.vectors
    picks = rows[selection.indices]
    distance = (picks * picks).sum(1) - 2 * rows @ picks.T  # (N, B), up to |row|^2
    nearest = distance.argmin(1)
    nearest[selection.indices] = np.arange(len(selection))
    return np.bincount(nearest, minlength=len(selection))
