"""The pairwise matrix: hand-computed t, known winners, no spread, too few rounds."""

import numpy as np
import pytest
from making_runs import curve_value, grid, row
from scipy import stats

from bemps.results.learning_curves import collect_curves
from bemps.results.win_matrix import CRITICAL_T, pairwise_matrix, spaced_rounds, t_score


def results(rows):
    return collect_curves({name: [found[name] for found in rows] for name in rows[0]}, (), ("accuracy", "f1", "brier"))


def wins(matrix, first, second):
    return matrix.wins[matrix.names.index(first), matrix.names.index(second)]


@pytest.mark.parametrize(
    ("rounds", "places"),
    [(6, [1, 2, 3, 4, 5]), (11, [2, 4, 6, 8, 10]), (51, [10, 20, 30, 40, 50]), (7, [1, 2, 4, 5, 6]), (5, [])],
)
def test_five_points_maximally_spaced_without_the_first(rounds, places):
    assert spaced_rounds(rounds).tolist() == places


def test_t_by_hand_and_by_scipy():
    first = np.array([0.0, 0.60, 0.70, 0.75, 0.80, 0.84])
    second = np.array([0.0, 0.58, 0.69, 0.72, 0.76, 0.83])
    # differences .02 .01 .03 .04 .01: mean .022, squared deviations sum .00068, sd sqrt(.00017)
    assert t_score(first, second) == pytest.approx(np.sqrt(5) * 0.022 / np.sqrt(0.00017))
    assert t_score(first, second) == pytest.approx(stats.ttest_rel(first[1:], second[1:]).statistic)
    assert pytest.approx(stats.t.ppf(0.975, 4), abs=1e-3) == CRITICAL_T


def test_no_spread():
    flat = np.full(6, 0.5)
    assert t_score(flat, flat) == 0
    assert t_score(flat + 0.1, flat) == np.inf
    assert t_score(flat, flat + 0.1) == -np.inf
    assert np.isnan(t_score(flat[:5], flat[:5]))


def test_known_winners_on_every_dataset_and_batch_size():
    found = results(grid(datasets=("digits", "sst5"), batches=(5, 10)))
    matrix = pairwise_matrix(found, "f1")
    assert wins(matrix, "coremse", "random") == 4
    assert wins(matrix, "coremse", "margin") == 4
    assert wins(matrix, "margin", "random") == 4
    assert wins(matrix, "random", "margin") == 0
    assert matrix.totals.tolist() == [8, 4, 0]
    assert (matrix.compared + np.eye(3, dtype=int) * 4 == 4).all()
    of_five = pairwise_matrix(found, "f1", [place for place in found.curves if place.batch_size == 5])
    assert of_five.totals.tolist() == [4, 2, 0]


def test_lower_is_better_for_the_brier_score():
    matrix = pairwise_matrix(results(grid()), "brier")
    assert wins(matrix, "coremse", "random") == 1
    assert wins(matrix, "random", "coremse") == 0


def test_a_tie_counts_for_nobody():
    rows = grid(strategies=("random",)) + [r | {"strategy": "copy"} for r in grid(strategies=("random",))]
    matrix = pairwise_matrix(results(rows), "accuracy")
    assert matrix.wins.sum() == 0
    assert matrix.compared.sum() == 2


def test_only_shared_seeds_are_averaged():
    """A lucky extra seed of one contestant does not decide."""
    rows = grid(strategies=("random",), seeds=2) + [
        row("lucky", seed, number, curve_value("random", seed, number, 10) + (0.4 if seed == 2 else -0.01 * number))
        for seed in (0, 1, 2)
        for number in range(11)
    ]
    matrix = pairwise_matrix(results(rows), "accuracy")
    assert wins(matrix, "random", "lucky") == 1


def test_too_few_rounds_are_not_compared_and_said():
    matrix = pairwise_matrix(results(grid(rounds=4)), "f1")
    assert matrix.compared.sum() == 0
    assert len(matrix.notes) == 3


def test_ranked_puts_the_most_wins_first():
    matrix = pairwise_matrix(results(grid(strategies=("random", "margin", "coremse"))), "f1").ranked()
    assert matrix.names == ("coremse", "margin", "random")
    assert matrix.totals.tolist() == [2, 1, 0]
    assert matrix.wins[0].tolist() == [0, 1, 1]
