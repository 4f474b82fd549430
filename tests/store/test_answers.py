"""Answers, undo and redo, and the state that follows from them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bemps import InputError
from bemps.store import Answer, Item, NewAnswer


def said(store, annotator=None):
    return {item: answer.label or answer.kind for item, answer in store.current(annotator).items()}


def test_an_answer_is_an_event_and_the_current_state(store):
    before = datetime.now(UTC)
    event = store.answer("ann", "t3", "label", "bug", note="clear case", request="r1")
    assert (event.annotator, event.item, event.kind, event.label) == ("ann", "t3", "label", "bug")
    assert (event.previous, event.note, event.request, event.target) == (None, "clear case", "r1", None)
    assert before - timedelta(seconds=5) < event.time < datetime.now(UTC) + timedelta(seconds=5)
    assert store.current() == {"t3": Answer("t3", "bug", "label", "ann", event.time, "clear case", event.seq)}
    assert store.events()[-1] == event
    assert store.change_token() == event.seq == len(store.events())


def test_everything_is_there_after_reopening(store, opened):
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t2", "skip")
    store.answer("ann", "t3", "unsure", note="hm")
    store.undo("ann")
    again = opened()
    assert again.current() == store.current()
    assert again.events() == store.events()
    assert again.classes() == store.classes()
    assert again.redo("ann").item == "t3"
    assert said(store) == {"t1": "bug", "t2": "skip", "t3": "unsure"}


def test_a_later_answer_replaces_an_earlier_one_and_remembers_it(store):
    store.answer("ann", "t1", "label", "bug")
    assert store.answer("ann", "t1", "label", "wish").previous == "bug"
    assert said(store) == {"t1": "wish"}


def test_clear_takes_the_answer_and_the_note_back(store):
    store.answer("ann", "t1", "label", "bug", note="why")
    store.answer("ann", "t1", "clear")
    assert store.current() == {}
    store.undo("ann")
    assert store.current()["t1"].note == "why"


def test_a_note_leaves_the_label_and_a_label_leaves_the_note(store):
    label = store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t1", "note", note="look again")
    assert store.current()["t1"] == Answer("t1", "bug", "label", "ann", label.time, "look again", label.seq)
    store.answer("ann", "t1", "label", "wish")
    assert store.current()["t1"].note == "look again"
    store.answer("ann", "t1", "note", note="")
    assert store.current()["t1"].note is None


def test_a_note_alone_is_no_answer(store):
    store.answer("ann", "t1", "note", note="later")
    assert store.current()["t1"].kind == "note"
    assert store.search(state="answered").total == 0
    assert store.lease("ann", ["t1"], 1, 60) == ["t1"]
    store.answer("ann", "t1", "note", note="")
    assert store.current() == {}


def test_undo_and_redo_of_any_depth_also_after_reopening(store, opened):
    for i in range(10):
        store.answer("ann", f"t{i}", "label", "bug" if i % 2 else "wish")
    whole = store.current()
    again = opened()
    for i in reversed(range(10)):
        event = again.undo("ann")
        assert (event.item, event.kind, event.label) == (f"t{i}", "undo", None)
        assert again.events()[event.target - 1].item == f"t{i}"
    assert again.undo("ann") is None
    assert again.current() == {}
    third = opened()
    assert [third.redo("ann").item for _ in range(10)] == [f"t{i}" for i in range(10)]
    assert third.redo("ann") is None
    assert third.current() == whole


def test_undo_brings_back_what_was_before(store):
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t1", "label", "wish")
    event = store.undo("ann")
    assert (event.label, event.previous) == ("bug", "wish")
    assert said(store) == {"t1": "bug"}


def test_undo_is_of_ones_own_answers(store):
    store.answer("ann", "t1", "label", "bug")
    store.answer("bob", "t2", "label", "wish")
    assert store.undo("ann").item == "t1"
    assert said(store) == {"t2": "wish"}
    assert store.undo("cem") is None


def test_a_new_answer_after_undo_ends_redo(store):
    store.answer("ann", "t1", "label", "bug")
    store.undo("ann")
    store.answer("ann", "t2", "label", "bug")
    assert store.redo("ann") is None


def test_a_resend_changes_nothing_and_returns_the_first_event(store):
    first = store.answer("ann", "t1", "label", "bug", request="r1")
    store.answer("ann", "t1", "label", "wish", request="r2")
    assert store.answer("ann", "t1", "label", "bug", request="r1") == first
    assert said(store) == {"t1": "wish"}
    undone = store.undo("ann", request="u1")
    assert store.undo("ann", request="u1") == undone
    assert said(store) == {"t1": "bug"}
    redone = store.redo("ann", request="d1")
    assert store.redo("ann", request="d1") == redone
    assert said(store) == {"t1": "wish"}


def test_a_resend_is_known_to_another_process_and_after_a_rename(store, opened):
    first = store.answer("ann", "t1", "label", "bug", request="r1")
    store.rename_class("bug", "defect", "lead")
    again = opened()
    assert again.answer("ann", "t1", "label", "bug", request="r1") == first
    assert len(again.current()) == 1


def test_a_request_id_is_the_senders_own(store):
    store.answer("ann", "t1", "label", "bug", request="1")
    store.answer("bob", "t2", "label", "wish", request="1")
    assert said(store) == {"t1": "bug", "t2": "wish"}


@pytest.mark.parametrize("again", [("t2", "label", "bug"), ("t1", "label", "wish"), ("t1", "skip", None)])
def test_a_request_id_used_for_something_else_is_refused(store, again):
    store.answer("ann", "t1", "label", "bug", request="r1")
    with pytest.raises(InputError, match=r"request 'r1'.*event"):
        store.answer("ann", *again, request="r1")
    with pytest.raises(InputError, match="request"):
        store.undo("ann", request="r1")
    assert said(store) == {"t1": "bug"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (("ann", "t99", "label", "bug"), "item.*t99"),
        (("ann", "t1", "label", "bugg"), "label of t1.*Did you mean 'bug'"),
        (("ann", "t1", "label"), "expected a label"),
        (("ann", "t1", "skip", "bug"), "expected no label"),
        (("ann", "t1", "like"), "kind of answer"),
        (("", "t1", "skip"), "annotator"),
        (("an\nn", "t1", "skip"), "annotator"),
        (("ann", "t1", "note"), "note on t1"),
        (("ann", "t1", "skip", None, "x\0y"), "NUL"),
        (("ann", "t1", "skip", None, "x\ud83dy"), "surrogate"),
        (("ann", "t1", "skip", None, "x" * 10_001), "10,000 characters"),
    ],
)
def test_wrong_answers_are_refused_and_leave_nothing(store, answer, words):
    before = store.change_token()
    with pytest.raises(InputError, match=words):
        store.answer(*answer)
    assert store.change_token() == before


def test_many_answers_in_one_step_are_all_or_none(store):
    with pytest.raises(InputError, match="nonsense"):
        store.record([NewAnswer("ann", "t1", "label", "bug"), NewAnswer("ann", "t2", "label", "nonsense")])
    assert store.current() == {}
    with pytest.raises(InputError, match="one twice"):
        store.record([NewAnswer("ann", "t1", "skip", request="a"), NewAnswer("ann", "t2", "skip", request="a")])
    events = store.record([NewAnswer("ann", f"t{i}", "label", "bug", request=str(i)) for i in range(5)])
    assert [event.item for event in events] == [f"t{i}" for i in range(5)]
    assert len(store.current()) == 5
    assert store.record([]) == []


def test_times_keep_their_microseconds_and_come_back_in_utc(store):
    given = datetime(2021, 3, 4, 5, 6, 7, 891011, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    store.answer("ann", "t1", "label", "bug", time=given)
    told = store.current()["t1"].time
    assert told == given
    assert told.tzinfo is UTC
    with pytest.raises(InputError, match="zone"):
        store.answer("ann", "t1", "label", "bug", time=datetime(2021, 3, 4))


def test_labels_that_come_with_the_items(store):
    store.add_items([Item("a", "one", "bug"), Item("b", "two")])
    assert store.current()["a"].annotator == "source"
    with pytest.raises(InputError, match="label of c"):
        store.add_items([Item("c", "three", "nonsense")])
    assert store.count() == 12
    assert store.lease("ann", ["a", "b"], 2, 60) == ["b"]
