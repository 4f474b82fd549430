"""Initial labels, parts of a pool, hold-outs: stratified, repeatable, and blind to the order of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.data import NO_LABEL, initial_labels, stratified_holdout, table
from bemps.data.sampling import sampled_rows
from bemps.errors import InputError

codes = st.lists(st.integers(-1, 5), min_size=1, max_size=80).map(np.array).filter(lambda y: (y >= 0).any())


@given(codes, st.data(), st.integers(0, 5))
def test_initial_labels_are_distinct_labelled_and_cover_the_classes(labels, data, seed: int) -> None:
    labelled, present = np.flatnonzero(labels != NO_LABEL), np.unique(labels[labels != NO_LABEL])
    size = data.draw(st.integers(1, len(labelled)))
    drawn = initial_labels(labels, size, seed=seed)
    assert len(drawn) == len(set(drawn.tolist())) == size
    assert set(drawn.tolist()) <= set(labelled.tolist())
    assert len(np.unique(labels[drawn])) == min(size, len(present))


def test_initial_labels_follow_the_class_shares() -> None:
    labels = np.repeat([0, 1, 2], [700, 200, 100])
    assert np.bincount(labels[initial_labels(labels, 100)]).tolist() == [70, 20, 10]
    rare = np.repeat([0, 1, 2], [990, 9, 1])
    assert np.bincount(rare[initial_labels(rare, 10)]).tolist() == [8, 1, 1]


def test_initial_labels_are_the_same_at_a_seed_and_others_at_another() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 500)
    assert np.array_equal(initial_labels(labels, 26, seed=3), initial_labels(labels, 26, seed=3))
    assert not np.array_equal(initial_labels(labels, 26, seed=3), initial_labels(labels, 26, seed=4))


def test_initial_labels_of_a_table_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    whole = table([f"text {n}" for n in range(300)], labels=rng.integers(0, 5, 300))
    shuffled = whole[rng.permutation(300)]
    drawn = initial_labels(whole, seed=2)
    assert len(drawn) == 26
    assert set(whole[drawn].ids) == set(shuffled[initial_labels(shuffled, seed=2)].ids)


def test_initial_labels_of_images_are_twenty() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (60, 4, 4), dtype=np.uint8)
    assert len(initial_labels(table(pixels, labels=np.arange(60) % 10))) == 20


def test_initial_labels_skip_rows_without_a_label() -> None:
    half = table([f"t{n}" for n in range(60)], labels=["x", ""] * 30)
    assert (initial_labels(half, 10) % 2 == 0).all()


@pytest.mark.parametrize("size", [0, 4])
def test_a_size_that_cannot_be(size: int) -> None:
    with pytest.raises(InputError, match="number of initial labels: expected 1 to 3, the labelled items"):
        initial_labels(np.array([0, 1, -1, 1]), size)


def test_refusals_of_initial_labels() -> None:
    with pytest.raises(InputError, match="table: expected labels; got none"):
        initial_labels(table(["a", "b"]))
    with pytest.raises(InputError, match="seed: expected a whole number, at least 0; got -1"):
        initial_labels(np.array([0, 1]), 2, seed=-1)


@given(codes, st.floats(0.05, 0.95), st.integers(0, 5))
def test_a_holdout_splits_and_keeps_every_class_on_both_sides(labels, share: float, seed: int) -> None:
    counts = np.bincount(labels[labels != NO_LABEL])
    if counts.max() < 2:
        with pytest.raises(InputError, match="labels: expected a class with two items"):
            stratified_holdout(labels, share, np.random.default_rng(seed))
        return
    kept, held = stratified_holdout(labels, share, np.random.default_rng(seed))
    assert sorted([*kept.tolist(), *held.tolist()]) == list(range(len(labels)))
    assert (labels[held] != NO_LABEL).all()
    there = np.bincount(labels[held], minlength=len(counts))
    assert (there[counts >= 2] >= 1).all()
    assert (there < np.maximum(counts, 1)).all()
    usual = counts >= 2
    assert (np.abs(there - counts * share)[usual] <= 1 + 1e-9).all()


def test_a_holdout_has_the_asked_size() -> None:
    labels = np.repeat([0, 1, 2], [503, 301, 196])
    assert len(stratified_holdout(labels, 0.2, np.random.default_rng(0))[1]) == 200


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_shares_that_cannot_be(share: float) -> None:
    with pytest.raises(InputError, match="share of the hold-out: expected between 0 and 1"):
        stratified_holdout(np.array([0, 0]), share, np.random.default_rng(0))


def test_a_part_of_a_pool_keeps_the_order_and_ignores_it_when_drawing() -> None:
    whole = table([f"text {n}" for n in range(100)])
    part = sampled_rows(whole, 10, seed=0)
    assert part.ids == tuple(name for name in whole.ids if name in set(part.ids))
    backwards = sampled_rows(whole[::-1], 10, seed=0)
    assert set(backwards.ids) == set(part.ids)
    assert set(sampled_rows(whole, 10, seed=1).ids) != set(part.ids)
    assert sampled_rows(whole, 100, seed=0) is whole
    with pytest.raises(InputError, match="max_pool: expected 1 or more; got 0"):
        sampled_rows(whole, 0, seed=0)
