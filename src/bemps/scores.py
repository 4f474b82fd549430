r"""Strictly proper scores, each given by its convex function G (Savage; Gneiting and Raftery 2007).

    G(p)            expected score of a forecast p that is true              (..., K) -> (...)
    S(p, y)         = G(p) + <grad G(p), delta_y - p>                         Eq (1) of the paper
    B(p, q)         = G(p) - G(q) - <grad G(q), p - q>                        Bregman divergence, >= 0

A score here is any object with a method `G`. A function is taken as a G, and has to work on arrays of any strides
(`p.sum(-1)` does). Larger scores are better.
Scores whose G is quadratic, G(p) = p^T C p + const, have a method `root` (C = root^T root on vectors that sum to
zero): their expected gain factorises.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import InputError, unknown_name
from bemps.types import Array, GFunction, Seed

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


class _Smooth(Score):
    """A score whose gradient is known in closed form."""

    def gradient(self, p: Simplex) -> Simplex:
        """The gradient of G at p."""
        raise TypeError(f"{type(self).__name__} must define gradient(p)")

    def toward(self, p: Simplex, target: Simplex) -> Values:
        step = target - p
        with np.errstate(invalid="ignore"):  # an infinite slope where nothing moves adds nothing
            return np.asarray(np.where(step == 0, 0.0, self.gradient(p) * step).sum(-1))


@dataclass(frozen=True)
class Brier(_Smooth):
    """Squared error: G = sum p^2 - 1, S = -|p - delta_y|^2. Its gain is CoreMSE."""

    def root(self, K: int) -> Float[Array, "R K"]:
        return np.eye(K)

    def G(self, p: Simplex) -> Values:
        return np.asarray((p * p).sum(-1) - 1)

    def gradient(self, p: Simplex) -> Simplex:
        return 2 * p


@dataclass(frozen=True)
class Log(Score):
    """Logarithm: G = sum p log p (0 log 0 = 0), S = log p_y. Its gain is CoreLog, which is EPIG."""

    def G(self, p: Simplex) -> Values:
        return np.asarray((p * _log(p)).sum(-1))

    def S(self, p: Simplex, y: Int[Array, "*batch"] | int) -> Values:
        with np.errstate(divide="ignore"):  # log 0 is the score of an event said to be impossible
            return np.asarray(np.log((np.eye(p.shape[-1])[y] * p).sum(-1)))

    def divergence(self, p: Simplex, q: Simplex) -> Values:
        with np.errstate(divide="ignore"):
            ratio = np.where(p > 0, np.log(np.where(p > 0, p, 1)) - np.log(q), 0.0)
        return np.asarray(np.where(p > 0, p * ratio, 0.0).sum(-1))


@dataclass(frozen=True)
class Spherical(_Smooth):
    """G = |p|, S = p_y / |p|."""

    def G(self, p: Simplex) -> Values:
        return np.asarray(np.sqrt((p * p).sum(-1)))

    def gradient(self, p: Simplex) -> Simplex:
        return p / np.sqrt((p * p).sum(-1, keepdims=True))


@dataclass(frozen=True)
class Power(_Smooth):
    """The Tsallis family: G = (sum p^alpha - 1) / (alpha - 1). alpha = 2 is Brier, alpha -> 1 the log score.

    Parameters
    ----------
    alpha : float
        The exponent, above 0 and not 1.
    """

    alpha: float = 1.5

    def __post_init__(self) -> None:
        checks.within(self.alpha, "Power(alpha)", 0, open_low=True)
        if abs(self.alpha - 1) < 1e-6:
            raise InputError(
                "Power(alpha)",
                expected="alpha other than 1",
                got=repr(self.alpha),
                fix="alpha -> 1 is score='log'.",
            )

    def G(self, p: Simplex) -> Values:
        return np.asarray(((p**self.alpha).sum(-1) - 1) / (self.alpha - 1))

    def gradient(self, p: Simplex) -> Simplex:
        with np.errstate(divide="ignore"):  # alpha < 1: an impossible event has an infinite slope
            return self.alpha / (self.alpha - 1) * p ** (self.alpha - 1)


@dataclass(frozen=True)
class Beta(Score):
    """The Beta family for two classes (Buja et al. 2005): G'' (p) = p^(alpha-1) (1-p)^(beta-1), p of class 1.

        S(p, 1) = -int_p^1 c^(alpha-1) (1-c)^beta dc,    S(p, 0) = -int_0^p c^alpha (1-c)^(beta-1) dc

    alpha = beta = 1 is half the one-sided Brier score; alpha, beta -> 0 tends to the log score. alpha != beta weighs
    the two kinds of error differently.

    Parameters
    ----------
    alpha, beta : float
        The exponents, above 0.
    """

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        checks.within(self.alpha, "Beta(alpha)", 0, open_low=True)
        checks.within(self.beta, "Beta(beta)", 0, open_low=True)

    def _losses(self, p: Simplex) -> tuple[Values, Values]:
        from scipy.special import beta, betainc

        if p.shape[-1] != 2:
            raise InputError(
                "Beta score",
                expected="K=2 classes",
                got=f"K={p.shape[-1]}",
                fix="Use Power for more classes.",
            )
        a, b, p1 = self.alpha, self.beta, np.clip(p[..., 1], 0.0, 1.0)
        if_one = beta(a, b + 1) * betainc(b + 1, a, 1 - p1)
        if_zero = beta(a + 1, b) * betainc(a + 1, b, p1)
        return if_one, if_zero

    def G(self, p: Simplex) -> Values:
        if_one, if_zero = self._losses(p)
        return np.asarray(-p[..., 1] * if_one - p[..., 0] * if_zero)

    def S(self, p: Simplex, y: Int[Array, "*batch"] | int) -> Values:
        if_one, if_zero = self._losses(p)
        return np.asarray(-np.where(np.asarray(y) == 1, if_one, if_zero))

    def toward(self, p: Simplex, target: Simplex) -> Values:
        if_one, if_zero = self._losses(p)
        return np.asarray((if_zero - if_one) * (target - p)[..., 1])


@dataclass(frozen=True, eq=False)
class Quadratic(_Smooth):
    """G = p^T C p, for errors of different costs.

    Parameters
    ----------
    C : array of float (K, K)
        A matrix that is positive definite on vectors that sum to zero.
    """

    C: Array
    _root: Float[Array, "R K"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        C = checks.matrix(self.C, "Quadratic(C)").astype(np.float64)
        K = len(C)
        if C.shape != (K, K) or K < 2:
            raise InputError(
                "Quadratic(C)",
                expected="a square matrix, K >= 2",
                got=f"shape {C.shape}",
                fix="One row per class.",
            )
        C = (C + C.T) / 2  # the quadratic form does not see the rest
        centre = np.eye(K) - 1 / K
        values, vectors = np.linalg.eigh(centre @ C @ centre)
        keep = np.argsort(np.abs(vectors.sum(0)))[: K - 1]  # all but the direction of the ones
        if values[keep].min() <= 1e-12 * np.abs(values).max():
            raise InputError(
                "Quadratic(C)",
                expected="a matrix that is positive definite on vectors that sum to zero",
                got=f"a smallest eigenvalue of {values[keep].min():.4g} there",
                fix="Add a multiple of the identity, or correct the costs.",
            )
        object.__setattr__(self, "C", C)
        object.__setattr__(self, "_root", np.sqrt(values[keep])[:, None] * vectors[:, keep].T)

    def root(self, K: int) -> Float[Array, "R K"]:
        if len(self.C) != K:
            raise InputError(
                "Quadratic(C)",
                expected=f"a {K} x {K} matrix",
                got=f"shape {self.C.shape}",
                fix="One row per class.",
            )
        return self._root

    def G(self, p: Simplex) -> Values:
        return np.asarray(np.einsum("...i,ij,...j->...", p, self.C, p))

    def gradient(self, p: Simplex) -> Simplex:
        return 2 * p @ self.C


@dataclass(frozen=True)
class ZeroOne(_Smooth):
    """G = max p: error rate (ELR, MOCU). It is proper, but not strictly: labelling may stall before the truth."""

    strict = False

    def G(self, p: Simplex) -> Values:
        return np.asarray(p.max(-1))

    def gradient(self, p: Simplex) -> Simplex:
        return np.eye(p.shape[-1])[p.argmax(-1)]  # a subgradient; the first of equal classes


@dataclass(frozen=True)
class SoftZeroOne(_Smooth):
    """G = (1/k) log sum exp(k p): a strictly convex error rate (SMOCU). It tends to ZeroOne as k grows.

    Parameters
    ----------
    k : float
        The sharpness, above 0.
    """

    k: float = 10.0

    def __post_init__(self) -> None:
        checks.within(self.k, "SoftZeroOne(k)", 0, open_low=True)

    def G(self, p: Simplex) -> Values:
        top = p.max(-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(self.k * (p - top)).sum(-1)) / self.k)

    def gradient(self, p: Simplex) -> Simplex:
        e = np.exp(self.k * (p - p.max(-1, keepdims=True)))
        return np.asarray(e / e.sum(-1, keepdims=True))


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
        return self.square_root(K)


SCORES: dict[str, Callable[[], Score]] = {
    "brier": Brier,
    "log": Log,
    "spherical": Spherical,
    "power": Power,
    "beta": Beta,
    "zero-one": ZeroOne,
    "soft-zero-one": SoftZeroOne,
}

ScoreLike = str | HasG | GFunction


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


def quadratic_root(value: Score, K: int) -> Float[Array, "R K"] | None:
    """The `root` of a score for K classes. None: the score has none, and its gain does not factorise."""
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


def check_convexity(value: ScoreLike, K: int, *, pairs: int = 20_000, seed: Seed = 0) -> float:
    """Test numerically that the G of a score is convex on the simplex.

    Parameters
    ----------
    value : str, object or callable
        The score, as `score` takes it.
    K : int
        Number of classes, at least 2.
    pairs : int
        Number of pairs of distributions to test, at least 100.
    seed : int or numpy.random.Generator
        Seed of the pairs.

    Returns
    -------
    float
        The smallest value of [G(p)/2 + G(q)/2 - G((p+q)/2)] / |p-q|^2 over the pairs p, q; > 0 if G is strictly convex.

    Raises
    ------
    InputError
        G is not convex. The message shows the pair.

    Notes
    -----
    Pairs are drawn inside the simplex, near its corners and on its faces.
    """
    rng = checks.generator(seed)
    G = score(value).G
    checks.integer(K, "K", 2)
    checks.integer(pairs, "pairs", 100)
    p, q = (_spread_simplex(rng, pairs, K) for _ in range(2))
    distance = ((p - q) ** 2).sum(-1)
    p, q, distance = (side[distance > 1e-4] for side in (p, q, distance))  # nearer ones drown in rounding
    middle = G((p + q) / 2)
    gap = (G(p) + G(q)) / 2 - middle
    worst = int(np.argmin(gap / distance))
    if (gap < -1e-12 * (np.ptp(middle) + np.abs(middle))).any():
        raise InputError(
            "score G",
            expected="a convex function on the simplex",
            got=f"G at the middle of {p[worst].round(4)} and {q[worst].round(4)} above the chord by {-gap[worst]:.3g}",
            fix="A proper score needs a convex G; entropy, for one, needs a minus sign.",
        )
    return float(gap[worst] / distance[worst])


def _spread_simplex(rng: np.random.Generator, rows: int, K: int) -> Float[Array, "N K"]:
    """Points of the simplex: in the middle, near the corners and on the faces."""
    concentration = rng.choice([0.05, 0.3, 1.0, 5.0], size=(rows, 1))
    p = rng.gamma(concentration, size=(rows, K)) + 1e-300
    p *= rng.random((rows, K)) > rng.choice([0.0, 0.3], size=(rows, 1))
    p[np.arange(rows), rng.integers(K, size=rows)] += 1e-3
    return np.asarray(p / p.sum(-1, keepdims=True))


def _log(p: Simplex) -> Simplex:
    """log p, and 0 where p is 0."""
    return np.log(p, out=np.zeros_like(p), where=p > 0)
