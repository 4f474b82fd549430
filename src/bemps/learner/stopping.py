"""Forecasts of the next batch, and rules that say when to stop labelling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.gain.joint import joint_gain_at
from bemps.learner.forecast_calibration import BRIER, FEWEST, Improvement, improvement
from bemps.types import Array

SMALLEST, LARGEST = 10, 100  # sizes of batches that were simulated


@dataclass(frozen=True)
class Forecast:
    """The expected gain of the next batch, in the Brier score of the pool (smaller is better).

    Attributes
    ----------
    gain : float
        The gain that the members expect of the batch. It is right if one of them is the truth. Trees, masks and
        ensembles are no draws from a posterior, and their expectation is far off (docs/appendices/forecasts.md).
    standard_error : float
        The standard error of `gain`, with the estimation points as a sample. It is not the error of the forecast.
    remaining : float
        How far the members differ. `gain` is never more.
    size : int
        The number of items in the batch.
    experience : Improvement | None
        The improvement in simulated projects with as many labels and classes, nine of ten times between its low and
        high. None below 20 labels and for batches outside of 10 to 100, which were not simulated.
    """

    gain: float
    standard_error: float
    remaining: float
    size: int
    experience: Improvement | None = None

    def __str__(self) -> str:
        own = f"the members expect {self.gain:.4f}, of {self.remaining:.4f} left to gain"
        if self.experience is None:
            return f"what the next {self.size} labels bring is not known; {own}"
        low, high = self.experience.low, self.experience.high
        return f"the next {self.size} labels lower the Brier score by {low:.3f} to {high:.3f} (9 times in 10); {own}"


def forecast(
    probs: Float[Array, "E N K"],
    points: Float[Array, "E M K"],
    weights: Float[Array, " E"],
    batch: Int[Array, " B"],
    *,
    labels: int,
    seed: int,
) -> Forecast:
    """Forecast the gain of a batch: the joint expected gain over the estimation points, and simulated projects.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members for the candidates.
    points : array of float (E, M, K)
        Probabilities of the members for the estimation pool.
    weights : array of float (E,)
        Weights of the members.
    batch : array of int (B,)
        Positions of the batch.
    labels : int
        Labels so far.
    seed : int
        Seed of sampled label configurations.

    Returns
    -------
    Forecast
        The forecast.

    Notes
    -----
    Label configurations of a large batch are sampled. Their mean may exceed what the members can gain at most, and is
    cut there.
    """
    gains = joint_gain_at(probs, batch, points, weights, samples=1_000, rng=np.random.default_rng(seed))
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("inf")
    mean = np.tensordot(weights, points, 1)
    left = float(np.einsum("e,emk->", weights, (points - mean) ** 2)) / points.shape[1]
    tried = labels >= FEWEST and SMALLEST <= len(batch) <= LARGEST
    experience = improvement(BRIER, labels, points.shape[2], len(batch)) if tried else None
    return Forecast(min(float(gains.mean()), left), error, left, len(batch), experience)


@dataclass(frozen=True)
class LabellingProgress:
    """The information that a stopping rule uses.

    Attributes
    ----------
    labels : int
        Labels so far.
    forecast : Forecast or None
        The forecast of the next batch.
    agreement : tuple of float
        The share of pool predictions that stayed the same, after each of the last fits.
    rise : float, optional
        The expected rise of the accuracy by the next 100 labels, from simulated projects.
    """

    labels: int
    forecast: Forecast | None
    agreement: tuple[float, ...]
    rise: float | None = None


@runtime_checkable
class StoppingRule(Protocol):
    """A stopping rule: an object with a method `reason`."""

    def reason(self, progress: LabellingProgress) -> str | None:
        """Return the reason to stop, or None."""


@dataclass(frozen=True)
class Budget:
    """Stop after a number of labels.

    Parameters
    ----------
    labels : int
        The number of labels.
    """

    labels: int

    def __post_init__(self) -> None:
        checks.integer(self.labels, "labels of Budget", 1)

    def reason(self, progress: LabellingProgress) -> str | None:
        """Return the reason to stop, or None."""
        if progress.labels < self.labels:
            return None
        return f"{progress.labels} labels, the budget of {self.labels} is spent"


@dataclass(frozen=True)
class GainBelow:
    """Stop when the next batch brings less than a limit, as the members expect and in the mean of simulated projects.

    Parameters
    ----------
    gain : float
        The limit, in the Brier score.

    Notes
    -----
    The expectation of the members alone has stopped ensembles where ten points of accuracy were still to come. Below 20
    labels, and for batches outside of 10 to 100, nothing was simulated, and this rule never says stop.
    """

    gain: float

    def __post_init__(self) -> None:
        checks.within(self.gain, "gain of GainBelow", 0)

    def reason(self, progress: LabellingProgress) -> str | None:
        """Return the reason to stop, or None."""
        forecast = progress.forecast
        if forecast is None or forecast.experience is None:
            return None
        expected, experience = forecast.gain + forecast.standard_error, forecast.experience.mean
        if max(expected, experience) >= self.gain:
            return None
        return (
            f"the next {forecast.size} labels lower the Brier score by {experience:.3g} in the mean of simulated"
            f" projects and by at most {expected:.3g} as the members expect: both are below {self.gain:g}"
        )


@dataclass(frozen=True)
class RiseBelow:
    """Stop when the next 100 labels are expected to raise the accuracy by less than a limit.

    Parameters
    ----------
    rise : float
        The limit, as a fraction.
    """

    rise: float

    def __post_init__(self) -> None:
        checks.within(self.rise, "rise of RiseBelow", 0, 1)

    def reason(self, progress: LabellingProgress) -> str | None:
        """Return the reason to stop, or None."""
        if progress.rise is None or progress.rise >= self.rise:
            return None
        return f"the next 100 labels are expected to make fewer than {100 * self.rise:g} more of 100 items right"


@dataclass(frozen=True)
class Stable:
    """Stop when the predicted classes of the pool stay the same.

    Parameters
    ----------
    agreement : float
        The share of predicted classes that has to stay the same in each round.
    rounds : int
        The number of last rounds to look at.
    """

    agreement: float = 0.99
    rounds: int = 3

    def __post_init__(self) -> None:
        checks.within(self.agreement, "agreement of Stable", 0, 1)
        checks.integer(self.rounds, "rounds of Stable", 1)

    def reason(self, progress: LabellingProgress) -> str | None:
        """Return the reason to stop, or None."""
        last = progress.agreement[-self.rounds :]
        if len(last) < self.rounds or min(last) < self.agreement:
            return None
        return f"{min(last):.1%} of the predictions stayed the same in each of the last {self.rounds} rounds"


@dataclass(frozen=True)
class Advice:
    """The advice to stop or to go on.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    reasons : tuple of str
        The reason of every rule that says stop.
    """

    stop: bool
    reasons: tuple[str, ...]


def advice(rules: Sequence[StoppingRule], progress: LabellingProgress) -> Advice:
    """Advise to stop if any rule has a reason."""
    reasons = tuple(reason for rule in rules if (reason := rule.reason(progress)) is not None)
    return Advice(bool(reasons), reasons)
