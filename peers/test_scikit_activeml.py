"""BADGE, least confidence, margin and entropy: against scikit-activeml. Where it fails, the test says how.

E members, N candidates, K classes, H features, B picks.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from making import predictions, weights_for
from scipy.stats import chi2_contingency
from skactiveml.base import SkactivemlClassifier
from skactiveml.pool import Badge, UncertaintySampling, uncertainty_scores

import bemps
from bemps.acquisition.baselines import badge, entropy, least_confidence, margin

ONE = np.ones(1)


class Known(SkactivemlClassifier):
    """A classifier whose probabilities are given: both sides see the same ones."""

    def __init__(self, probas: np.ndarray, missing_label: float = np.nan) -> None:
        super().__init__(classes=np.arange(probas.shape[1]), missing_label=missing_label)
        self.probas = probas

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> "Known":
        raise AssertionError("nothing is to be fitted here")

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        assert len(X) == len(self.probas)
        return self.probas


def query(strategy: Any, features: np.ndarray, probas: np.ndarray, B: int, **options: Any) -> Any:
    unlabelled = np.full(len(features), np.nan)
    return strategy.query(features, unlabelled, Known(probas), fit_clf=False, batch_size=B, **options)


# ---- BADGE: our draws are made to follow theirs, so that the chances of every step can be compared


class Following(np.random.Generator):
    """Draws the items it is told to, and keeps the chances that each draw was asked to have."""

    def __init__(self, script: list[int]) -> None:
        super().__init__(np.random.PCG64(0))
        self.script, self.chances = list(script), list[np.ndarray]()

    def choice(self, *args: Any, **kwargs: Any) -> Any:
        self.chances.append(kwargs["p"])
        return self.script.pop(0)


def anywhere(N: int, H: int, K: int, zeros: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([N, H, K])
    return predictions(rng, 1, N, K, zeros=zeros)[0], 2 * rng.normal(size=(N, H)) + 1


def far_from_the_origin(N: int, H: int, K: int, zeros: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Gradients nearer to each other than to zero: similar features, the same guess with similar chances."""
    rng = np.random.default_rng([N, H, K])
    chances = np.r_[K + 1.0, np.ones(K - 1)] * rng.uniform(0.95, 1.05, (N, K))
    if K > 2:
        chances[:, -1] *= rng.random(N) >= zeros / 4
    return chances / chances.sum(1, keepdims=True), 4 + 0.3 * rng.normal(size=(N, H))


def both(q: np.ndarray, features: np.ndarray, B: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared distances to the picks before at steps 1.. (ours), squared norms, and their chances at all steps."""
    their_picks, utilities = query(Badge(random_state=0), features, q, B, return_utilities=True)
    rng = Following(their_picks[1:])
    picks, distances = badge(q[None], ONE, features, B, rng)
    np.testing.assert_array_equal(picks, their_picks)  # the first is our own choice
    chances, theirs = np.array(rng.chances), np.nan_to_num(utilities)
    at_pick = chances[np.arange(B - 1), picks[1:]]
    return chances * (distances[1:] / at_pick)[:, None], theirs[0] * distances[0] / theirs[0].max(), theirs


SHAPES = [(30, 5, 2, 6), (80, 16, 4, 20), (50, 3, 10, 25), (200, 64, 3, 30)]


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize(("N", "H", "K", "B"), SHAPES)
def test_badge_step_by_step(N: int, H: int, K: int, B: int, zeros: float) -> None:
    """The first pick, and at every later step the D^2 chance of every item given the same picks before."""
    squared, norms, theirs = both(*far_from_the_origin(N, H, K, zeros), B)
    assert (squared < norms).all()
    np.testing.assert_allclose(squared / squared.sum(1, keepdims=True), theirs[1:], rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize(("N", "H", "K", "B"), SHAPES)
def test_badge_where_the_peer_takes_the_origin_for_a_pick(N: int, H: int, K: int, B: int, zeros: float) -> None:
    """Its D^2 is min(|g|^2, distance to the picks). In BADGE the first centre is an item, so ours has no origin."""
    squared, norms, theirs = both(*anywhere(N, H, K, zeros), B)
    assert (norms < squared).any()
    with_origin = np.minimum(squared, norms)
    np.testing.assert_allclose(with_origin / with_origin.sum(1, keepdims=True), theirs[1:], rtol=1e-8, atol=1e-15)


def test_badge_second_picks_have_the_same_distribution() -> None:
    """Free draws of both over many seeds: a chi-squared test of the two tables of second picks."""
    q, features = far_from_the_origin(10, 4, 3)
    seeds = range(1_500)
    ours = [badge(q[None], ONE, features, 2, np.random.default_rng(seed))[0][1] for seed in seeds]
    theirs = [query(Badge(random_state=seed), features, q, 2)[1] for seed in seeds]
    table = np.array([np.bincount(picks, minlength=10) for picks in (ours, theirs)])
    first = table.sum(0) == 0
    assert first.sum() == 1
    assert chi2_contingency(table[:, ~first]).pvalue > 0.01


def test_badge_with_equal_rows_where_the_peer_repeats_itself() -> None:
    """Its distance of an item to itself is not exactly zero, so that among equal rows it draws taken ones again."""
    q, features = (np.repeat(rows, 10, axis=0) for rows in anywhere(3, 6, 4))
    for seed in range(5):
        picks, _ = badge(q[None], ONE, features, 10, np.random.default_rng(seed))
        assert len(set(picks.tolist())) == 10
    assert any(len(set(query(Badge(random_state=seed), features, q, 10))) < 10 for seed in range(5))


# ---- uncertainties

METHODS = {"least_confident": least_confidence, "margin_sampling": margin, "entropy": entropy}
NAMES = {"least_confident": "least-confidence", "margin_sampling": "margin", "entropy": "entropy"}
Uncertainty = Callable[[np.ndarray, np.ndarray], np.ndarray]


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize(("E", "N", "K"), [(1, 40, 2), (5, 300, 4), (20, 100, 10)])
@pytest.mark.parametrize(("method", "ours"), METHODS.items())
def test_uncertainty(*, method: str, ours: Uncertainty, E: int, N: int, K: int, zeros: float) -> None:
    """On the mean prediction, also a weighted one."""
    rng = np.random.default_rng([E, N, K])
    probs, weights = predictions(rng, E, N, K, zeros=zeros), weights_for(rng, E)
    theirs = uncertainty_scores(np.einsum("e,enk->nk", weights, probs), method=method)
    np.testing.assert_allclose(ours(probs, weights), theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("method", "strategy"), NAMES.items())
def test_selected_items(method: str, strategy: str) -> None:
    """`bemps.select` and their query ask for the same items in the same order."""
    rng = np.random.default_rng(7)
    probs, features = predictions(rng, 5, 200, 4), rng.normal(size=(200, 3))
    theirs = query(UncertaintySampling(method=method, random_state=0), features, probs.mean(0), 20)
    np.testing.assert_array_equal(bemps.select(probs, 20, strategy).indices, theirs)
