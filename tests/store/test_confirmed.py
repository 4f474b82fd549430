"""Which labels were given twice."""

import pytest

from bemps.store import Item, open_store


@pytest.fixture
def store(place):
    with open_store(place, create=True) as opened:
        opened.add_class("a", "test")
        opened.add_class("b", "test")
        opened.add_items(Item(f"i{row}", f"text {row}") for row in range(9))
        yield opened


def test_a_label_is_confirmed_by_the_same_answer_once_more(store):
    store.answer("ann", "i0", "label", "a")
    store.answer("ann", "i1", "label", "a")
    store.answer("ann", "i1", "label", "b")
    store.answer("ann", "i2", "label", "a")
    store.answer("ann", "i2", "note", note="look")
    store.answer("ann", "i3", "skip")
    store.answer("ann", "i3", "skip")
    assert store.confirmed() == frozenset()
    event = store.answer("ann", "i0", "label", "a")
    assert (event.label, event.previous) == ("a", "a")
    assert store.confirmed() == {"i0"}
    store.undo("ann")
    assert store.confirmed() == frozenset()


def test_two_people_or_a_decision_confirm_too(store):
    store.answer("ann", "i0", "label", "a")
    store.answer("ben", "i0", "label", "a")
    store.answer("ann", "i1", "label", "a")
    store.answer("ben", "i1", "label", "b")
    assert store.confirmed() == {"i0"}
    store.adjudicate("i1", "b", "ann")
    assert store.confirmed() == {"i0", "i1"}
