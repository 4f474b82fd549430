"""Answers of one action: taken back by one undo, restored by one redo, each with its own event."""

import json

import pytest
from filling import fill
from labeller import label_lists
from test_killed_writers import PROCESSES, rest

from bemps.errors import InputError
from bemps.store import Item, NewAnswer, open_store
from bemps.store.state import State


def listed(store, annotator, items, label="bug", action="a1"):
    return store.record([NewAnswer(annotator, item, "label", label, method="listed", action=action) for item in items])


def labels(store, annotator=None):
    return {item: answer.label for item, answer in store.current(annotator).items()}


def test_one_undo_takes_all_of_it_back_and_one_redo_restores_it(store, opened):
    store.answer("ann", "t0", "label", "wish")
    listed(store, "ann", ["t1", "t2", "t3"])
    whole = store.current()
    undone = store.undo_action("ann")
    assert [(event.item, event.kind, event.label, event.previous) for event in undone] == [
        (item, "undo", None, "bug") for item in ("t3", "t2", "t1")
    ]
    assert {event.action for event in undone} == {"a1"}
    assert labels(store) == {"t0": "wish"}
    again = opened()
    assert [event.item for event in again.redo_action("ann")] == ["t1", "t2", "t3"]
    assert again.current() == whole == store.current()
    assert [event.item for event in again.undo_action("ann")] == ["t3", "t2", "t1"]
    assert [event.item for event in store.undo_action("ann")] == ["t0"]
    assert store.undo_action("ann") == []
    assert [len(store.redo_action("ann")) for _ in range(3)] == [1, 3, 0]


def test_undo_and_redo_return_the_first_event_and_take_the_whole_action(store):
    listed(store, "ann", ["t1", "t2"])
    assert store.undo("ann").item == "t2"
    assert labels(store) == {}
    assert store.undo("ann") is None
    assert store.redo("ann").item == "t1"
    assert labels(store) == {"t1": "bug", "t2": "bug"}


def test_what_was_said_before_the_action_is_what_counts_after_its_undo(store):
    store.answer("ann", "t1", "label", "wish", "look here")
    store.answer("ann", "t2", "skip")
    listed(store, "ann", ["t1", "t2", "t3"])
    undone = store.undo_action("ann")
    assert [(event.item, event.label, event.previous) for event in undone] == [
        ("t3", None, "bug"),
        ("t2", None, "bug"),
        ("t1", "wish", "bug"),
    ]
    answers = store.current()
    assert (answers["t1"].label, answers["t1"].note, answers["t1"].method) == ("wish", "look here", None)
    assert answers["t2"].kind == "skip"
    assert "t3" not in answers
    store.redo_action("ann")
    assert store.current()["t1"].method == "listed"
    assert store.current()["t1"].note == "look here"


def test_a_later_answer_to_an_item_of_it_is_taken_back_first(store):
    listed(store, "ann", ["t1", "t2"])
    store.answer("ann", "t1", "label", "wish")
    assert [event.item for event in store.undo_action("ann")] == ["t1"]
    assert labels(store) == {"t1": "bug", "t2": "bug"}
    assert len(store.undo_action("ann")) == 2
    store.answer("ann", "t5", "label", "bug")
    assert store.redo_action("ann") == []


def test_two_actions_are_two_steps_and_each_person_has_their_own(store):
    store.mark_overlap(["t1", "t2"])
    listed(store, "ann", ["t1", "t2"], action="a1")
    listed(store, "bob", ["t2", "t3"], "wish", action="a1")
    listed(store, "ann", ["t4"], action="a2")
    store.answer("bob", "t5", "label", "bug")
    assert [event.item for event in store.undo_action("ann")] == ["t4"]
    assert [event.item for event in store.undo_action("ann")] == ["t2", "t1"]
    assert labels(store, "bob") == {"t2": "wish", "t3": "wish", "t5": "bug"}
    assert [event.item for event in store.undo_action("bob")] == ["t5"]
    assert len(store.redo_action("ann")) == 2
    assert [event.item for event in store.undo_action("bob")] == ["t3", "t2"]
    assert labels(store) == {"t1": "bug", "t2": "bug"}


def test_a_resend_changes_nothing_and_returns_the_same_events(store, opened):
    listed(store, "ann", ["t1", "t2", "t3"], action="a1")
    listed(store, "ann", ["t4", "t5"], action="a2")
    undone = store.undo_action("ann", request="u1")
    assert [event.request for event in undone] == ["u1", None]
    first = store.undo_action("ann", request="u2")
    assert len(first) == 3
    store.answer("bob", "t6", "label", "bug")
    before = store.change_token()
    for same in (store, opened()):
        assert same.undo_action("ann", request="u1") == undone
        assert same.undo_action("ann", request="u2") == first
        assert same.undo("ann", request="u1") == undone[0]
    redone = store.redo_action("ann", request="r1")
    assert store.redo_action("ann", request="r1") == redone
    assert len(redone) == 3
    assert store.change_token() == before + 3
    with pytest.raises(InputError, match="request 'u1'"):
        store.redo_action("ann", request="u1")


def test_the_same_action_taken_back_twice_is_two_requests(store):
    """Undo, redo, undo of one action: every resend returns the events of its own step."""
    listed(store, "ann", ["t1", "t2"])
    first = store.undo_action("ann", request="u1")
    store.redo_action("ann")
    second = store.undo_action("ann", request="u2")
    assert [store.undo_action("ann", request=name) for name in ("u1", "u2")] == [first, second]
    assert first[0].seq + 4 == second[0].seq


def test_five_hundred_items_are_one_durable_step(opened):
    store = opened(create=True)
    fill(store, 500)
    listed(store, "ann", store.ids())
    assert len(store.current()) == 500
    assert len(store.undo_action("ann")) == 500
    replayed = State()
    replayed.apply(store.events())
    assert store.current() == {}
    assert all(replayed.resolved_answer(item) is None for item in store.ids())


def test_a_killed_writer_leaves_no_action_in_halves(place):
    size = 7
    with open_store(place, create=True) as store:
        fill(store, 300)
    reader, writer = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=label_lists, args=(place, "ann", size, writer))
    process.start()
    writer.close()
    acknowledged = [json.loads(reader.recv_bytes()) for _ in range(6)]
    process.kill()
    process.join()
    acknowledged += [list(message) for message in rest(reader)]
    with open_store(place) as store:
        events = [event for event in store.events() if event.item is not None]
        assert len(events) >= len(acknowledged) * size
        assert len(events) % size == 0
        for start in range(0, len(events), size):
            assert len({(event.kind, event.action) for event in events[start : start + size]}) == 1
        last = {event.seq: event.kind for event in events}
        assert [(number, kind) for number, kind in acknowledged if last.get(number) != kind] == []
        assert len(store.current()) % size == 0


def test_a_list_gets_one_label_without_audit_items_and_what_others_have(store):
    store.mark_audit(["t0"])
    store.answer("bob", "t1", "label", "wish")
    store.answer("bob", "t2", "skip")
    store.answer("bob", "t3", "note", note="mine soon")
    assert store.lease("bob", ["t4"], 1, 60) == ["t4"]
    assert store.lease("ann", ["t5"], 1, 60) == ["t5"]
    store.answer("ann", "t6", "label", "wish")
    store.answer("ann", "t7", "label", "bug")
    free = store.item_list("ann", [f"t{i}" for i in range(9)])
    assert free.items == ("t3", "t5", "t6", "t7", "t8")
    assert free.left_out == {"audit": 1, "answered": 2, "leased": 1}
    done = store.label_list("ann", [f"t{i}" for i in range(9)] + ["t8"], "bug", request="list1")
    assert [event.item for event in done.events] == ["t3", "t5", "t6", "t8"]
    assert done.left_out == {"audit": 1, "answered": 2, "leased": 1, "same": 1}
    assert {(event.kind, event.method, event.action) for event in done.events} == {("label", "listed", "list1")}
    assert [event.request for event in done.events] == ["list1", None, None, None]
    assert store.current()["t8"].method == "listed"
    assert "t5" not in store.leases()
    assert len(store.undo_action("ann")) == 4
    assert store.current("ann")["t6"].label == "wish"


def test_a_list_that_is_sent_again_is_recorded_once(store, opened):
    done = store.label_list("ann", ["t1", "t2"], "bug", request="list1")
    before = store.change_token()
    assert opened().label_list("ann", ["t1", "t2"], "bug", request="list1").events == done.events
    store.undo_action("ann")
    assert store.label_list("ann", ["t1", "t2"], "bug", request="list1").events == done.events
    assert labels(store) == {}
    assert store.change_token() == before + 2
    with pytest.raises(InputError, match="request 'list1'"):
        store.label_list("ann", ["t1"], "wish", request="list1")


def test_a_list_of_adjudicated_and_source_labels_is_left_alone(store):
    store.answer("ann", "t1", "label", "bug")
    store.adjudicate("t1", "wish", "ann")
    store.add_items([Item("s1", "with a label", "wish")])
    done = store.label_list("ann", ["t1", "s1"], "bug", request="list1")
    assert done.events == ()
    assert done.left_out == {"answered": 2}


@pytest.mark.parametrize(
    ("items", "label", "words"),
    [([], "bug", "1 to 500"), (["t1"] * 501, "bug", "501"), (["t99"], "bug", "t99"), (["t1"], "bugg", "Did you mean")],
)
def test_a_list_that_cannot_be_is_refused(store, items, label, words):
    with pytest.raises(InputError, match=words):
        store.label_list("ann", items, label, request="list1")
    assert store.current() == {}


def test_a_list_that_is_sent_again_is_the_same_however_its_class_is_spelt(store):
    store.add_class("café", "ann")
    first = store.label_list("ann", ["t1", "t2"], "cafe\u0301", request="request-1")
    assert [event.label for event in first.events] == ["café", "café"]
    assert store.label_list("ann", ["t1", "t2"], "cafe\u0301", request="request-1").events == first.events
