"""What a proper score is: the protocols, the base classes, and the root of a quadratic score."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.types import Array

Simplex = Float[Array, "*batch K"]
Values = Float[Array, "*batch"]


@runtime_checkable
class HasG(Protocol):
    """An object with a strictly convex function G: all that a score needs."""

    def G(self, p: Simplex) -> Values:
        """The expected score of a forecast p that is true, from (..., K) to (...)."""


@runtime_checkable
class HasRoot(HasG, Protocol):
    """A score whose G is quadratic, with the square root of its matrix for K classes."""

    def root(self, K: int) -> Float[Array, "R K"]:
        """The square root F of the matrix of G for K classes: G(p) = |F p|^2 + const."""


class Score:
    """A proper score, defined by its convex function G. Subclasses with a known gradient override `gradient`."""

    strict = True  # strictly convex G: the convergence theorem of the paper holds

    def G(self, p: Simplex) -> Values:
        """The expected score of a forecast p that is true.

        Parameters
        ----------
        p : array of float (..., K)
            Probabilities.

        Returns
        -------
        array of float (...)
            A value for each distribution.
        """
        raise TypeError(f"{type(self).__name__} must define G(p)")

    def toward(self, p: Simplex, target: Simplex) -> Values:
        """<grad G(p), target - p>, the slope of G from p towards target.

        Parameters
        ----------
        p : array of float (..., K)
            Probabilities.
        target : array of float (..., K)
            Probabilities.

        Returns
        -------
        array of float (...)
            A slope for each pair.

        Notes
        -----
        One-sided differences of second order are used: p + h (target - p) never leaves the simplex.
        """
        h = 1e-5
        step = h * (target - p)
        return np.asarray((4 * self.G(p + step) - self.G(p + 2 * step) - 3 * self.G(p)) / (2 * h))

    def S(self, p: Simplex, y: Int[Array, "*batch"] | int) -> Values:
        """The score of a forecast if a class happens.

        Parameters
        ----------
        p : array of float (..., K)
            The forecast.
        y : int or array of int (...)
            The class that happens.

        Returns
        -------
        array of float (...)
            A score for each forecast, larger is better.
        """
        return np.asarray(self.G(p) + self.toward(p, np.eye(p.shape[-1])[y]))

    def divergence(self, p: Simplex, q: Simplex) -> Values:
        """The Bregman divergence B(p, q): what a forecast q loses if p is true.

        Parameters
        ----------
        p : array of float (..., K)
            The true distribution.
        q : array of float (..., K)
            The forecast.

        Returns
        -------
        array of float (...)
            A divergence for each pair, at least 0.
        """
        return np.asarray(self.G(p) - self.G(q) - self.toward(q, p))


class SmoothScore(Score):
    """A score whose gradient is known in closed form."""

    def gradient(self, p: Simplex) -> Simplex:
        """The gradient of G at p."""
        raise TypeError(f"{type(self).__name__} must define gradient(p)")

    def toward(self, p: Simplex, target: Simplex) -> Values:
        step = target - p
        with np.errstate(invalid="ignore"):  # an infinite slope where nothing moves adds nothing
            return np.asarray(np.where(step == 0, 0.0, self.gradient(p) * step).sum(-1))


def quadratic_root(value: Score, K: int) -> Float[Array, "R K"] | None:
    """Return the square root of the matrix of a quadratic score.

    Parameters
    ----------
    value : Score
        The score.
    K : int
        The number of classes.

    Returns
    -------
    array of float (R, K), or None
        The matrix F with G(p) = |F p|^2 + const. None: the score has none, and its gain does not factorise.

    Raises
    ------
    InputError
        What `root` returns has another shape, or numbers that are not finite.
    """
    if not isinstance(value, HasRoot):
        return None
    root = np.asarray(value.root(K), dtype=np.float64)
    if root.ndim != 2 or root.shape[1] != K or not np.isfinite(root).all():
        raise InputError(
            "score root",
            expected=f"finite numbers of shape (R, {K}), so that G(p) = |root p|^2 + const",
            got=f"shape {root.shape}",
            fix="Correct root(K), or leave it out.",
        )
    return root
