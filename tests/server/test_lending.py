"""Lending beside another server: what that one has leased is passed over, however much it is."""

import asyncio
import time

import numpy as np
import pytest

from bemps.server.model.model_status import ModelStatus
from bemps.server.queue.annotator_queues import LEASE, MOST, MOST_IN_BROWSER, AnnotatorQueue
from bemps.server.queue.answer_writer import AnswerWriter
from bemps.server.queue.leasing import Lending
from bemps.server.queue.schedule import Schedule
from bemps.store import Item, open_store
from bemps.store.sql.database import Database


def test_items_of_another_server_are_passed_over(tmp_path):
    ids = [f"i{number}" for number in range(100)]

    async def first_item(store):
        schedule = Schedule(ids, [], 0.0, 0.0, np.random.default_rng(0))
        writer = AnswerWriter(store)
        lending = Lending(store, writer, schedule, ModelStatus())
        taken = store.lease("someone at another server", ids[:95], 95, 900.0)
        [offer] = await lending.hand_out("ann", [], 1)
        writer.close()
        return offer.item.id, taken

    with open_store(tmp_path / "p.bemps", create=True) as store:
        store.add_items(Item(id, id) for id in ids)
        found, taken = asyncio.run(first_item(store))
    assert len(taken) == 95
    assert found in set(ids) - set(taken)


@pytest.fixture
def lending(tmp_path):
    """Runs something with a lending queue on 400 items."""
    ids = [f"i{number}" for number in range(400)]

    def run(work):
        async def through(store):
            writer = AnswerWriter(store)
            try:
                return await work(
                    Lending(store, writer, Schedule(ids, [], 0.0, 0.0, np.random.default_rng(0)), ModelStatus())
                )
            finally:
                writer.close()

        with open_store(tmp_path / "p.bemps", create=True) as store:
            store.add_items(Item(id, id) for id in ids)
            return asyncio.run(through(store))

    return run


def test_one_person_has_only_so_many_items_in_hand(lending):
    async def greedy(lending):
        have = []
        for _ in range(40):
            have += [offer.item.id for offer in await lending.hand_out("eve", have, 20)]
        return len(have), len(lending.store.leases())

    handed_out, leased = lending(greedy)
    assert handed_out <= MOST_IN_BROWSER
    assert leased <= MOST_IN_BROWSER + MOST


def test_items_are_the_last_ones_only_where_nothing_else_is_free(lending):
    async def quick(lending):
        his = [offer.item.id for offer in await lending.hand_out("bob", [], 20)]
        have, offers = [], [None]
        while offers:  # answers that are still on their way
            offers = await lending.hand_out("ann", have, 20)
            have += [offer.item.id for offer in offers]
        early = lending.held_by_others("ann")
        lending.schedule.answered = {name: {"eve": "label"} for name in lending.schedule.ids if name not in his}
        await lending.release(lending.queues["bob"])
        return early, lending.held_by_others("ann"), len(his)

    early, late, his = lending(quick)
    assert early == 0
    assert late == his


def test_what_people_at_another_server_have_in_hand_is_said(lending):
    async def beside(lending):
        free, *theirs = lending.schedule.ids
        lending.store.lease("bob at another server", theirs, len(theirs), 900.0)
        handed = [offer.item.id for offer in await lending.hand_out("ann", [], 20)]
        lending.schedule.answered = {free: {"ann": "label"}}
        lending.queues["ann"].drop([free])
        more = await lending.hand_out("ann", [], 20)
        return handed == [free], more, lending.held_by_others("ann"), len(theirs)

    is_handed, more, held, theirs = lending(beside)
    assert is_handed
    assert more == []
    assert held == theirs


def test_a_browser_gives_back_what_it_does_not_show_and_leaves_the_others_a_share(lending):
    async def several(lending):
        handed = [offer.item.id for offer in await lending.hand_out("ann", [], 20)]
        queue = lending.queues["ann"]
        await lending.take_back(queue, [*handed[4:], "no item of hers"])
        leased = set(lending.store.leases())
        lending.schedule.answered = {name: {"bob": "label"} for name in lending.schedule.ids[:380]}
        more = [offer.item.id for offer in await lending.hand_out("ann", handed[:4], 20)]
        return handed, leased, set(queue.in_browser), more

    handed, leased, in_browser, more = lending(several)
    assert len(handed) == 20
    assert set(handed[:4]) <= leased
    assert not set(handed[4:]) & leased
    assert len(in_browser) == max(4, 20 // 4)
    assert len(more) == len(in_browser) - 4


def test_a_speed_that_nobody_has_is_not_told():
    queue = AnnotatorQueue("ann")
    now = time.monotonic()
    queue.times.extend([now - 1, now - 0.5, now])
    assert queue.pace == pytest.approx(120)
    queue.times.extend([now + number / 1000 for number in range(20)])  # what a browser kept, at once
    assert queue.pace == 0


def test_what_somebody_had_who_left_is_free_again_and_the_desk_is_gone(lending):
    async def left(lending):
        for name in ("ann", "bob"):
            await lending.hand_out(name, [], 5)
        had = set(lending.queues["ann"].in_browser)
        lending.queues["ann"].seen_at -= LEASE + 1
        for queue in list(lending.queues.values()):
            await lending.renew_or_release(queue)
        out, leased = lending.out(), lending.store.leases()
        return had, set(lending.queues), out, {who for people in leased.values() for who in people}

    had, queues, out, holders = lending(left)
    assert len(had) == 5
    assert queues == {"bob"}
    assert holders == {"bob"}
    assert not had & out


def test_handing_out_items_never_waits_for_the_disk(lending, monkeypatch):
    """Leases and marks of the overlap may be lost in a power cut; answers wait for the one disk."""
    synced = []
    writing = Database.writing
    monkeypatch.setattr(
        Database, "writing", lambda self, durable=True: synced.append(durable) or writing(self, durable)
    )

    async def shared(lending):
        lending.schedule.set_overlap(1.0, 2)
        synced.clear()
        await lending.hand_out("ann", [], 5)
        return len(lending.store.overlap())

    assert lending(shared) >= 5
    assert synced
    assert not any(synced)
