"""Is it still worth labelling? What the next batch is expected to bring, and rules that say stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.gain.joint import joint_gain_at
from bemps.learner.forecast_calibration import BRIER, FEWEST, Improvement, improvement
from bemps.types import Array

SMALLEST, LARGEST = 10, 100  # batches that the experience is about


@dataclass(frozen=True)
class Forecast:
    """What the next batch brings, in the Brier score of the pool (smaller is better there).

    gain            what the members expect of the batch by their own account. It is right if one of them is the truth;
                    trees, masks and ensembles are no draws from a posterior, and theirs is far off (docs/forecasts.md)
    standard_error  of that account, the estimation points taken as a sample; it is not the error of the forecast
    remaining       how far the members differ: their account is never more
    size            items in the batch
    experience      what came in simulated projects with as many labels and classes, nine of ten times between its low
                    and high; None where none was like this: below 20 labels, or batches outside of 10 to 100
    """

    gain: float
    standard_error: float
    remaining: float
    size: int
    experience: Improvement | None = None

    def __str__(self) -> str:
        own = f"the members expect {self.gain:.4f} of the {self.remaining:.4f} that they differ by"
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
    """The joint expected gain of a batch at each estimation point, averaged, and what came elsewhere.

    The label configurations of a large batch are drawn, so that the sum may come out above what the members leave to
    gain, which it cannot be: it is cut there.
    """
    gains = joint_gain_at(probs, batch, points, weights, samples=1_000, rng=np.random.default_rng(seed))
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("inf")
    mean = np.tensordot(weights, points, 1)
    left = float(np.einsum("e,emk->", weights, (points - mean) ** 2)) / points.shape[1]
    tried = labels >= FEWEST and SMALLEST <= len(batch) <= LARGEST
    experience = improvement(BRIER, labels, points.shape[2], len(batch)) if tried else None
    return Forecast(min(float(gains.mean()), left), error, left, len(batch), experience)


@dataclass(frozen=True)
class Progress:
    """What a stopping rule may look at."""

    labels: int
    forecast: Forecast | None
    agreement: tuple[float, ...]  # share of pool predictions unchanged, after each of the last fits
    rise: float | None = None  # expected rise of the accuracy by the next 100 labels, from simulated projects


@runtime_checkable
class Rule(Protocol):
    """A stopping rule: the reason to stop, or None."""

    def reason(self, progress: Progress) -> str | None: ...


@dataclass(frozen=True)
class Budget:
    """Stop after so many labels."""

    labels: int

    def reason(self, progress: Progress) -> str | None:
        if progress.labels < self.labels:
            return None
        return f"{progress.labels} labels, the budget of {self.labels} is spent"


@dataclass(frozen=True)
class GainBelow:
    """Stop when the next batch brings less than this, both by the members' account and by experience.

    The members' account alone has stopped ensembles where ten points of accuracy were still to come.
    """

    gain: float

    def reason(self, progress: Progress) -> str | None:
        told = progress.forecast
        if told is None or told.gain + told.standard_error >= self.gain:
            return None
        if told.experience is not None and told.experience.mean >= self.gain:
            return None
        return f"{told}: below {self.gain:g}"


@dataclass(frozen=True)
class RiseBelow:
    """Stop when the next 100 labels are expected to raise the accuracy by less than this."""

    rise: float

    def reason(self, progress: Progress) -> str | None:
        if progress.rise is None or progress.rise >= self.rise:
            return None
        return f"the next 100 labels are expected to make fewer than {100 * self.rise:g} more of 100 right"


@dataclass(frozen=True)
class Stable:
    """Stop when at least `agreement` of the pool's predicted classes stayed the same in each of the last rounds."""

    agreement: float = 0.99
    rounds: int = 3

    def reason(self, progress: Progress) -> str | None:
        last = progress.agreement[-self.rounds :]
        if len(last) < self.rounds or min(last) < self.agreement:
            return None
        return f"{min(last):.1%} of the predictions stayed the same in each of the last {self.rounds} rounds"


@dataclass(frozen=True)
class Advice:
    """Stop or go on, with the reasons of every rule that says stop."""

    stop: bool
    reasons: tuple[str, ...]


def advice(rules: Sequence[Rule], progress: Progress) -> Advice:
    """Any rule may stop."""
    reasons = tuple(reason for rule in rules if (reason := rule.reason(progress)) is not None)
    return Advice(bool(reasons), reasons)
