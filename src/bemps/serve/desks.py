"""Who has what: each annotator's shelf of items, leased before they are needed, and what is in their browser.

A lease is a durable row of the store, so it is taken for several items at a time, ahead of the asking: handing out
an item then touches memory only. Leases lapse; what comes back after a lapse is accepted all the same.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bemps.serve.board import Ask
from bemps.store import Item
from bemps.store.leases import LONGEST

LEASE = LONGEST
RENEW = LEASE / 3
LEAST, MOST = 3, 40  # items on a shelf
MOST_HELD = 100  # items in one person's browser: no page asks for as many
QUICK = 3.0  # answers per second, more than people read: such a shelf is used up before a new order could reach it


@dataclass(frozen=True, slots=True)
class Offer:
    """An item as it is offered, with where it came from and the model's reasons at that moment."""

    ask: Ask
    item: Item
    about: dict[str, Any] = field(default_factory=dict)


@dataclass
class Desk:
    """One annotator. shelf: leased, not handed out; coming: being leased; held: in the browser."""

    annotator: str
    shelf: deque[Offer] = field(default_factory=deque)
    held: dict[str, Offer] = field(default_factory=dict)
    times: deque[float] = field(default_factory=lambda: deque(maxlen=30))
    coming: set[str] = field(default_factory=set)
    leased_at: float = 0.0
    seen_at: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def claim(self, have: Sequence[str]) -> None:
        """A browser says what it has: after a restart that is on the shelf."""
        for offer in [offer for offer in self.shelf if offer.item.id in have]:
            self.shelf.remove(offer)
            self.held[offer.item.id] = offer

    def hand_out(self, have: Sequence[str], n: int, is_open: Callable[[str], bool]) -> list[Offer]:
        """What this browser should have and has not: first what was handed out before (a reload), then the shelf."""
        self.seen_at = time.monotonic()
        again = [offer for item, offer in self.held.items() if item not in have][:n]
        fresh: list[Offer] = []
        while self.shelf and len(again) + len(fresh) < n and len(self.held) + len(fresh) < MOST_HELD:
            offer = self.shelf.popleft()
            if is_open(offer.item.id):  # a lease may have lapsed, and somebody else answered
                fresh.append(offer)
        self.held |= {offer.item.id: offer for offer in fresh}
        return again + fresh

    def cleared(self) -> list[str]:
        """Take from the shelf what this server leased; what an earlier or another one did stays until it lapses."""
        own = [offer for offer in self.shelf if offer.ask.origin != "again"]
        self.shelf = deque(offer for offer in self.shelf if offer.ask.origin == "again")
        return [offer.item.id for offer in own]

    def answered(self, item: str) -> None:
        self.times.append(time.monotonic())
        self.held.pop(item, None)
        self.shelf = deque(offer for offer in self.shelf if offer.item.id != item)

    @property
    def speed(self) -> float:
        """Answers per second over the last ones; 0 for someone who has just come, or paused."""
        if len(self.times) < 2 or time.monotonic() - self.times[-1] > 60:
            return 0.0
        return (len(self.times) - 1) / max(self.times[-1] - self.times[0], 1e-3)

    @property
    def wanted(self) -> int:
        """How many items the shelf should have: few, so that they are fresh, more for the quick."""
        return min(MOST, LEAST + math.ceil((5 if self.speed > QUICK else 1) * self.speed))

    @property
    def short(self) -> int:
        return max(0, self.wanted - len(self.shelf)) if len(self.shelf) <= self.wanted // 3 else 0

    def out(self) -> set[str]:
        return {*self.held, *self.coming, *(offer.item.id for offer in self.shelf)}
