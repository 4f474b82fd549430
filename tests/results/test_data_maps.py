"""Data maps by hand, and a real training run that finds wrong labels hard."""

from pathlib import Path

import numpy as np
import pytest

from bemps.errors import InputError
from bemps.results.data_maps import REGIONS, acquired_shares, data_map, regions, training_dynamics


def test_the_three_measures_by_hand():
    probs = np.array([[0.2, 0.9], [0.4, 0.9], [0.6, 0.9], [0.8, 0.9]])
    found = data_map(probs, probs > 0.5)
    np.testing.assert_allclose(found.confidence, [0.5, 0.9])
    np.testing.assert_allclose(found.variability, [np.sqrt(0.05), 0], atol=1e-12)  # population: divided by 4, not by 3
    np.testing.assert_allclose(found.correctness, [0.5, 1.0])
    assert [REGIONS[code] for code in found.regions] == ["medium", "easy"]


@pytest.mark.parametrize(
    ("correctness", "region"),
    [
        (1.0, "easy"),
        (0.75, "easy"),
        (0.74, "medium"),
        (0.5, "medium"),
        (0.49, "hard"),
        (0.25, "hard"),
        (0.0, "impossible"),
    ],
)
def test_regions_include_their_lower_bound(correctness, region):
    assert REGIONS[regions(np.array([correctness]))[0]] == region


def test_the_docs_say_where_the_regions_differ_from_the_paper():
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report.md"
    words = " ".join(page.read_text(encoding="utf-8").split())
    assert "The text of the paper has the intervals the other way round" in words


def test_shares_of_every_round():
    codes = np.array([0, 0, 1, 2, 3])
    shares = acquired_shares(codes, [np.array([0, 1]), np.array([1, 2, 3, 4]), np.array([], dtype=np.int64)])
    np.testing.assert_allclose(shares[:2], [[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert np.isnan(shares[2]).all()


def test_no_rounds():
    assert acquired_shares(np.array([0, 1]), []).shape == (0, 4)


def test_wrong_labels_are_impossible_to_learn():
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(y), 40, replace=False)
    told = y.copy()
    told[wrong] = (y[wrong] + 1 + rng.integers(9, size=40)) % 10
    true_class, correct = training_dynamics(x, told, rng, epochs=8)
    found = data_map(true_class, correct)
    assert correct[-1].mean() > 0.9
    assert correct[-1].mean() > correct[0].mean()
    assert (found.regions[wrong] == REGIONS.index("impossible")).mean() > 0.9
    assert (np.delete(found.regions, wrong) == REGIONS.index("easy")).mean() > 0.9


def test_training_is_the_same_from_the_same_seed():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((60, 5)), rng.integers(3, size=60)
    one, other = (training_dynamics(x, y, np.random.default_rng(4), epochs=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("probs", [np.empty((0, 3)), np.array([[1.5, 0.2]]), np.array([[np.nan, 0.2]])])
def test_what_is_refused(probs):
    with pytest.raises(InputError, match="true_class"):
        data_map(probs, np.zeros(probs.shape, dtype=bool))


def test_unlabelled_items_are_refused():
    with pytest.raises(InputError, match="a class code for every item"):
        training_dynamics(np.ones((2, 3)), np.array([0, -1]), np.random.default_rng(0))
