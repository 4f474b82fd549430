"""What one pass over a pool leaves for the next: sizes, and the sums that CoreMSE needs.

    form      Gamma_ef = sum_m <p_e - q, p_f - q>           (E, E): all that the scores need
    triangle  R of d = Q R, d_ef[m] = |p_e - p_f|^2         (P, P): R^T R = d^T d, all that the vectors need

Both add up over parts of the pool: sums, and a QR of triangles one upon the other, which keeps the digits that the
squares d^T d would lose.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.gain.logarithmic import strongest
from bemps.gain.quadratic import QuadraticGain, member_form
from bemps.types import Array

FORM, TRIANGLE, STRENGTH = "form", "triangle", "strength"


@dataclass(frozen=True, eq=False)
class Facts:
    """Of a part of the pool. What was not asked for is None or 0."""

    rows: int
    shape: tuple[int, int]  # E, K
    dtype: str
    form: Float[Array, "E E"] | None = None
    triangle: Float[Array, "D P"] | None = None
    strength: float = 0.0
    moment: Float[Array, "E E"] | None = None
    spread: float = 0.0  # the largest difference between two members

    @classmethod
    def of(cls, probs: Float[Array, "E n K"], weights: Float[Array, " E"], wanted: tuple[str, ...]) -> "Facts":
        E, n, K = probs.shape
        form = triangle = moment = None
        strength, every, plain = 0.0, np.ones(n), np.eye(K)
        if FORM in wanted:
            form = member_form(probs, plain, weights, every)
        if TRIANGLE in wanted:
            triangle = QuadraticGain(probs, probs, plain, weights, every).factor
        if STRENGTH in wanted:
            strength, moment = strongest(probs, weights)
        spread = float(np.abs(probs[1:] - probs[0]).max(initial=0))
        return cls(n, (E, K), str(probs.dtype), form, triangle, strength, moment, spread)

    def __add__(self, other: "Facts") -> "Facts":
        best = self if self.strength >= other.strength else other
        form, triangle = self.form, self.triangle
        if form is not None and other.form is not None:
            form = form + other.form
        if triangle is not None and other.triangle is not None:
            triangle = np.linalg.qr(np.vstack([triangle, other.triangle])).R
        rows = self.rows + other.rows
        spread = max(self.spread, other.spread)
        return Facts(rows, self.shape, self.dtype, form, triangle, best.strength, best.moment, spread)

    def refuse_unlike(self, other: "Facts", where: str) -> None:
        """Parts of one pool have the same members, classes and precision."""
        if (self.shape, self.dtype) != (other.shape, other.dtype):
            raise InputError(
                where,
                expected=f"E, K = {self.shape} of {self.dtype}, as in the shards before it",
                got=f"{other.shape} of {other.dtype}",
                fix="Predict all shards with the same members.",
            )

    @property
    def arrays(self) -> dict[str, Array]:
        """For a file."""
        given = {"form": self.form, "triangle": self.triangle, "moment": self.moment}
        found = {name: value for name, value in given.items() if value is not None}
        return found | {
            "sizes": np.array([self.rows, *self.shape]),
            "dtype": np.array(self.dtype),
            "strength": np.array(self.strength),
            "spread": np.array(self.spread),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Facts":
        rows, E, K = (int(size) for size in arrays["sizes"])
        form, triangle, moment = (arrays.get(name) for name in ("form", "triangle", "moment"))
        strength, spread = (float(arrays[name]) for name in ("strength", "spread"))
        return cls(rows, (E, K), str(arrays["dtype"]), form, triangle, strength, moment, spread)
