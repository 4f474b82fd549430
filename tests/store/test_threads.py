"""Threads that share one store."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from filling import fill

from bemps import InputError
from bemps.store import Item


def test_threads_share_a_store_and_its_commits(opened):
    store = opened(create=True)
    fill(store, 400)
    ids = store.ids()

    def label(who):
        events = []
        for _ in range(10):
            (item,) = store.lease(f"a{who}", ids, 1, 60)
            events.append(store.answer(f"a{who}", item, "label", "bug", request=f"{who}-{len(events)}"))
            assert store.current(f"a{who}")[item].label == "bug"  # what was acknowledged is seen at once
        return events

    with ThreadPoolExecutor(16) as threads:
        events = [event for found in threads.map(label, range(16)) for event in found]
    assert len({event.seq for event in events}) == len({event.item for event in events}) == 160
    assert len(store.current()) == 160
    assert [event.seq for event in store.events()] == list(range(1, 2 + 160 + 1))


def test_a_refused_answer_does_not_touch_those_it_shares_a_commit_with(opened):
    store = opened(create=True)
    fill(store, 100)

    def answer(i):
        try:
            return store.answer(f"a{i}", f"t{i}", "label", "bug" if i % 3 else "nonsense", request="r").item
        except InputError as error:
            return "nonsense" in str(error)

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(answer, range(60)))
    assert found == [f"t{i}" if i % 3 else True for i in range(60)]
    assert set(store.current()) == {f"t{i}" for i in range(60) if i % 3}


def test_the_same_request_from_many_threads_is_recorded_once(opened):
    store = opened(create=True)
    fill(store)
    with ThreadPoolExecutor(8) as threads:
        events = list(threads.map(lambda _: store.answer("ann", "t1", "label", "bug", request="same"), range(40)))
    assert len(set(events)) == 1
    assert len(store.events()) == 3


def test_items_can_be_added_while_others_label(opened):
    store = opened(create=True)
    fill(store, 50)

    def work(i):
        if i % 5 == 0:
            return store.add_items([Item(f"new{i}", "x")])
        return store.answer("ann", f"t{i}", "label", "bug").seq

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(50)))
    assert store.count() == 60
    assert len(store.current()) == 40


@pytest.mark.parametrize("act", ["undo", "redo"])
def test_undo_of_many_threads_takes_each_answer_back_once(opened, act):
    store = opened(create=True)
    fill(store, 30)
    for i in range(20):
        store.answer("ann", f"t{i}", "label", "bug")
    if act == "redo":
        while store.undo("ann"):
            pass
    with ThreadPoolExecutor(8) as threads:
        events = list(threads.map(lambda _: getattr(store, act)("ann"), range(25)))
    assert len({event.item for event in events if event is not None}) == 20
    assert events.count(None) == 5
    assert len(store.current()) == (0 if act == "undo" else 20)
