r"""Forecasts of the improvement by the next labels, learnt from simulated projects.

In one round of ROUND labels a score, measured on items that are never labelled, improves by

    d ~ N(kappa mu, sigma^2),   kappa ~ N(1, TAU^2) for a project,
    log mu = a . x,   log sigma = b . x,   x = (1, log(L / 100), log(c / 0.1), log(K / 6))

L labels so far, c the share of predicted classes that changed in the last round, K classes. The joint gain that the
members expect adds nothing to these, and is not used. The ends of an interval are quantiles of the
standardised residuals, so that nine of ten rounds lie inside, whatever their distribution.

The constants below were fitted, and the coverage on sets that were left out was measured, by

    python studies/forecasts.py simulate FOLDER && python studies/forecast_fit.py table FOLDER
    python studies/forecast_fit.py fit

on the rounds in studies/forecasts.parquet (docs/appendices/forecasts.md has the results).
"""

from dataclasses import dataclass
from math import exp, log, sqrt

ROUND = 20  # labels of a round, in the experiments and on the page
FEWEST = 20  # labels: nothing is known of rounds that start with fewer
LEAST_CHANGE = 0.002  # a share of changes below it counts as this


@dataclass(frozen=True)
class Calibration:
    """The constants of one score.

    Attributes
    ----------
    mean : tuple of float
        The coefficients a of log mu.
    spread : tuple of float
        The coefficients b of log sigma.
    between : float
        TAU, the spread between projects.
    low, high : float
        The standardised residuals that bound 90 % of the rounds.
    """

    mean: tuple[float, float, float, float]
    spread: tuple[float, float, float, float]
    between: float
    low: float
    high: float


ACCURACY = Calibration((-4.549, -0.738, 0.502, 0.405), (-4.209, -0.291, 0.448, 0.0), 0.247, -1.500, 1.648)
BRIER = Calibration((-4.316, -1.035, 0.0, 0.505), (-4.301, -0.486, 0.0, 0.0), 0.433, -1.474, 1.695)  # changes left out


@dataclass(frozen=True)
class Improvement:
    """The improvement that some labels bring.

    Attributes
    ----------
    mean : float
        The mean.
    low, high : float
        The interval that holds nine of ten rounds.
    """

    mean: float
    low: float
    high: float


def round_moments(calibration: Calibration, labels: int, classes: int, changed: float) -> tuple[float, float]:
    """The mean mu and the standard deviation sigma of the improvement in a round.

    Parameters
    ----------
    calibration : Calibration
        The constants of the score.
    labels : int
        Labels so far.
    classes : int
        The number of classes.
    changed : float
        The share of predicted classes that changed in the last round.

    Returns
    -------
    tuple of float
        mu and sigma.
    """
    x = (1.0, log(max(labels, 1) / 100), log(max(changed, LEAST_CHANGE) / 0.1), log(classes / 6))
    mean, spread = (exp(sum(a * b for a, b in zip(c, x, strict=True))) for c in (calibration.mean, calibration.spread))
    return mean, spread


def improvement(calibration: Calibration, labels: int, classes: int, size: int, *, changed: float = 0.1) -> Improvement:
    """Forecast the improvement by the next labels, as a sum over rounds. Parts of rounds count in proportion.

    Parameters
    ----------
    calibration : Calibration
        The constants of the score.
    labels : int
        Labels so far.
    classes : int
        The number of classes.
    size : int
        The number of next labels.
    changed : float
        The share of predicted classes that changed in the last round.

    Returns
    -------
    Improvement
        The mean and the interval.
    """
    parts = [min(ROUND, size - start) / ROUND for start in range(0, size, ROUND)]
    rounds = [round_moments(calibration, labels + ROUND * i, classes, changed) for i in range(len(parts))]
    mean = sum(part * mu for part, (mu, _) in zip(parts, rounds, strict=True))
    variance = sum(part * sigma**2 for part, (_, sigma) in zip(parts, rounds, strict=True))
    deviation = sqrt(variance + (calibration.between * mean) ** 2)
    return Improvement(mean, mean + calibration.low * deviation, mean + calibration.high * deviation)
