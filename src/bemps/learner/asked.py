"""What is asked for: a frozen batch with an identity, and why each of its items is in it."""

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
    """Why an item is asked.

    gain        expected gain of its label alone in the Brier score, over the pool
    share       that gain as a share of all that is left to gain; 0 where nothing is
    stands_for  how many candidates it stands for, itself among them
    """

    gain: float
    share: float
    stands_for: int


@dataclass(frozen=True)
class Batch:
    """Items to label, best first. Equal batches have equal ids; `strategy` is the one that chose.

    `items` are the ids of the items and `contents` the items themselves, in the same order. `why` has one reason for
    each item; none where the learner was told not to explain.
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
        """The ids of its items."""
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


def reasons(probs: Float[Array, "E N K"], weights: Float[Array, " E"] | None, chosen: Selection) -> tuple[Why, ...]:
    """Why each pick: its own gain, its share, and the candidates whose label would teach the same."""
    gain = core_mse(probs[:, chosen.indices], probs, weights).scores
    left = remaining_gain(probs, weights=weights)
    counts = _sizes(probs, weights, chosen)
    return tuple(Why(float(g), float(g / left) if left > 0 else 0.0, int(n)) for g, n in zip(gain, counts, strict=True))


def _sizes(probs: Float[Array, "E N K"], weights: Float[Array, " E"] | None, chosen: Selection) -> Int[Array, " B"]:
    """The strategy's own clusters; without them, candidates go to the pick with the nearest gain vector."""
    if chosen.clusters is not None:
        return np.array([len(cluster) for cluster in chosen.clusters])
    gain = core_mse(probs, probs[:, : min(probs.shape[1], 1_000)], weights)
    rows = gain.vectors
    picks = rows[chosen.indices]
    distance = (picks * picks).sum(1) - 2 * rows @ picks.T  # (N, B), up to |row|^2
    nearest = distance.argmin(1)
    nearest[chosen.indices] = np.arange(len(chosen))
    return np.bincount(nearest, minlength=len(chosen))
