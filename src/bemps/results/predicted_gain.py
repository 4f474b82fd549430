"""A test of a posterior: the gain that it predicts for a batch against the gain realised after retraining.

    predicted   joint expected gain of the batch in the Brier score, over the test items (`bemps.joint_gain`)
    realised    fall of the Brier score on the test labels when the model is fitted again with the batch's true labels

Over many batches of one size the two should rank alike. A correlation near zero says that the members differ in a
way that labels do not settle, and that expected gains from them are noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.acquisition import batch_rules
from bemps.errors import InputError
from bemps.gain import core_mse
from bemps.gain.joint import joint_gain
from bemps.metrics import brier
from bemps.models.base import HasWeights, Items, Model, join, take
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """Predicted and realised gains of batches, and how well they agree.

    Attributes
    ----------
    predicted : array of float (R,)
        Predicted gain of each batch.
    realised : array of float (R,)
        Realised gain of each batch.
    correlation : float
        Spearman's rank correlation of the two.
    p_value : float
        Its two-sided p-value.
    """

    predicted: Float[Array, " R"]
    realised: Float[Array, " R"]
    correlation: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"{len(self.predicted)} batches: predicted gain {self.predicted.mean():.4f}, realised "
            f"{self.realised.mean():.4f}, rank correlation {self.correlation:.2f} (p = {self.p_value:.2g})"
        )


def gain_diagnostic(
    model: Model,
    labelled: tuple[Items, Int[Array, " L"]],
    pool: tuple[Items, Int[Array, " N"]],
    test: tuple[Items, Int[Array, " M"]],
    classes: Sequence[str],
    *,
    batch_size: int = 10,
    batches: int = 30,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnostic:
    """Compare the gain that a model predicts for batches with the gain after it is fitted with their labels.

    Parameters
    ----------
    model : Model
        The model to test. It is fitted `batches` + 1 times.
    labelled : tuple of items and codes
        Labelled items that every fit uses.
    pool : tuple of items and codes
        Items from which batches are drawn, with their true labels.
    test : tuple of items and codes
        Items on which gains are predicted and measured.
    classes : sequence of str
        Names of the classes.
    batch_size : int
        Items in a batch.
    batches : int
        Number of batches, at least 3.
    seed : int
        Seed of the batches, and of every fit, so that a difference comes from the labels.
    progress : callable, optional
        Is called with the number of batches done and the number of all.

    Returns
    -------
    Diagnostic
        Predicted and realised gains, and their rank correlation.

    Raises
    ------
    InputError
        An argument is not valid, or the predicted gains of all batches are equal.

    Notes
    -----
    Half of the batches are drawn uniformly, half by expected gain, so that the predicted gains differ.
    """
    count = int(checks.within(batches, "batches", 3))
    model.fit(*labelled, classes, np.random.default_rng([seed, 0]))
    at_pool, at_test, weights = model.predict(pool[0]), model.predict(test[0]), _weights(model)
    scores = core_mse(at_pool, at_test, weights).scores
    drawn = _batches(scores, checks.batch_size(batch_size, len(scores)), count, np.random.default_rng([seed, 1]))
    predicted = [joint_gain(at_pool, picks, at_test, weights=weights, seed=seed) for picks in drawn]
    before = brier(_mean(at_test, weights), test[1])
    realised = []
    for done, picks in enumerate(drawn, start=1):
        more = (join(labelled[0], take(pool[0], picks)), np.concatenate([labelled[1], pool[1][picks]]))
        model.fit(*more, classes, np.random.default_rng([seed, 0]))
        realised.append(before - brier(_mean(model.predict(test[0]), _weights(model)), test[1]))
        if progress is not None:
            progress(done, count)
    return _compared(np.array(predicted), np.array(realised))


def _weights(model: Model) -> Float[Array, " E"] | None:
    return model.weights if isinstance(model, HasWeights) else None


def _mean(probs: Float[Array, "E N K"], weights: Float[Array, " E"] | None) -> Float[Array, "N K"]:
    return np.average(probs, axis=0, weights=weights)


def _batches(scores: Float[Array, " N"], size: int, count: int, rng: np.random.Generator) -> list[Int[Array, " n"]]:
    """Batches, half of them drawn uniformly, half with chance proportional to the squared gain."""
    return [batch_rules.stochastic(scores, size, rng, kind="power", beta=2.0 * (i % 2)) for i in range(count)]


def _compared(predicted: Float[Array, " R"], realised: Float[Array, " R"]) -> Diagnostic:
    from scipy.stats import spearmanr

    if np.ptp(predicted) <= 1e-15:  # rounding: gains are of the order of one or less
        raise InputError(
            "model",
            expected="members that differ, so that batches have different expected gains",
            got=f"the same gain {predicted[0]:.3g} for every batch",
            fix="Use more members, or members that are fitted differently.",
        )
    if np.ptp(realised) == 0:  # labels change nothing, so nothing was predicted
        return Diagnostic(predicted, realised, 0.0, 1.0)
    result = spearmanr(predicted, realised)
    return Diagnostic(predicted, realised, float(result.statistic), float(result.pvalue))
