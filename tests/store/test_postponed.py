"""Ask me later: an event that is no answer, of one person, and can be undone."""

import pytest

from bemps import InputError


def test_an_item_for_later_has_no_answer_and_is_remembered(store, opened):
    store.lease("ann", ["t0", "t1"], 2, 60)
    store.answer("ann", "t0", "later")
    assert set(store.leases()) == {"t1"}  # somebody else may get it
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t2", "skip")
    again = opened()
    assert again.postponed() == {"ann": {"t0": 2}}
    assert again.postponed("bob") == {}
    assert set(again.current()) == {"t1", "t2"}
    assert "t0" not in {answer.item for answer in again.answers()}
    assert again.search(state="unanswered").total == 8
    assert again.lease("ann", ["t0"], 1, 60) == ["t0"]
    again.answer("ann", "t0", "label", "wish")
    assert store.postponed() == {}
    assert store.current("ann")["t0"].label == "wish"


def test_undo_and_redo_of_later(store):
    store.answer("ann", "t0", "later")
    assert store.undo("ann").item == "t0"
    assert store.postponed() == {}
    store.redo("ann")
    assert store.postponed() == {"ann": {"t0": 0}}
    store.answer("ann", "t0", "label", "bug")
    store.undo("ann")
    assert store.postponed() == {"ann": {"t0": 0}}


def test_later_keeps_notes_and_never_takes_an_answer_back(store):
    store.answer("ann", "t0", "note", note="ask Eve")
    store.answer("ann", "t0", "later")
    assert store.postponed() == {"ann": {"t0": 0}}
    assert store.answers_of("t0")[0].note == "ask Eve"
    store.answer("ann", "t1", "later")
    store.answer("ann", "t1", "note", note="look at the date")
    assert set(store.postponed()["ann"]) == {"t0", "t1"}
    store.answer("ann", "t2", "label", "bug")
    store.answer("ann", "t2", "later")
    assert store.current()["t2"].label == "bug"
    assert "t2" not in store.postponed()["ann"]
    with pytest.raises(InputError, match="no note"):
        store.answer("ann", "t3", "later", note="hm")


def test_later_is_for_the_item_of_a_copy_and_for_one_person(opened):
    from bemps.store import Item

    store = opened(create=True)
    store.add_items([Item("a", "same"), Item("b", "same"), Item("c", "other")], key=str)
    store.answer("ann", "b", "later")
    assert store.postponed() == {"ann": {"a": 0}}
    assert store.lease("bob", ["a"], 1, 60) == ["a"]
