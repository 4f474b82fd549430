"""The demonstration: real active learning on scikit-learn's digits, CoreMSE against random and margin.

An ensemble of logistic regressions, each fitted with its own Bayesian-bootstrap weights, is retrained after every
batch; all strategies start from the same labels at a seed and are measured on the same test images.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from bemps.limits import library_threads
from bemps.selection import select
from bemps.types import Array

STRATEGIES = ("coremse", "margin", "random")


@dataclass(frozen=True)
class Setting:
    """How much the demonstration does."""

    strategies: tuple[str, ...] = STRATEGIES
    seeds: int = 5
    batch: int = 10
    rounds: int = 12
    members: int = 10

    @property
    def steps(self) -> int:
        """Fits of an ensemble in all: what the progress bar counts."""
        return len(self.strategies) * self.seeds * (self.rounds + 1)


@dataclass(frozen=True, eq=False)
class Curves:
    """Test accuracy of every strategy and seed after each round."""

    setting: Setting
    labels: Int[Array, " R"]
    accuracy: dict[str, Float[Array, "S R"]]

    def labels_to_reach(self, strategy: str, accuracy: float) -> int | None:
        """Labels after which the mean curve first is at `accuracy`; None if it never is."""
        there = np.flatnonzero(self.accuracy[strategy].mean(0) >= accuracy)
        return int(self.labels[there[0]]) if len(there) else None


def learning_curves(setting: Setting, progress: Callable[[str, int, int], None]) -> Curves:
    """Play the whole comparison; `progress(strategy, seed, labels)` is called after every fit."""
    import sklearn.linear_model  # noqa: F401  # before its thread pools are held

    accuracy = {}
    with library_threads(1):  # small fits: a second thread only waits for the first
        for strategy in setting.strategies:
            runs = [list(_play(strategy, seed, setting, progress)) for seed in range(setting.seeds)]
            accuracy[strategy] = np.array(runs)
    start = len(_digits()[2](0))
    return Curves(setting, start + setting.batch * np.arange(setting.rounds + 1), accuracy)


@cache
def _digits() -> tuple[tuple[Array, Array], tuple[Array, Array], Callable[[int], Int[Array, " L"]]]:
    """Pool, test set, and the initial labels of a seed."""
    from bemps.data import initial_labels, load

    digits = load("digits")
    pool, test = ((np.asarray(part.items) / 16.0, part.labels) for part in (digits.pool, digits.test))
    return pool, test, lambda seed: initial_labels(digits, seed=seed)  # type: ignore[return-value]


def _play(strategy: str, seed: int, setting: Setting, progress: Callable[[str, int, int], None]) -> Iterator[float]:
    """One strategy at one seed: test accuracy before and after every batch."""
    from sklearn.linear_model import LogisticRegression

    from bemps.members.sklearn_members import SklearnEnsemble

    (x, y), (x_test, y_test), start = _digits()
    labelled = start(seed)
    model = SklearnEnsemble(LogisticRegression(C=30.0, max_iter=200), members=setting.members)
    for step in range(setting.rounds + 1):
        rng = np.random.default_rng([seed, step])
        model.fit(x[labelled], y[labelled], [str(digit) for digit in range(10)], rng)
        progress(strategy, seed, len(labelled))
        yield float((model.predict(x_test).mean(0).argmax(1) == y_test).mean())
        if step < setting.rounds:
            pool = np.setdiff1d(np.arange(len(x)), labelled)
            chosen = select(model.predict(x[pool]), setting.batch, strategy, seed=rng)
            labelled = np.concatenate([labelled, pool[chosen.indices]])
