"""Labels to reach a score and what that saves, by hand."""

import numpy as np
import pytest

from bemps.results.label_savings import labels_to_reach, saving
from bemps.results.learning_curves import Curve

LABELS = np.array([20, 40, 60, 80, 100])


def curve(*rows, seeds=None):
    values = np.array(rows, dtype=float)
    return Curve("x", "x", (), tuple(seeds or range(len(rows))), LABELS, {"accuracy": values, "brier": 1 - values})


RANDOM = curve([0.5, 0.55, 0.6, 0.65, 0.7], [0.5, 0.55, 0.6, 0.65, 0.7])
FAST = curve([0.5, 0.6, 0.7, 0.8, 0.9], [0.5, 0.6, 0.7, 0.8, 0.9])


@pytest.mark.parametrize(("goal", "labels"), [(0.5, 20), (0.4, 20), (0.65, 50), (0.9, 100), (0.91, np.inf)])
def test_labels_to_reach_with_straight_lines_between_rounds(goal, labels):
    assert labels_to_reach(LABELS, FAST.values["accuracy"][0], goal) == pytest.approx(labels)


def test_the_first_time_counts():
    assert labels_to_reach(LABELS, np.array([0.1, 0.5, 0.3, 0.6, 0.7]), 0.5) == 40


def test_lower_is_better():
    assert labels_to_reach(LABELS, np.array([0.5, 0.4, 0.3, 0.2, 0.1]), 0.25, better=-1) == pytest.approx(70)


@pytest.mark.parametrize("metric", ["accuracy", "brier"])
def test_saving_against_what_random_reaches(metric):
    found = saving(FAST, RANDOM, metric)
    assert found.needed == pytest.approx(60)
    assert found.baseline == pytest.approx(100)
    assert found.share == pytest.approx(0.4)
    assert (found.low, found.high) == pytest.approx((0.4, 0.4))


def test_never_reached_is_said_as_minus_infinity():
    found = saving(RANDOM, FAST, "accuracy")
    assert found.needed == np.inf
    assert found.share == -np.inf
    assert found.high == -np.inf


def test_a_goal_that_the_baseline_misses_has_no_share():
    found = saving(FAST, RANDOM, "accuracy", goal=0.8)
    assert found.needed == pytest.approx(80)
    assert np.isnan(found.share)
    assert np.isnan(found.low)


def test_only_shared_seeds_are_used():
    other = curve(*[FAST.values["accuracy"][0]] * 2, seeds=(1, 7))
    assert saving(other, RANDOM, "accuracy").seeds == 1
    assert saving(curve([0.5] * 5, seeds=(9,)), RANDOM, "accuracy") is None


def test_the_interval_contains_the_estimate_and_widens_with_spread():
    rng = np.random.default_rng(5)

    def drawn(spread):
        rows = np.linspace(0.5, 0.9, 5) + spread * rng.standard_normal((6, 1))
        base = np.linspace(0.5, 0.7, 5) + spread * rng.standard_normal((6, 1))
        return saving(curve(*rows), curve(*base), "accuracy")

    narrow, wide = drawn(0.002), drawn(0.03)
    assert narrow.low <= narrow.share <= narrow.high
    assert wide.low <= wide.share <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


def test_the_interval_is_where_the_t_interval_of_the_distance_to_the_goal_reaches_zero():
    from scipy.stats import ttest_rel

    rows = np.array([0.5, 0.6, 0.7, 0.8, 0.9]) + np.array([[-0.01], [0.0], [0.02]])
    found = saving(curve(*rows), curve(*[RANDOM.values["accuracy"][0]] * 3), "accuracy")
    half = ttest_rel(rows[:, 0], np.zeros(3)).confidence_interval().high - rows[:, 0].mean()
    mean = rows[:, 0].mean()
    earliest, latest = (20 + (0.7 - mean + side * half) / 0.1 * 20 for side in (-1, 1))
    assert (found.low, found.high) == pytest.approx((1 - latest / 100, 1 - earliest / 100))


def test_the_interval_has_no_lower_end_where_the_goal_may_never_be_reached():
    rows = np.array([0.5, 0.55, 0.6, 0.66, 0.71]) + np.array([[-0.05], [0.0], [0.05]])
    found = saving(curve(*rows), curve(*[RANDOM.values["accuracy"][0]] * 3), "accuracy")
    assert found.low == -np.inf
    assert 0 < found.share < found.high < 1


def test_the_interval_holds_the_saving_of_noisy_curves():
    """Where a percentile bootstrap of five seeds held it in 80 of 100 draws."""
    rng, ours, random = np.random.default_rng(3), [0.5, 0.62, 0.69, 0.73, 0.75], [0.5, 0.58, 0.64, 0.68, 0.7]
    truth = saving(curve(ours), curve(random), "accuracy").share
    held_in = 0
    for _ in range(200):
        noise = 0.02 * rng.standard_normal((2, 5, 5))
        found = saving(curve(*(ours + noise[0])), curve(*(random + noise[1])), "accuracy")
        held_in += found.low <= truth <= found.high
    assert held_in >= 186


@pytest.mark.parametrize(
    ("seeds", "words"),
    [(2, "95 %, t over only 2 seeds, use 10 or more"), (9, "only 9 seeds"), (10, "95 %, t over 10 seeds")],
)
def test_an_interval_of_few_seeds_comes_with_a_warning(seeds, words):
    rows = [FAST.values["accuracy"][0]] * seeds
    found = saving(curve(*rows), curve(*[RANDOM.values["accuracy"][0]] * seeds), "accuracy")
    assert words in found.interval_note
    assert ("only" in found.interval_note) == (seeds < 10)
