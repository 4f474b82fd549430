"""Lending: which items each annotator gets, kept apart by leases in the store.

Leases are taken for several items at a time and ahead of the asking, so that handing out an item touches memory only.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

from bemps.serve.board import Ask, Board
from bemps.serve.clerk import Clerk
from bemps.serve.desks import LEASE, MOST_HELD, QUICK, RENEW, Desk, Offer
from bemps.serve.insight import Insight
from bemps.store import Item, Store

ABSENT = 120.0  # seconds without a sign after which a shelf is given back


class Lending:
    """Belongs to one event loop; the desks are those of this server."""

    def __init__(self, store: Store, clerk: Clerk, board: Board, insight: Insight) -> None:
        self.store, self.clerk, self.board, self.insight = store, clerk, board, insight
        self.desks: dict[str, Desk] = {}
        self._adopt_leases()

    def _adopt_leases(self) -> None:
        """What people had when the last server ended is still theirs."""
        held = [(item, annotator) for item, people in self.store.leases().items() for annotator in people]
        contents = {item.id: item for item in self.store.items({item for item, _ in held})}
        for item, annotator in held:
            self.desk(annotator).shelf.append(Offer(Ask(item, "again"), contents[item]))

    def desk(self, annotator: str) -> Desk:
        return self.desks.setdefault(annotator, Desk(annotator))

    def out(self) -> set[str]:
        """What is on a shelf, in a browser, or on its way to one."""
        return {item for desk in self.desks.values() for item in desk.out()}

    def offer(self, item: str) -> Offer | None:
        """How an item was offered to whoever has it in the browser."""
        return next((desk.held[item] for desk in self.desks.values() if item in desk.held), None)

    async def hand_out(self, annotator: str, have: Sequence[str], n: int) -> list[Offer]:
        """From memory whenever the shelf is not empty."""
        desk = self.desk(annotator)
        desk.claim(have)
        is_open = partial(self.board.is_open, annotator=annotator)
        offers = desk.hand_out(have, n, is_open)
        if not offers and n and len(desk.held) < MOST_HELD:
            await self.refill(desk, n)
            offers = desk.hand_out(have, n, is_open)
        return offers

    async def lend_again(self, desk: Desk, item: Item) -> None:
        """An answer was taken back: the item is in the annotator's hands."""
        await self.clerk.run(lambda: self.store.lease(desk.annotator, [item.id], 1, LEASE))
        desk.held[item.id] = Offer(Ask(item.id, "again"), item)

    async def refill(self, desk: Desk, least: int = 0) -> None:
        """Lease items ahead of the asking; where all that is left lies on other shelves, the fullest gives its own."""
        async with desk.lock:
            fair = max(1, self.board.left // (4 * len(self.desks)))
            wanted = max(min(desk.short, fair), least - len(desk.shelf))
            if wanted <= 0:
                return
            if not await self._lease(desk, wanted):
                fullest = max(self.desks.values(), key=lambda other: len(other.shelf))
                if fullest is not desk and fullest.shelf:
                    await self.release(fullest)
                    await self._lease(desk, wanted)

    async def _lease(self, desk: Desk, wanted: int) -> int:
        """How many items could be leased; those that another server on the project has are passed over."""
        elsewhere: set[str] = set()
        while asks := {ask.item: ask for ask in self.board.choose(desk.annotator, wanted, self.out() | elsewhere)}:
            if found := await self._lease_some(desk, wanted, asks):
                return found
            elsewhere |= asks.keys()
        return 0

    async def _lease_some(self, desk: Desk, wanted: int, asks: dict[str, Ask]) -> int:
        desk.coming = set(islice(asks, wanted))
        try:
            leased = await self.clerk.run(lambda: self.store.lease(desk.annotator, [*asks], wanted, LEASE))
            items = await asyncio.to_thread(lambda: list(self.store.items(leased)))
        finally:
            desk.coming = set()
        about = self.insight.about
        desk.shelf.extend(Offer(asks[item.id], item, about.get(item.id, {})) for item in items)
        await self._mark_second(asks[item.id] for item in items)
        return len(items)

    async def _mark_second(self, asks: Iterable[Ask]) -> None:
        """A share of the new items is for two people."""
        second = [ask.item for ask in asks if ask.origin != "overlap" and self.board.wants_second(ask.item)]
        if second:
            await self.clerk.run(lambda: self.store.mark_overlap(second))
            self.board.second |= dict.fromkeys(second)

    async def release(self, desk: Desk) -> None:
        """Give back what is on the shelf: a better order is there, nobody comes for it, or somebody has nothing."""
        items = desk.cleared()
        if items:
            await self.clerk.run(lambda: self.store.release(desk.annotator, items))

    async def refresh(self) -> None:
        """The new order reaches everybody who is not too quick for it."""
        for desk in list(self.desks.values()):
            if desk.speed < QUICK and time.monotonic() - desk.seen_at < ABSENT:
                await self.release(desk)
                await self.refill(desk)

    async def mind(self, desk: Desk) -> None:
        """Renew the leases of who is here, give back those of who left."""
        now = time.monotonic()
        if now - desk.seen_at > LEASE:
            await self._clear_away(desk)
        elif desk.shelf and now - desk.seen_at > ABSENT:
            await self.release(desk)
        elif desk.held and now - desk.leased_at > RENEW and now - desk.seen_at < LEASE:
            desk.leased_at = now
            held = list(desk.held)
            await self.clerk.run(lambda: self.store.lease(desk.annotator, held, len(held), LEASE))

    async def _clear_away(self, desk: Desk) -> None:
        """Everything of who has been away for long is free again; what they answer all the same is accepted."""
        self.desks.pop(desk.annotator, None)
        items = [*desk.held, *(offer.item.id for offer in desk.shelf)]
        if items:
            await self.clerk.run(lambda: self.store.release(desk.annotator, items))
