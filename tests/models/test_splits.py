import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.errors import InputError
from bemps.models.validation_splits import SPLITS, Fixed, holdout, plan_splits

CLASSES = ["a", "b", "c", "d", "e"]


def plan(validation, labels, members=3, seed=0):
    labels = np.asarray(labels)
    items = [f"item {i}" for i in range(len(labels))]
    return plan_splits(validation, items, labels, classes=CLASSES, members=members, rng=np.random.default_rng(seed))


@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=60), seed=st.integers(0, 5))
def test_holdout_is_a_partition_with_something_to_train_on(labels, seed):
    labels = np.array(labels)
    split = holdout(labels, np.random.default_rng(seed))
    assert sorted([*split.train, *split.valid]) == list(range(len(labels)))
    assert len(split.train) > 0
    assert (len(split.valid) == 0) == (len(labels) == 1)


@given(sizes=st.lists(st.integers(2, 15), min_size=1, max_size=5), seed=st.integers(0, 5))
def test_holdout_is_stratified_when_every_class_has_two(sizes, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    split = holdout(labels, np.random.default_rng(seed))
    assert set(labels[split.train]) == set(labels)
    assert len(split.valid) == max(1, round(0.3 * len(labels)))
    shares = np.bincount(labels[split.valid], minlength=len(sizes))
    assert (np.abs(shares - 0.3 * np.array(sizes)) <= 1).all()


def test_a_class_of_one_label_stays_in_training():
    labels = np.array([0] * 6 + [1] * 6 + [2])
    for seed in range(20):
        assert 12 in holdout(labels, np.random.default_rng(seed)).train


@pytest.mark.parametrize(
    ("labels", "train", "valid"),
    [([0], 1, 0), ([0, 1], 1, 1), ([2, 2], 1, 1), ([0, 1, 2], 2, 1), ([3] * 10, 7, 3)],
)
def test_the_smallest_starts(labels, train, valid):
    split = holdout(np.array(labels), np.random.default_rng(0))
    assert (len(split.train), len(split.valid)) == (train, valid)


def test_ties_between_classes_are_drawn_not_given_to_the_first():
    labels = np.repeat(np.arange(5), 2)
    held = {int(code) for seed in range(40) for code in labels[holdout(labels, np.random.default_rng(seed)).valid]}
    assert held == set(range(5))


def test_dynamic_differs_between_members_and_constant_does_not():
    labels = np.tile(np.arange(5), 10)
    dynamic, constant = plan("dynamic", labels), plan("constant", labels)
    assert len({tuple(split.valid) for split in dynamic.splits}) == 3
    assert len({tuple(split.valid) for split in constant.splits}) == 1
    again = plan("dynamic", labels)
    assert [tuple(s.train) for s in dynamic.splits] == [tuple(s.train) for s in again.splits]


def test_none_trains_on_everything():
    made = plan("none", [0, 1, 1, 2])
    assert all(split.train.tolist() == [0, 1, 2, 3] and len(split.valid) == 0 for split in made.splits)


def test_fixed_validation_is_appended_and_never_trains():
    fixed = Fixed(["v0", "v1"], np.array([4, 0]))
    made = plan(fixed, [0, 1, 2])
    assert made.items == ["item 0", "item 1", "item 2", "v0", "v1"]
    assert made.labels.tolist() == [0, 1, 2, 4, 0]
    assert all(s.train.tolist() == [0, 1, 2] and s.valid.tolist() == [3, 4] for s in made.splits)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'dynamic'"):
        plan("dynamc", [0, 1])
    assert sorted(SPLITS) == ["constant", "dynamic", "none"]


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1])
def test_fractions_that_leave_nothing_are_refused(fraction):
    with pytest.raises(InputError):
        holdout(np.array([0, 1]), np.random.default_rng(0), fraction)


def test_a_fixed_set_with_labels_outside_the_classes_is_refused():
    with pytest.raises(InputError):
        plan(Fixed(["v"], np.array([5])), [0, 1])
