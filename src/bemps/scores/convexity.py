"""A test in numbers that the G of a score is convex, as a proper score needs."""

import numpy as np
from jaxtyping import Float

from bemps import checks
from bemps.errors import InputError
from bemps.scores.score_lookup import ScoreLike, score
from bemps.types import Array, Seed


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
