"""Copies: rows of the same content, kept as rows, asked through the first of them."""

import pytest

from bemps import InputError
from bemps.store import Item, NewAnswer


@pytest.fixture
def copied(store):
    """t0 to t9, and two copies of t1."""
    items = [Item("c1", " text NUMBER 1"), Item("c2", "TEXT number 1"), Item("new", "else"), Item("c3", "Else")]
    assert store.add_items(items, key=lambda content: content.strip().lower()) == 4
    return store


def test_copies_are_rows_but_not_asked(copied, opened):
    for store in (copied, opened()):
        assert store.copies() == {"c1": "t1", "c2": "t1", "c3": "new"}
        assert store.count() == 11
        assert "c1" not in store.ids()
        assert [item.id for item in store.items()] == list(store.ids())
        assert [item.id for item in store.rows()][-4:] == ["c1", "c2", "new", "c3"]
        assert store.item("c1") == Item("c1", " text NUMBER 1", copy_of="t1")
        assert [row.item.id for row in store.search("number 1").rows] == ["t1"]
        assert [row.item.id for row in store.search("c2").rows] == ["t1"]
        assert store.search(state="unanswered").total == 11


def test_an_answer_to_a_copy_is_an_answer_to_the_first(copied):
    event = copied.answer("ann", "c1", "label", "bug", request="once and again")
    assert event.item == "t1"
    assert copied.answer("ann", "c1", "label", "bug", request="once and again") == event
    assert copied.current()["t1"].label == "bug"
    assert [answer.item for answer in copied.answers_of("c2")] == ["t1"]
    assert copied.lease("bob", ["c1", "c2", "t1", "t2"], 4, 60) == ["t2"]
    copied.answer("ann", "t1", "label", "wish")
    assert copied.answers_of("c1")[0].label == "wish"
    copied.undo("ann")
    copied.undo("ann")
    assert copied.current() == {}
    with pytest.raises(InputError):
        copied.answer("ann", "c9", "skip")


def test_marks_are_of_the_first(copied):
    assert copied.mark_audit(["c1", "c2", "t1", "t2"]) == 2
    assert copied.audit() == {"t1", "t2"}


def test_without_a_key_each_is_asked(store):
    store.add_items([Item("c1", "Text number 1")])
    assert store.copies() == {}
    assert store.count() == 11


def test_labels_that_come_with_copies_count_once_and_the_first_counts(copied):
    items = [
        Item("a", "x"), Item("b", "x", "wish"), Item("c", "x", "bug"), Item("d", "y", "bug"), Item("e", "y", "wish"),
    ]  # fmt: skip
    copied.add_items(items, key=str)
    assert {id: copied.current()[id].label for id in ("a", "d")} == {"a": "wish", "d": "bug"}
    copied.add_items([Item("f", "x", "bug"), Item("g", "Text number 2", "bug")], key=str)
    assert copied.current()["a"].label == "wish"
    assert copied.current()["t2"].label == "bug"
    assert len(copied.events()) == 2 + 3


def test_answers_within_one_change_may_be_to_its_copies(store):
    with store.changing() as change:
        change.add_items([Item("a", "x"), Item("b", "x"), Item("c", "Text number 1")], key=str)
        change.record([NewAnswer("ann", "b", "label", "bug"), NewAnswer("ann", "c", "label", "wish")])
        assert change.copies == 2
    assert {id: answer.label for id, answer in store.current().items()} == {"a": "bug", "t1": "wish"}
