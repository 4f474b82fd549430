"""Several annotators: leases, overlap, disagreement, adjudication, the audit slice."""

import time

import pytest
from filling import fill
from sqlalchemy import event

from bemps import InputError
from bemps.store.reservation.leases import LONGEST
from bemps.store.sql.database import Database

ALL = [f"t{i}" for i in range(10)]


def test_no_item_goes_to_two_people(store, opened):
    other = opened()
    assert store.lease("ann", ALL, 3, 60) == ["t0", "t1", "t2"]
    assert other.lease("bob", ALL, 3, 60) == ["t3", "t4", "t5"]
    assert store.lease("ann", ALL, 4, 60) == ["t0", "t1", "t2", "t6"]
    assert other.leases() == {f"t{i}": frozenset({"bob" if i in (3, 4, 5) else "ann"}) for i in range(7)}


def test_leases_lapse_and_can_be_given_back(store):
    store.lease("ann", ALL, 2, 0.05)
    time.sleep(0.1)
    assert store.lease("bob", ALL, 2, 60) == ["t0", "t1"]
    store.release("bob", ["t0"])
    store.release("bob", [])
    assert store.lease("cem", ALL, 2, 60) == ["t0", "t2"]
    store.release("cem")
    assert store.leases() == {"t1": frozenset({"bob"})}


def test_an_answer_gives_the_lease_back(store):
    store.lease("ann", ALL, 2, 60)
    store.answer("ann", "t0", "note", note="hm")
    assert set(store.leases()) == {"t0", "t1"}
    store.answer("ann", "t0", "label", "bug")
    assert set(store.leases()) == {"t1"}
    assert store.lease("bob", ALL, 1, 60) == ["t2"]


def test_what_was_skipped_or_unsure_goes_to_others_but_not_back(store):
    store.answer("ann", "t0", "skip")
    store.answer("ann", "t1", "unsure")
    assert store.lease("ann", ALL, 1, 60) == ["t2"]
    assert store.lease("bob", ALL, 3, 60) == ["t0", "t1", "t3"]


def test_an_undone_or_cleared_answer_is_asked_again(store):
    store.answer("ann", "t0", "label", "bug")
    store.undo("ann")
    assert store.lease("bob", ALL, 1, 60) == ["t0"]
    store.answer("bob", "t0", "label", "bug")
    store.answer("bob", "t0", "clear")
    assert store.lease("ann", ALL, 1, 60) == ["t0"]


def test_overlap_asks_exactly_two(store):
    assert store.mark_overlap(["t0", "t0"]) == 1
    assert store.mark_overlap(["t0"]) == 0
    assert store.overlap() == {"t0"}
    assert store.lease("ann", ["t0"], 1, 60) == ["t0"]
    assert store.lease("bob", ["t0"], 1, 60) == ["t0"]
    assert store.lease("cem", ["t0"], 1, 60) == []
    store.answer("ann", "t0", "label", "bug")
    assert store.lease("ann", ["t0"], 1, 60) == []
    store.release("bob")
    assert store.lease("cem", ["t0"], 1, 60) == ["t0"]
    store.answer("cem", "t0", "label", "bug")
    assert store.lease("bob", ["t0"], 1, 60) == []


def test_as_many_people_answer_an_overlap_item_as_the_project_asks_for(store, opened):
    store.mark_overlap(["t0"])
    store.set("answers_per_item", 3)
    assert [store.lease(who, ["t0", "t1"], 1, 60) for who in ("ann", "bob", "cem", "dan")] == [["t0"]] * 3 + [["t1"]]
    store.answer("ann", "t0", "label", "bug")
    store.answer("bob", "t0", "skip")  # somebody else may know
    assert opened().lease("eve", ["t0"], 1, 60) == ["t0"]
    store.answer("cem", "t0", "label", "wish")
    store.answer("eve", "t0", "label", "wish")
    assert store.current()["t0"].label == "wish"
    assert store.lease("fay", ["t0"], 1, 60) == []
    for wrong in (1, 21, 2.5, "3", True):
        with pytest.raises(InputError, match="from 2 to 20"):
            store.set("answers_per_item", wrong)


def test_lease_refuses_nonsense(store):
    for arguments in ((ALL, -1, 60), (ALL, 1, 0), (["t99"], 1, 60), (ALL, 1, LONGEST + 1)):
        with pytest.raises(InputError):
            store.lease("ann", *arguments)
    assert store.lease("ann", ALL, 0, 60) == []


@pytest.mark.parametrize("wrong", [3 * 86400, 365 * 86400, 2 * LONGEST])
def test_leases_of_a_clock_that_was_ahead_lock_nothing(store, opened, monkeypatch, wrong):
    right = Database.now
    with monkeypatch.context() as ahead:
        ahead.setattr(Database, "now", lambda self, connection: right(self, connection) + int(wrong * 1e6))
        assert store.lease("ann", ALL, 8, LONGEST) == ALL[:8]
        assert len(opened().leases()) == 8
    assert opened().leases() == {}
    assert store.lease("bob", ALL, 10, 60) == ALL  # nothing is locked for as long as the clock was wrong
    assert set(opened().leases().values()) == {frozenset({"bob"})}


def test_what_is_leased_to_others_is_not_read_with_every_answer(opened):
    """An answer costs the same however many items people have in hand."""
    store = opened(create=True)
    fill(store, 3_000)
    for who in range(30):
        store.lease(f"p{who}", [f"t{i}" for i in range(100 * who, 100 * who + 100)], 100, 600)
    read = []

    @event.listens_for(store._database.engine, "after_cursor_execute")
    def count(connection, cursor, statement, *_):
        if "leases" in statement and statement.lstrip().upper().startswith("SELECT"):
            read.append(statement)

    store.answer("p0", "t0", "label", "bug")
    assert read == []
    assert store.lease("p31", ["t1", "t0", "t101"], 3, 60) == []
    assert len(read) == 1
    assert "WHERE" in read[0]
    assert len(store.leases()) == 2_999


def test_many_leases_are_taken_renewed_and_given_back_in_one_transaction(store):
    """Threads share transactions: give back, take and give back again must end where the last one left it."""
    with store._log.transaction() as transaction:
        book, now = transaction.leases, transaction.now
        book.give_back("t0", "ann")
        book.take("t0", "ann", now + 60_000_000)
        book.take("t1", "ann", now + 60_000_000)
        book.give_back("t1", "ann")
        assert book.holders("t0", now) == {"ann"}
        assert book.holders("t1", now) == set()
    assert store.leases() == {"t0": frozenset({"ann"})}
    with store._log.transaction() as transaction:
        transaction.leases.give_back("t0", "ann")
        assert transaction.leases.holders("t0", transaction.now) == set()
    assert store.leases() == {}


def test_majority_then_the_latest(store):
    store.answer("ann", "t0", "label", "bug")
    store.answer("bob", "t0", "label", "wish")
    assert store.current()["t0"].label == "wish"
    store.answer("cem", "t0", "label", "bug")
    assert store.current()["t0"].label == "bug"
    assert store.current()["t0"].annotator == "cem"
    store.answer("cem", "t0", "skip")
    assert store.current()["t0"].label == "wish"
    assert [answer.annotator for answer in store.answers_of("t0")] == ["ann", "bob", "cem"]
    assert store.current("ann")["t0"].label == "bug"
    assert store.annotators() == ("ann", "bob", "cem")


def test_disagreements_are_listed_until_adjudicated(store):
    store.answer("ann", "t5", "label", "bug")
    store.answer("bob", "t5", "label", "wish")
    store.answer("ann", "t2", "label", "bug")
    store.answer("bob", "t2", "label", "wish")
    store.answer("ann", "t3", "label", "bug")
    store.answer("bob", "t3", "label", "bug")
    assert [found.item for found in store.disagreements()] == ["t2", "t5"]
    assert [answer.label for answer in store.disagreements()[0].answers] == ["bug", "wish"]
    event = store.adjudicate("t2", "bug", "lead", request="j1")
    assert store.adjudicate("t2", "bug", "lead", request="j1") == event
    assert [found.item for found in store.disagreements()] == ["t5"]
    resolved = store.current()["t2"]
    assert (resolved.label, resolved.kind, resolved.annotator) == ("bug", "adjudicate", "lead")
    store.answer("bob", "t2", "label", "wish")
    assert store.current()["t2"].label == "bug"
    store.undo("lead")
    assert [found.item for found in store.disagreements()] == ["t2", "t5"]


def test_the_adjudicator_may_also_be_an_annotator(store):
    store.answer("ann", "t0", "label", "bug")
    store.answer("bob", "t0", "label", "wish")
    store.adjudicate("t0", "wish", "ann")
    assert store.current("ann")["t0"].label == "bug"
    assert store.current()["t0"].label == "wish"
    assert [answer.kind for answer in store.answers() if answer.annotator == "ann"] == ["label", "adjudicate"]
    assert store.lease("cem", ["t0"], 1, 60) == []


def test_the_audit_slice_is_fixed_once_drawn(store, opened):
    assert store.mark_audit(["t1", "t4"]) == 2
    assert store.mark_audit(["t4", "t5"]) == 1
    assert opened().audit() == {"t1", "t4", "t5"}
    with pytest.raises(InputError):
        store.mark_audit(["t99"])
    assert [event.item for event in store.events() if event.kind == "audit"] == ["t1", "t4", "t5"]


def test_nobody_takes_back_what_another_adjudicated(store):
    store.adjudicate("t0", "bug", "ann")
    store.adjudicate("t0", "wish", "bob")
    taken_back = store.undo("ann")
    assert (taken_back.label, taken_back.previous) == ("wish", "wish")  # what holds is still bob's
    assert (store.current()["t0"].label, store.current()["t0"].annotator) == ("wish", "bob")
    assert store.redo("ann").label == "wish"
    assert store.current()["t0"].label == "wish"
    store.undo("bob")
    assert (store.current()["t0"].label, store.current()["t0"].annotator) == ("bug", "ann")
    store.redo("bob")
    store.undo("ann")
    store.undo("bob")
    assert "t0" not in store.current()
