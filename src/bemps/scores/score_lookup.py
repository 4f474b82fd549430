"""A score from what a user passes: a name, an object with `G`, or a convex function."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.errors import InputError, unknown_name
from bemps.scores.named_scores import SCORES
from bemps.scores.proper_score import HasG, HasRoot, Score, Simplex, Values
from bemps.types import Array, GFunction

ScoreLike = str | HasG | GFunction


@dataclass(frozen=True)
class Custom(Score):
    """A score from a user's own convex function.

    Parameters
    ----------
    function : callable
        From probabilities (..., K) to values (...).
    """

    function: GFunction

    def G(self, p: Simplex) -> Values:
        """G(p) = function(p), which has to be one finite number for each distribution."""
        value = np.asarray(self.function(p))
        if value.shape != p.shape[:-1]:
            raise InputError(
                "score G",
                expected=f"one number per row: shape {p.shape[:-1]}",
                got=f"shape {value.shape} for input {p.shape}",
                fix="Reduce over the last axis only, e.g. (p ** 3).sum(-1).",
            )
        if not np.isfinite(value).all():
            raise InputError(
                "score G",
                expected="a finite number for every distribution, also with zeros in it",
                got="NaN or infinity",
                fix="For p log p use scipy.special.xlogy(p, p), which is 0 at 0.",
            )
        return value.astype(np.float64, copy=False)


@dataclass(frozen=True)
class CustomQuadratic(Custom):
    """A score from a user's own object with a quadratic G.

    Attributes
    ----------
    function : callable
        The function G, from probabilities (..., K) to values (...).
    square_root : callable
        From the number of classes K to the matrix F with G(p) = |F p|^2 + const.
    """

    square_root: Callable[[int], Float[Array, "R K"]]

    def root(self, K: int) -> Float[Array, "R K"]:
        """F = square_root(K), with G(p) = |F p|^2 + const."""
        return self.square_root(K)


def score(value: ScoreLike) -> Score:
    """Make a score from its name, from an object with `G`, or from a convex function.

    Parameters
    ----------
    value : str, object or callable
        A name of `SCORES`, an object with a method G(p), or a function of probabilities (..., K).

    Returns
    -------
    Score
        The score.

    Raises
    ------
    InputError
        The name is not known, or the value is none of these.
    """
    if isinstance(value, str):
        if value not in SCORES:
            raise unknown_name("score", value, SCORES, "Or pass an object with G(p), or a function.")
        return SCORES[value]()
    if isinstance(value, Score):
        return value
    if isinstance(value, HasRoot):
        return CustomQuadratic(value.G, value.root)
    if isinstance(value, HasG):
        return Custom(value.G)
    if callable(value):
        return Custom(value)
    raise InputError(
        "score",
        expected="a name, an object with G(p), or a function",
        got=repr(value),
        fix="See bemps.scores.",
    )
