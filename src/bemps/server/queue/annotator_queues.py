"""Who has what: each annotator's queue of items, leased before they are needed, and what is in their browser.

A lease is a durable row of the store, so it is taken for several items at a time, ahead of the asking: handing out
an item then touches memory only. Leases lapse; what comes back after a lapse is accepted all the same.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bemps.server.queue.schedule import Candidate
from bemps.store import Item
from bemps.store.reservation.leases import LONGEST

LEASE = LONGEST
RENEW = LEASE / 3
LEAST, MOST = 3, 40  # items that are ready
MOST_IN_BROWSER = 100  # items in one person's browser: no page asks for as many
QUICK = 3.0  # answers per second, more than people read: such a queue is used up before a new order could reach it


@dataclass(frozen=True, slots=True)
class Offer:
    """An item as it is offered to an annotator.

    Attributes
    ----------
    candidate : Candidate
        The id of the item and where it came from.
    item : Item
        The item.
    about : dict
        The reasons of the model at that moment.
    """

    candidate: Candidate
    item: Item
    about: dict[str, Any] = field(default_factory=dict)


@dataclass
class AnnotatorQueue:
    """The items of one annotator.

    Attributes
    ----------
    annotator : str
        The name of the person.
    ready : deque of Offer
        The items that are leased but not handed out yet.
    in_browser : dict of str to Offer
        The items that were handed out.
    times : deque of float
        The times of the last answers.
    leasing : set of str
        The items that are being leased at this moment.
    elsewhere : set of str
        The items that could not be leased the last time: people at another server on the project have them.
    leased_at : float
        The time when the leases of the browser were renewed last.
    seen_at : float
        The time when the browser was seen last.
    lock : asyncio.Lock
        The lock that lets the queue be filled once at a time.
    """

    annotator: str
    ready: deque[Offer] = field(default_factory=deque)
    in_browser: dict[str, Offer] = field(default_factory=dict)
    times: deque[float] = field(default_factory=lambda: deque(maxlen=30))
    leasing: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    leased_at: float = 0.0
    seen_at: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def claim(self, have: Sequence[str]) -> None:
        """Move the items that a browser already has from the queue to the browser, as after a restart."""
        for offer in [offer for offer in self.ready if offer.item.id in have]:
            self.ready.remove(offer)
            self.in_browser[offer.item.id] = offer

    def hand_out(
        self, have: Sequence[str], n: int, is_open: Callable[[str], bool], most: int = MOST_IN_BROWSER
    ) -> list[Offer]:
        """Return offers that the browser lacks: first those from before a reload, then new ones.

        Parameters
        ----------
        have : sequence of str
            The ids of the items that the browser has.
        n : int
            The number of items that the browser wants.
        is_open : callable
            A function that returns whether an item may still be asked.
        most : int
            The largest number of items in the browser.

        Returns
        -------
        list of Offer
            At most n offers.
        """
        self.seen_at = time.monotonic()
        again = [offer for item, offer in self.in_browser.items() if item not in have][:n]
        fresh: list[Offer] = []
        while self.ready and len(again) + len(fresh) < n and len(self.in_browser) + len(fresh) < most:
            offer = self.ready.popleft()
            if is_open(offer.item.id):  # a lease may have lapsed, and somebody else answered
                fresh.append(offer)
        self.in_browser |= {offer.item.id: offer for offer in fresh}
        return again + fresh

    def take_back(self) -> list[str]:
        """Take from the queue what this server leased; what an earlier or another one did stays until it lapses."""
        own = [offer for offer in self.ready if offer.candidate.origin != "again"]
        self.ready = deque(offer for offer in self.ready if offer.candidate.origin == "again")
        return [offer.item.id for offer in own]

    def answered(self, item: str) -> None:
        """Note that the annotator has answered an item."""
        self.times.append(time.monotonic())
        self.in_browser.pop(item, None)
        self.ready = deque(offer for offer in self.ready if offer.item.id != item)

    def drop(self, items: Iterable[str]) -> None:
        """Remove items that were answered, or taken back, all at once: that says nothing of how fast somebody reads."""
        gone = set(items)
        self.in_browser = {item: offer for item, offer in self.in_browser.items() if item not in gone}
        self.ready = deque(offer for offer in self.ready if offer.item.id not in gone)

    @property
    def speed(self) -> float:
        """Answers per second over the last ones; 0 for someone who has just come, or paused."""
        if len(self.times) < 2 or time.monotonic() - self.times[-1] > 60:
            return 0.0
        return (len(self.times) - 1) / max(self.times[-1] - self.times[0], 1e-3)

    @property
    def pace(self) -> float:
        """Answers per minute for people to read; 0 where they come faster than anybody reads, kept in a browser."""
        return 60 * self.speed if self.speed <= QUICK else 0.0

    @property
    def size(self) -> int:
        """How many items should be ready: few, so that they are fresh, more for the quick."""
        return min(MOST, LEAST + math.ceil((5 if self.speed > QUICK else 1) * self.speed))

    @property
    def short(self) -> int:
        """How many items to lease now; none while a third of them is there."""
        return max(0, self.size - len(self.ready)) if len(self.ready) <= self.size // 3 else 0

    def out(self) -> set[str]:
        """Every item that nobody else may get."""
        return {*self.in_browser, *self.leasing, *(offer.item.id for offer in self.ready)}
