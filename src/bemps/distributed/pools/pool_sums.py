"""Sums over a pool that a later pass needs: sizes, and the matrices of CoreMSE.

    form      Gamma_ef = sum_m <p_e - q, p_f - q>           (E, E): all that the scores need
    triangle  R of d = Q R, d_ef[m] = |p_e - p_f|^2         (P, P): R^T R = d^T d, all that the vectors need

Both add up over parts of the pool: the forms as a sum, the triangles by a QR of the stacked triangles, which keeps
the digits that the squares d^T d would lose.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError
from bemps.gain.logarithmic import strongest_candidate
from bemps.gain.quadratic import QuadraticGain, member_form
from bemps.types import Array

FORM, TRIANGLE, STRENGTH = "form", "triangle", "strength"


@dataclass(frozen=True, eq=False)
class PoolSums:
    """The sums of a part of the pool. Those that were not computed are None or 0.

    Attributes
    ----------
    rows : int
        The number of items.
    shape : tuple of int
        E and K.
    dtype : str
        The type of the probabilities.
    form : array of float (E, E), optional
        Gamma.
    triangle : array of float (D, P), optional
        R of d = Q R.
    strength : float
        The largest sum_e w_e r_ee of an item (`strongest_candidate`).
    moment : array of float (E, E), optional
        The second moment of that item.
    spread : float
        The largest difference between two members.
    """

    rows: int
    shape: tuple[int, int]
    dtype: str
    form: Float[Array, "E E"] | None = None
    triangle: Float[Array, "D P"] | None = None
    strength: float = 0.0
    moment: Float[Array, "E E"] | None = None
    spread: float = 0.0

    @classmethod
    def from_probs(
        cls, probs: Float[Array, "E n K"], weights: Float[Array, " E"], names: tuple[str, ...]
    ) -> "PoolSums":
        """Compute the sums of some items.

        Parameters
        ----------
        probs : array of float (E, n, K)
            Probabilities of the members.
        weights : array of float (E,)
            Weights of the members.
        names : tuple of str
            Which sums: FORM, TRIANGLE, STRENGTH.

        Returns
        -------
        PoolSums
            The sums.
        """
        E, n, K = probs.shape
        form = triangle = moment = None
        strength, ones, identity = 0.0, np.ones(n), np.eye(K)
        if FORM in names:
            form = member_form(probs, identity, weights, ones)
        if TRIANGLE in names:
            triangle = QuadraticGain(probs, probs, identity, weights, ones).factor
        if STRENGTH in names:
            strength, moment = strongest_candidate(probs, weights)
        spread = float(np.abs(probs[1:] - probs[0]).max(initial=0))
        return cls(n, (E, K), str(probs.dtype), form, triangle, strength, moment, spread)

    def __add__(self, other: "PoolSums") -> "PoolSums":
        best = self if self.strength >= other.strength else other
        form, triangle = self.form, self.triangle
        if form is not None and other.form is not None:
            form = form + other.form
        if triangle is not None and other.triangle is not None:
            triangle = np.linalg.qr(np.vstack([triangle, other.triangle])).R
        rows = self.rows + other.rows
        spread = max(self.spread, other.spread)
        return PoolSums(rows, self.shape, self.dtype, form, triangle, best.strength, best.moment, spread)

    def refuse_other_shape(self, other: "PoolSums", where: str) -> None:
        """Refuse a part with other members, classes or precision."""
        if (self.shape, self.dtype) != (other.shape, other.dtype):
            raise InputError(
                where,
                expected=f"E, K = {self.shape} of {self.dtype}, as in the shards before it",
                got=f"{other.shape} of {other.dtype}",
                fix="Predict all shards with the same members.",
            )

    @property
    def arrays(self) -> dict[str, Array]:
        """The fields as arrays for a file."""
        optional = {"form": self.form, "triangle": self.triangle, "moment": self.moment}
        computed = {name: value for name, value in optional.items() if value is not None}
        return computed | {
            "sizes": np.array([self.rows, *self.shape]),
            "dtype": np.array(self.dtype),
            "strength": np.array(self.strength),
            "spread": np.array(self.spread),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "PoolSums":
        """The sums from the arrays of a file."""
        rows, E, K = (int(size) for size in arrays["sizes"])
        form, triangle, moment = (arrays.get(name) for name in ("form", "triangle", "moment"))
        strength, spread = (float(arrays[name]) for name in ("strength", "spread"))
        return cls(rows, (E, K), str(arrays["dtype"]), form, triangle, strength, moment, spread)
