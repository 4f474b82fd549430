"""What an item stands for is counted as the page says it: waiting items nearer to it than to anything labelled."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bemps.server.model import likeness as likenesses
from bemps.server.model.likeness import Likeness


def literal(vectors, row, waiting, labelled):
    """Count them one by one."""

    def cosine(a, b):
        lengths = np.linalg.norm(a) * np.linalg.norm(b)
        return np.float32(a @ b / lengths) if lengths else np.float32(0)

    return [
        other
        for other in waiting
        if all(cosine(vectors[other], vectors[row]) > cosine(vectors[other], vectors[name]) + 1e-6 for name in labelled)
    ]


def drawn(seed, n=40):
    return np.random.default_rng(seed).standard_normal((n, 5))


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 8))
def test_the_count_is_that_of_the_definition(seed, asked, known):
    vectors = drawn(seed)
    rows, labelled = np.arange(asked), np.arange(10, 10 + known)
    waiting = np.setdiff1d(np.arange(40), labelled)
    counts, examples = Likeness(vectors).stands_for(rows, waiting, labelled)
    for row, count, some in zip(rows, counts, examples, strict=True):
        members = literal(vectors, row, np.setdiff1d(waiting, [row]), labelled)
        assert count == len(members)
        assert set(some) <= set(members)
        assert len(some) == min(3, count)


def test_it_does_not_depend_on_the_length_of_the_queue():
    vectors, labelled = drawn(1, 400), np.arange(300, 320)
    waiting = np.setdiff1d(np.arange(400), labelled)
    few, _ = Likeness(vectors).stands_for(np.arange(5), waiting, labelled)
    many, _ = Likeness(vectors).stands_for(np.arange(60), waiting, labelled)
    assert many[:5] == few


def test_new_labels_leave_less_to_stand_for_and_labels_taken_back_give_it_back():
    vectors, rows = drawn(2, 200), np.arange(5)
    likeness, waiting = Likeness(vectors), np.arange(100)
    first, _ = likeness.stands_for(rows, waiting, np.arange(150, 160))
    second, _ = likeness.stands_for(rows, waiting, np.arange(150, 180))
    again, _ = likeness.stands_for(rows, waiting, np.arange(150, 160))
    assert sum(second) < sum(first)
    assert again == first


def test_items_that_share_nothing_are_not_like_anything():
    vectors = np.eye(6)
    counts, examples = Likeness(vectors).stands_for(np.array([0]), np.arange(5), np.array([5]))
    assert (counts, examples) == ([0], [[]])


def test_the_nearest_labelled_items_come_nearest_first():
    vectors = np.array([[1, 0], [1, 0.1], [1, 1], [0, 1], [1, 0.05]])
    assert Likeness(vectors).nearest(Likeness(vectors).vectors[:1], np.array([1, 2, 3, 4])) == [[4, 1, 2]]


def test_labels_that_come_in_several_blocks_count_as_those_that_come_at_once(monkeypatch):
    vectors, rows, waiting = drawn(3, 200), np.arange(5), np.arange(100)
    at_once = Likeness(vectors).stands_for(rows, waiting, np.arange(100, 190))
    monkeypatch.setattr(likenesses, "BLOCK", 7)
    likeness = Likeness(vectors)
    likeness.stands_for(rows, waiting, np.arange(100, 131))
    assert likeness.stands_for(rows, waiting, np.arange(100, 190)) == at_once


def test_an_item_whose_label_was_taken_back_is_judged_like_any_other():
    vectors, rows = drawn(4, 60), np.arange(5)
    likeness = Likeness(vectors)
    likeness.stands_for(rows, np.arange(40), np.arange(40, 60))
    likeness.stands_for(rows, np.arange(20), np.arange(20, 60))
    again = likeness.stands_for(rows, np.arange(40), np.arange(40, 60))
    assert again == Likeness(vectors).stands_for(rows, np.arange(40), np.arange(40, 60))
