"""Calibration over epochs belongs to the very training of the data map."""

import numpy as np
import pytest

from bemps.experiments.epoch_training import softmax_epochs
from bemps.metrics import BIN_KINDS
from bemps.results import ece_of_epochs, reliability, training_dynamics


def cloud(K, size=240, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=size)
    return rng.standard_normal((size, 6)) + labels[:, None], labels


def test_errors_are_those_of_the_training_of_the_data_map():
    """With two classes the true-class probability tells the confidence: the data map knows what the error must be."""
    x, y = cloud(2)
    true_class, correct = training_dynamics(x, y, np.random.default_rng(3), epochs=5)
    errors = ece_of_epochs(x, y, x, y, np.random.default_rng(3), epochs=5)
    confidence = np.maximum(true_class, 1 - true_class)
    for kind in BIN_KINDS:
        by_hand = [reliability(c, hit, kind=kind).error for c, hit in zip(confidence, correct, strict=True)]
        np.testing.assert_allclose(errors[kind], by_hand, atol=1e-6)


def test_test_items_are_on_the_scale_of_the_pool():
    """Other units of the features, the same numbers; units of the test items alone are another matter."""
    x, y = cloud(3)
    other, labels = cloud(3, size=90, seed=1)
    first, moved, *wrong = (
        ece_of_epochs(pool, y, test, labels, np.random.default_rng(0), epochs=3)["equal-mass"]
        for pool, test in ((x, other), (10 * x + 5, 10 * other + 5), (x, 10 * other), (x, other + 5))
    )
    np.testing.assert_allclose(first, moved, atol=1e-5)
    assert all(np.abs(first - one).max() > 0.05 for one in wrong)


def test_a_class_that_is_not_there_is_never_right():
    x, y = cloud(2)
    errors = ece_of_epochs(x, y, x, np.full(len(x), -1), np.random.default_rng(0), epochs=2)
    probs = [found.max(1).mean() for found in softmax_epochs(x, y, x, np.random.default_rng(0), epochs=2)]
    np.testing.assert_allclose(errors["sweep"], probs, atol=1e-6)


@pytest.mark.parametrize("epochs", [1, 7])
def test_one_value_for_every_epoch(epochs):
    x, y = cloud(3, size=40)
    errors = ece_of_epochs(x, y, x, y, np.random.default_rng(0), epochs=epochs)
    assert {kind: len(values) for kind, values in errors.items()} == dict.fromkeys(BIN_KINDS, epochs)
