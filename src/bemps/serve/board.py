"""What to ask next: the model's order, with audit items and second opinions mixed in, random items where it has none.

Pure bookkeeping in memory; who really gets an item is decided by the store's leases.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Literal

import numpy as np

from bemps.store import Answer, Event
from bemps.store.words import ADJUDICATE, CLEAR, LABEL, NOTE, OVERLAP, REDO, SKIP, UNDO, UNSURE

Origin = Literal["model", "typical", "audit", "overlap", "random", "again"]
CLOSING = (LABEL, SKIP, UNSURE)
AT_ONCE = 5  # second opinions, so that a person gets other items too
SPARE = 20  # candidates beyond those wanted, as others may have taken some


def random_order(ids: Iterable[str], seed: int) -> list[str]:
    """The order in which every server, and the model's window, goes through the items of a project."""
    order = list(ids)
    np.random.default_rng(seed).shuffle(order)
    return order


@dataclass(frozen=True, slots=True)
class Ask:
    """An item to offer, and how it came to be chosen."""

    item: str
    origin: Origin


@dataclass
class Board:
    """ids: all items, in a fixed random order; audit: the slice, in the order of asking; shares of asks for each."""

    ids: Sequence[str]
    audit: Sequence[str] = ()
    audit_share: float = 0.1
    overlap_share: float = 0.0
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def __post_init__(self) -> None:
        self.reserved = frozenset(self.audit)
        self.answered: dict[str, dict[str, str]] = {}  # item -> annotator -> label, skip or unsure
        self.labelled: set[str] = set()
        self.ranking: list[str] = []
        self.origin: Origin = "random"
        self.second: dict[str, None] = {}  # items that are to get a second opinion, oldest first
        self._start = 0

    def rank(self, items: Iterable[str], origin: Origin) -> None:
        """A new order from the model."""
        self.ranking, self.origin = list(items), origin

    def note(self, events: Iterable[Event]) -> list[str]:
        """What was answered, by this server or beside it; returns the items whose answers must be looked up."""
        unclear = []
        for event in events:
            if event.item is None:
                continue
            if event.kind in CLOSING or event.kind == ADJUDICATE:
                kind = LABEL if event.kind == ADJUDICATE else event.kind
                self._put(event.item, self.answered.get(event.item, {}) | {event.annotator: kind})
            elif event.kind in (UNDO, REDO, CLEAR):
                unclear.append(event.item)
            elif event.kind == OVERLAP:
                self.second[event.item] = None
        return unclear

    def settle(self, item: str, answers: Iterable[Answer]) -> None:
        """The answers that hold for an item."""
        kinds = {one.annotator: LABEL if one.kind == ADJUDICATE else one.kind for one in answers if one.kind != NOTE}
        self._put(item, kinds)

    def _put(self, item: str, kinds: dict[str, str]) -> None:
        if kinds:
            self.answered[item] = kinds
        else:
            self.answered.pop(item, None)
            self._start = 0
        if LABEL in kinds.values():
            self.labelled.add(item)
        else:
            self.labelled.discard(item)

    def is_open(self, item: str, annotator: str) -> bool:
        """The annotator may be asked for it: nobody has answered it, or a second opinion is wanted."""
        said = self.answered.get(item)
        if not said:
            return True
        return item in self.second and annotator not in said and len(said) < 2

    def choose(self, annotator: str, n: int, out: set[str]) -> list[Ask]:
        """At least n candidates for an annotator, best first, without those that are out already."""

        def free(items: Iterable[str], origin: Origin) -> Iterator[Ask]:
            answered = self.answered  # most are out or answered: they must cost next to nothing
            unseen = (item for item in items if item not in out and (item not in answered or item in self.second))
            return (Ask(item, origin) for item in unseen if self.is_open(item, annotator))

        second = free((item for item in self.second if item in self.answered), "overlap")
        ordinary = chain(free(self.ranking, self.origin), free(self._rest(), "random"))
        mixed = chain(islice(second, AT_ONCE), self._mixed(ordinary, free(self.audit, "audit")))
        return list(islice({ask.item: ask for ask in islice(mixed, 2 * (n + SPARE))}.values(), n + SPARE))

    def wants_second(self, item: str) -> bool:
        """Whether an item is for two people: the same answer however often it comes up, so that the share holds."""
        drawn = int.from_bytes(hashlib.blake2b(item.encode(), digest_size=8).digest())
        return item not in self.second and drawn < self.overlap_share * 2**64

    @property
    def left(self) -> int:
        """Items that nobody has answered."""
        return len(self.ids) - len(self.answered)

    def unasked(self, out: set[str]) -> int:
        """How much of the model's order nobody has."""
        return sum(item not in self.answered and item not in out for item in self.ranking)

    def _mixed(self, ordinary: Iterator[Ask], audit: Iterator[Ask]) -> Iterator[Ask]:
        """Audit items come up at their share, by chance, so that nobody can tell them by their place."""
        for ask in ordinary:
            while self.rng.random() < self.audit_share:
                yield from islice(audit, 1)
            yield ask
        yield from audit

    def _rest(self) -> Iterator[str]:
        """All items in their random order, from the first that is not answered; the audit slice has its own turn."""
        while self._start < len(self.ids) and self.ids[self._start] in self.answered:
            self._start += 1
        return (item for item in islice(self.ids, self._start, None) if item not in self.reserved)
