"""Lending beside another server: what that one has leased is passed over, however much it is."""

import asyncio

import numpy as np

from bemps.serve.board import Board
from bemps.serve.clerk import Clerk
from bemps.serve.insight import Insight
from bemps.serve.lending import Lending
from bemps.store import Item, open_store


def test_items_of_another_server_are_passed_over(tmp_path):
    ids = [f"i{number}" for number in range(100)]

    async def first_item(store):
        board = Board(ids, [], 0.0, 0.0, np.random.default_rng(0))
        clerk = Clerk(store)
        lending = Lending(store, clerk, board, Insight([]))
        taken = store.lease("someone at another server", ids[:95], 95, 900.0)
        [offer] = await lending.hand_out("ann", [], 1)
        clerk.close()
        return offer.item.id, taken

    with open_store(tmp_path / "p.bemps", create=True) as store:
        store.add_items(Item(id, id) for id in ids)
        found, taken = asyncio.run(first_item(store))
    assert len(taken) == 95
    assert found in set(ids) - set(taken)
