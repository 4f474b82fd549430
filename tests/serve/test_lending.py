"""Lending beside another server: what that one has leased is passed over, however much it is."""

import asyncio

import numpy as np
import pytest

from bemps.serve.board import Board
from bemps.serve.clerk import Clerk
from bemps.serve.desks import LEASE, MOST, MOST_HELD
from bemps.serve.insight import Insight
from bemps.serve.lending import Lending
from bemps.store import Item, open_store


def test_items_of_another_server_are_passed_over(tmp_path):
    ids = [f"i{number}" for number in range(100)]

    async def first_item(store):
        board = Board(ids, [], 0.0, 0.0, np.random.default_rng(0))
        clerk = Clerk(store)
        lending = Lending(store, clerk, board, Insight())
        taken = store.lease("someone at another server", ids[:95], 95, 900.0)
        [offer] = await lending.hand_out("ann", [], 1)
        clerk.close()
        return offer.item.id, taken

    with open_store(tmp_path / "p.bemps", create=True) as store:
        store.add_items(Item(id, id) for id in ids)
        found, taken = asyncio.run(first_item(store))
    assert len(taken) == 95
    assert found in set(ids) - set(taken)


@pytest.fixture
def lending(tmp_path):
    """Runs something with a lending desk on 400 items."""
    ids = [f"i{number}" for number in range(400)]

    def run(work):
        async def through(store):
            clerk = Clerk(store)
            try:
                return await work(Lending(store, clerk, Board(ids, [], 0.0, 0.0, np.random.default_rng(0)), Insight()))
            finally:
                clerk.close()

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
    assert handed_out <= MOST_HELD
    assert leased <= MOST_HELD + MOST


def test_what_somebody_had_who_left_is_free_again_and_the_desk_is_gone(lending):
    async def left(lending):
        for name in ("ann", "bob"):
            await lending.hand_out(name, [], 5)
        had = set(lending.desks["ann"].held)
        lending.desks["ann"].seen_at -= LEASE + 1
        for desk in list(lending.desks.values()):
            await lending.mind(desk)
        out, leased = lending.out(), lending.store.leases()
        return had, set(lending.desks), out, {who for people in leased.values() for who in people}

    had, desks, out, holders = lending(left)
    assert len(had) == 5
    assert desks == {"bob"}
    assert holders == {"bob"}
    assert not had & out
