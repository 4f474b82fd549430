"""Labels to reach a score and what that saves, by hand."""

import numpy as np
import pytest

from bemps.statistics.curves import Curve
from bemps.statistics.saving import labels_to_reach, saving

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
    found = saving(FAST, RANDOM, metric, np.random.default_rng(0))
    assert found.needed == pytest.approx(60)
    assert found.baseline == pytest.approx(100)
    assert found.share == pytest.approx(0.4)
    assert (found.low, found.high) == pytest.approx((0.4, 0.4))


def test_never_reached_is_said_as_minus_infinity():
    found = saving(RANDOM, FAST, "accuracy", np.random.default_rng(0))
    assert found.needed == np.inf
    assert found.share == -np.inf
    assert found.high == -np.inf


def test_a_goal_that_the_baseline_misses_has_no_share():
    found = saving(FAST, RANDOM, "accuracy", np.random.default_rng(0), goal=0.8)
    assert found.needed == pytest.approx(80)
    assert np.isnan(found.share)
    assert np.isnan(found.low)


def test_only_shared_seeds_are_used():
    other = curve(*[FAST.values["accuracy"][0]] * 2, seeds=(1, 7))
    assert saving(other, RANDOM, "accuracy", np.random.default_rng(0)).seeds == 1
    assert saving(curve([0.5] * 5, seeds=(9,)), RANDOM, "accuracy", np.random.default_rng(0)) is None


def test_the_bootstrap_interval_contains_the_estimate_and_widens_with_spread():
    rng = np.random.default_rng(5)

    def drawn(spread):
        rows = np.linspace(0.5, 0.9, 5) + spread * rng.standard_normal((6, 1))
        base = np.linspace(0.5, 0.7, 5) + spread * rng.standard_normal((6, 1))
        return saving(curve(*rows), curve(*base), "accuracy", np.random.default_rng(0), draws=400)

    narrow, wide = drawn(0.002), drawn(0.03)
    assert narrow.low <= narrow.share <= narrow.high
    assert wide.low <= wide.share <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (2, "over only 2 seeds, meant for 95 of 100 cases, true in about 60 to 79"),
        (6, "over only 6 seeds, meant for 95 of 100 cases, true in about 75 to 87"),
        (10, "over 10 seeds, meant for 95 of 100 cases, true in about 83 to 91"),
        (20, "over 20 seeds, meant for 95 of 100 cases, true in 83 or more"),
    ],
)
def test_an_interval_of_few_seeds_says_how_often_it_is_true(seeds, words):
    rows = [FAST.values["accuracy"][0]] * seeds
    found = saving(curve(*rows), curve(*[RANDOM.values["accuracy"][0]] * seeds), "accuracy", np.random.default_rng(0))
    assert words in found.interval_note
