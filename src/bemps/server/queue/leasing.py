"""Lending: which items each annotator gets, kept apart by leases in the store.

Leases are taken for several items at a time and ahead of the asking, so that handing out an item touches memory only.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

from bemps.server.model.model_status import ModelStatus
from bemps.server.queue.annotator_queues import LEASE, LEAST, MOST_IN_BROWSER, QUICK, RENEW, AnnotatorQueue, Offer
from bemps.server.queue.answer_writer import AnswerWriter
from bemps.server.queue.schedule import Candidate, Schedule
from bemps.store import Item, Store

SPEED_AGE = 1.0  # seconds until the speed of all people is looked up again
ABSENT = 120.0  # seconds without a sign after which a queue is given back


class Lending:
    """The leases of items to the annotators of this server, on one event loop.

    Parameters
    ----------
    store : Store
        The database of the project.
    writer : AnswerWriter
        Writes to the store.
    schedule : Schedule
        The order of the items.
    model_status : ModelStatus
        What the server knows of the model.
    """

    def __init__(self, store: Store, writer: AnswerWriter, schedule: Schedule, model_status: ModelStatus) -> None:
        self.store, self.writer, self.schedule, self.model_status = store, writer, schedule, model_status
        self.queues: dict[str, AnnotatorQueue] = {}
        self._speed, self._measured_at = (0.0, 0), -SPEED_AGE
        self._adopt_leases()

    def _adopt_leases(self) -> None:
        """What people had when the last server ended is still theirs."""
        pairs = [(item, annotator) for item, people in self.store.leases().items() for annotator in people]
        contents = {item.id: item for item in self.store.items({item for item, _ in pairs})}
        for item, annotator in pairs:
            self.queue_of(annotator).ready.append(Offer(Candidate(item, "again"), contents[item]))

    def queue_of(self, annotator: str) -> AnnotatorQueue:
        """Return the queue of an annotator; it is made at the first call."""
        return self.queues.setdefault(annotator, AnnotatorQueue(annotator))

    def mark_present(self, annotator: str | None) -> None:
        """Note that an annotator is still present, so that their leases are renewed."""
        if annotator in self.queues:
            self.queues[annotator].seen_at = time.monotonic()

    def out(self) -> set[str]:
        """Return the items that are in a queue or in a browser."""
        return {item for queue in self.queues.values() for item in queue.out()}

    def out_for(self, annotator: str) -> set[str]:
        """Return the items that this person cannot get: theirs already, or in the hands of all who are to answer."""
        holders = Counter(item for queue in self.queues.values() for item in queue.out())
        own = self.queue_of(annotator).out()
        return {item for item, n in holders.items() if item in own or not self.schedule.is_awaited(item, n)}

    def held_by_others(self, annotator: str) -> int:
        """Return how many items other people have in hand; 0 where this person can get others."""
        elsewhere = self.queue_of(annotator).elsewhere
        if self.schedule.candidates_for(annotator, 1, self.out_for(annotator) | elsewhere):
            return 0  # a browser that is full, or answers on their way
        others = {item for queue in self.queues.values() if queue.annotator != annotator for item in queue.out()}
        others |= elsewhere
        return sum(self.schedule.is_open(item, annotator) for item in others)

    def speed(self) -> tuple[float, int]:
        """Return the answers per second of all people together, and how many people that are.

        Every response has words on it. So it is looked up once in a while, not for each.
        """
        now = time.monotonic()
        if now - self._measured_at > SPEED_AGE:
            speeds = [speed for queue in self.queues.values() if (speed := queue.speed) > 0]
            self._measured_at, self._speed = now, (sum(speeds), len(speeds))
        return self._speed

    def ranking_size(self) -> int:
        """Return how many items a new order needs until the next one comes."""
        speed = sum(queue.speed for queue in self.queues.values())
        size = 20 + 6 * len(self.queues) + int(2 * speed * max(self.model_status.seconds, 1.0))
        return min(1_000, size * len(self.schedule.shares.sizes))  # where people have shares, some of each

    def is_used_up(self) -> bool:
        """Whether the order is nearly used up, and the model could make another."""
        return not self.model_status.exhausted and self.schedule.unasked(self.out()) < 2 * max(1, len(self.queues))

    def offer(self, item: str) -> Offer | None:
        """Return the offer of an item that some browser has, or None."""
        return next((queue.in_browser[item] for queue in self.queues.values() if item in queue.in_browser), None)

    async def hand_out(self, annotator: str, have: Sequence[str], n: int) -> list[Offer]:
        """Return offers for a browser, from memory whenever the queue is not empty.

        Parameters
        ----------
        annotator : str
            The name of the person.
        have : sequence of str
            The ids of the items that the browser has.
        n : int
            The number of items that the browser wants.

        Returns
        -------
        list of Offer
            At most n offers.
        """
        queue = self.queue_of(annotator)
        queue.claim(have)
        is_open = partial(self.schedule.is_open, annotator=annotator)
        most = max(LEAST + 1, min(MOST_IN_BROWSER, self._fair_share(annotator)))
        offers = queue.hand_out(have, n, is_open, most)
        room = min(n, most - len(queue.in_browser))
        if not offers and room > 0:
            await self.refill(queue, room)
            offers = queue.hand_out(have, n, is_open, most)
        return offers

    def _fair_share(self, annotator: str) -> int:
        """How much of what is left one person may have in hand, so that the others do not wait for them."""
        return self.schedule.left_for(annotator) // (4 * len(self.queues))

    async def take_back(self, queue: AnnotatorQueue, items: Iterable[str]) -> None:
        """Take back items that a browser has not shown."""
        own = [item for item in dict.fromkeys(items) if queue.in_browser.pop(item, None) is not None]
        if own:
            await self.writer.run(lambda: self.store.release(queue.annotator, own))

    async def lend_again(self, queue: AnnotatorQueue, item: Item) -> None:
        """Lend an item again to the annotator who took back an answer."""
        await self.writer.run(lambda: self.store.lease(queue.annotator, [item.id], 1, LEASE))
        queue.in_browser[item.id] = Offer(Candidate(item.id, "again"), item)

    async def refill(self, queue: AnnotatorQueue, least: int = 0) -> None:
        """Lease items ahead of the asking; where others have all that is left, the longest queue gives its own."""
        async with queue.lock:
            n = max(min(queue.short, max(1, self._fair_share(queue.annotator))), least - len(queue.ready))
            if n <= 0:
                return
            if not await self._lease(queue, n):
                is_open = partial(self.schedule.is_open, annotator=queue.annotator)
                useful = {name: sum(is_open(offer.item.id) for offer in q.ready) for name, q in self.queues.items()}
                longest = max(self.queues.values(), key=lambda other: useful[other.annotator])
                if longest is not queue and useful[longest.annotator]:
                    await self.release(longest)
                    await self._lease(queue, n)

    async def _lease(self, queue: AnnotatorQueue, n: int) -> int:
        """How many items could be leased; those that another server on the project has are passed over."""
        queue.elsewhere = set()
        ahead = len(queue.in_browser) + len(queue.ready)
        who = queue.annotator
        while candidates := self.schedule.candidates_for(who, n, self.out_for(who) | queue.elsewhere, ahead):
            by_item = {candidate.item: candidate for candidate in candidates}
            if leased := await self._lease_some(queue, n, by_item):
                return leased
            queue.elsewhere.update(by_item)
        return 0

    async def _lease_some(self, queue: AnnotatorQueue, n: int, candidates: dict[str, Candidate]) -> int:
        queue.leasing = set(islice(candidates, n))
        try:
            leased = await self.writer.run(lambda: self.store.lease(queue.annotator, [*candidates], n, LEASE))
            items = await asyncio.to_thread(lambda: list(self.store.items(leased)))
        finally:
            queue.leasing = set()
        queue.ready.extend(self._offer(queue.annotator, candidates[item.id], item) for item in items)
        await self._mark_shared(candidates[item.id] for item in items)
        return len(items)

    def _offer(self, annotator: str, candidate: Candidate, item: Item) -> Offer:
        search = self.schedule.class_searches.get(annotator)
        why = search.reason(item.id) if search is not None and candidate.origin == "likely" else {}
        return Offer(candidate, item, self.model_status.about.get(item.id, {}) | why)

    async def _mark_shared(self, candidates: Iterable[Candidate]) -> None:
        """A share of the new items is for several people."""
        new = [candidate.item for candidate in candidates if candidate.origin != "overlap"]
        shared = [item for item in new if self.schedule.is_shared(item)]
        if shared:
            await self.writer.run(lambda: self.store.mark_overlap(shared, durable=False))
            self.schedule.mark_overlap(shared)

    async def release(self, queue: AnnotatorQueue) -> None:
        """Give back what waits in a queue: a better order is there, nobody comes for it, or somebody has nothing."""
        items = queue.take_back()
        if items:
            await self.writer.run(lambda: self.store.release(queue.annotator, items))

    async def release_waiting(self, annotator: str) -> None:
        """Give back what waits for an annotator, also what is being leased by the order before."""
        queue = self.queue_of(annotator)
        async with queue.lock:
            await self.release(queue)

    async def refresh(self) -> None:
        """Give the new order to all annotators who are not too quick for it."""
        for queue in list(self.queues.values()):
            if queue.speed < QUICK and time.monotonic() - queue.seen_at < ABSENT:
                await self.release(queue)
                await self.refill(queue)

    async def renew_or_release(self, queue: AnnotatorQueue) -> None:
        """Renew the leases of annotators who are present, and give back those of annotators who left."""
        now = time.monotonic()
        if now - queue.seen_at > LEASE:
            await self._remove(queue)
        elif queue.ready and now - queue.seen_at > ABSENT:
            await self.release(queue)
        elif queue.in_browser and now - queue.leased_at > RENEW and now - queue.seen_at < LEASE:
            queue.leased_at = now
            items = list(queue.in_browser)
            await self.writer.run(lambda: self.store.lease(queue.annotator, items, len(items), LEASE))

    async def _remove(self, queue: AnnotatorQueue) -> None:
        """Everything of who has been away for long is free again; what they answer all the same is accepted."""
        self.queues.pop(queue.annotator, None)
        self.schedule.class_searches.pop(queue.annotator, None)  # the model need not look for its items any more
        items = [*queue.in_browser, *(offer.item.id for offer in queue.ready)]
        if items:
            await self.writer.run(lambda: self.store.release(queue.annotator, items))
