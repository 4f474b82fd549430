"""The scores that have a name, and their table."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.errors import InputError
from bemps.scores.proper_score import Score, Simplex, SmoothScore, Values
from bemps.types import Array


@dataclass(frozen=True)
class Brier(SmoothScore):
    """Squared error: G = sum p^2 - 1, S = -|p - delta_y|^2. Its gain is CoreMSE."""

    def root(self, K: int) -> Float[Array, "R K"]:
        """F = I: G(p) = |p|^2 - 1."""
        return np.eye(K)

    def G(self, p: Simplex) -> Values:
        """G(p) = sum p^2 - 1."""
        return np.asarray((p * p).sum(-1) - 1)

    def gradient(self, p: Simplex) -> Simplex:
        """grad G(p) = 2 p."""
        return 2 * p


@dataclass(frozen=True)
class Log(Score):
    """Logarithm: G = sum p log p (0 log 0 = 0), S = log p_y. Its gain is CoreLog, which is EPIG."""

    def G(self, p: Simplex) -> Values:
        """G(p) = sum p log p, with 0 log 0 = 0."""
        return np.asarray((p * _log(p)).sum(-1))

    def S(self, p: Simplex, y: Int[Array, "*batch"] | int) -> Values:
        """S(p, y) = log p_y."""
        with np.errstate(divide="ignore"):  # log 0 is the score of an event said to be impossible
            return np.asarray(np.log((np.eye(p.shape[-1])[y] * p).sum(-1)))

    def divergence(self, p: Simplex, q: Simplex) -> Values:
        """B(p, q) = sum p log(p / q), the Kullback-Leibler divergence."""
        with np.errstate(divide="ignore"):
            ratio = np.where(p > 0, np.log(np.where(p > 0, p, 1)) - np.log(q), 0.0)
        return np.asarray(np.where(p > 0, p * ratio, 0.0).sum(-1))


@dataclass(frozen=True)
class Spherical(SmoothScore):
    """G = |p|, S = p_y / |p|."""

    def G(self, p: Simplex) -> Values:
        """G(p) = |p|."""
        return np.asarray(np.sqrt((p * p).sum(-1)))

    def gradient(self, p: Simplex) -> Simplex:
        """grad G(p) = p / |p|."""
        return p / np.sqrt((p * p).sum(-1, keepdims=True))


@dataclass(frozen=True)
class Power(SmoothScore):
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
        """G(p) = (sum p^alpha - 1) / (alpha - 1)."""
        return np.asarray(((p**self.alpha).sum(-1) - 1) / (self.alpha - 1))

    def gradient(self, p: Simplex) -> Simplex:
        """grad G(p) = alpha / (alpha - 1) p^(alpha - 1)."""
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
        """G(p) = p_0 S(p, 0) + p_1 S(p, 1)."""
        if_one, if_zero = self._losses(p)
        return np.asarray(-p[..., 1] * if_one - p[..., 0] * if_zero)

    def S(self, p: Simplex, y: Int[Array, "*batch"] | int) -> Values:
        """S(p, y), the integral of class y above."""
        if_one, if_zero = self._losses(p)
        return np.asarray(-np.where(np.asarray(y) == 1, if_one, if_zero))

    def toward(self, p: Simplex, target: Simplex) -> Values:
        """<grad G(p), target - p> = (S(p, 1) - S(p, 0)) (target_1 - p_1)."""
        if_one, if_zero = self._losses(p)
        return np.asarray((if_zero - if_one) * (target - p)[..., 1])


@dataclass(frozen=True, eq=False)
class Quadratic(SmoothScore):
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
        """F with F^T F = C on vectors that sum to zero; K has to be the size of C."""
        if len(self.C) != K:
            raise InputError(
                "Quadratic(C)",
                expected=f"a {K} x {K} matrix",
                got=f"shape {self.C.shape}",
                fix="One row per class.",
            )
        return self._root

    def G(self, p: Simplex) -> Values:
        """G(p) = p^T C p."""
        return np.asarray(np.einsum("...i,ij,...j->...", p, self.C, p))

    def gradient(self, p: Simplex) -> Simplex:
        """grad G(p) = 2 C p."""
        return 2 * p @ self.C


@dataclass(frozen=True)
class ZeroOne(SmoothScore):
    """G = max p: error rate (ELR, MOCU). It is proper, but not strictly: labelling may stall before the truth."""

    strict = False

    def G(self, p: Simplex) -> Values:
        """G(p) = max p."""
        return np.asarray(p.max(-1))

    def gradient(self, p: Simplex) -> Simplex:
        """A subgradient: 1 at the most probable class (the first of equal ones), 0 elsewhere."""
        return np.eye(p.shape[-1])[p.argmax(-1)]


@dataclass(frozen=True)
class SoftZeroOne(SmoothScore):
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
        """G(p) = (1/k) log sum exp(k p)."""
        top = p.max(-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(self.k * (p - top)).sum(-1)) / self.k)

    def gradient(self, p: Simplex) -> Simplex:
        """grad G(p) = exp(k p) / sum exp(k p)."""
        e = np.exp(self.k * (p - p.max(-1, keepdims=True)))
        return np.asarray(e / e.sum(-1, keepdims=True))


SCORES: dict[str, Callable[[], Score]] = {
    "brier": Brier,
    "log": Log,
    "spherical": Spherical,
    "power": Power,
    "beta": Beta,
    "zero-one": ZeroOne,
    "soft-zero-one": SoftZeroOne,
}


def _log(p: Simplex) -> Simplex:
    """log p, and 0 where p is 0."""
    return np.log(p, out=np.zeros_like(p), where=p > 0)
