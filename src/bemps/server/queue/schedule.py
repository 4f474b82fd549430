"""What to ask next: the model's order, with audit items and second opinions mixed in, random items where it has none.

Pure bookkeeping in memory; who really gets an item is decided by the store's leases.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Literal

import numpy as np

from bemps.server.queue.class_search import ClassSearch
from bemps.server.queue.item_shares import ItemShares
from bemps.server.queue.overlap_items import OverlapItems
from bemps.store import Answer, Event
from bemps.store.events import ADJUDICATE, CLEAR, LABEL, LATER, NOTE, OVERLAP, REDO, SKIP, UNDO, UNSURE
from bemps.store.reservation.assignment import Assignment

Origin = Literal["model", "typical", "audit", "overlap", "random", "later", "again", "likely"]
CLOSING = (LABEL, SKIP, UNSURE)
AT_ONCE = 5  # second opinions, so that a person gets other items too
POSTPONED_BY = 20  # other items, before one comes again that somebody wanted to be asked later
SPARE = 20  # candidates beyond those wanted, as others may have taken some


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item to offer, and how it came to be chosen."""

    item: str
    origin: Origin


@dataclass
class Schedule:
    """The order in which items are asked.

    Parameters
    ----------
    ids : sequence of str
        All items, in a fixed random order.
    audit : sequence of str
        The audit slice, in the order of asking.
    audit_share, overlap_share : float
        The shares of the items that are asked.
    rng : numpy.random.Generator
        Decides when an audit item comes.
    answers : int
        How many people answer each item of the overlap.
    """

    ids: Sequence[str]
    audit: Sequence[str] = ()
    audit_share: float = 0.1
    overlap_share: float = 0.0
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    answers: int = 2

    def __post_init__(self) -> None:
        self.set_audit(self.audit)
        self.answered: dict[str, dict[str, str]] = {}  # item -> annotator -> label, skip, unsure, adjudicate
        self.labelled: set[str] = set()
        self.ranking: list[str] = []
        self.origin: Origin = "random"
        self.class_searches: dict[str, ClassSearch] = {}  # by annotator
        self.overlap = OverlapItems(self.answers)
        self.postponed: dict[str, dict[str, int]] = {}  # annotator -> item -> after how many of their answers it comes
        self._answers_of: Counter[str] = Counter()
        self._answered_in: Counter[str] = Counter()  # the number of answered items of each share
        self.shares = ItemShares(self.ids, None)

    def set_assignment(self, assignment: Assignment | None) -> None:
        """Set which items are for whom."""
        self.shares = ItemShares(self.ids, assignment)
        self._answered_in = Counter(self.shares.share_of(item) for item in self.answered)

    def set_audit(self, audit: Sequence[str]) -> None:
        """Set the audit slice, in the order of asking."""
        self.audit, self.reserved = audit, frozenset(audit)

    def set_overlap(self, share: float, answers: int) -> None:
        """Set the share of the items that several people answer, and how many people."""
        self.overlap_share = share
        if answers != self.answers:
            self.answers = answers
            self.overlap.set_answers(answers, self.answered)

    def mark_overlap(self, items: Iterable[str]) -> None:
        """Note that several people are to answer these items."""
        self.overlap.add(items, self.answered)

    def set_postponed(self, annotator: str, items: Mapping[str, int]) -> None:
        """Set the items that a person wants to be asked later, and how many answers they gave since."""
        due = self._answers_of[annotator] + POSTPONED_BY
        self.postponed[annotator] = {item: due - since for item, since in items.items()}

    def rank(self, items: Iterable[str], origin: Origin) -> None:
        """Set a new order from the model."""
        self.ranking, self.origin = list(items), origin

    def apply_events(self, events: Iterable[Event]) -> list[str]:
        """Apply answers of this or another server, and return the items whose answers must be looked up."""
        unclear = []
        for event in events:
            if event.item is None:
                continue
            if event.kind == LATER:
                if event.annotator not in self.answered.get(event.item, {}):
                    due = self._answers_of[event.annotator] + POSTPONED_BY
                    self.postponed.setdefault(event.annotator, {})[event.item] = due
            elif event.kind in CLOSING or event.kind == ADJUDICATE:
                self._answers_of[event.annotator] += 1
                self.postponed.get(event.annotator, {}).pop(event.item, None)
                self._set_kinds(event.item, self.answered.get(event.item, {}) | {event.annotator: event.kind})
            elif event.kind in (UNDO, REDO, CLEAR):
                unclear.append(event.item)
            elif event.kind == OVERLAP:
                self.mark_overlap([event.item])
        return unclear

    def set_answers(self, item: str, answers: Iterable[Answer]) -> None:
        """Set the present answers of an item."""
        self._set_kinds(item, {answer.annotator: answer.kind for answer in answers if answer.kind != NOTE})

    def _set_kinds(self, item: str, kinds: dict[str, str]) -> None:
        was_answered = item in self.answered
        if kinds:
            self.answered[item] = kinds
        else:
            self.answered.pop(item, None)
            self.shares.step_back(item)
        self._answered_in[self.shares.share_of(item)] += bool(kinds) - was_answered
        if LABEL in kinds.values() or ADJUDICATE in kinds.values():
            self.labelled.add(item)
        else:
            self.labelled.discard(item)
        self.overlap.update(item, kinds)

    def is_open(self, item: str, annotator: str) -> bool:
        """Return whether the annotator may be asked: the item has no answer yet, or needs somebody else's."""
        answers = self.answered.get(item)
        if not answers:
            return self.shares.allows(item, annotator)  # people of its share come first
        if item not in self.overlap or annotator in answers or not self.overlap.needs_somebody(answers):
            return False
        return self.shares.allows(item, annotator, answers, self.answers)

    def answer_word(self, item: str, annotator: str) -> str | None:
        """Return the kind of a person's answer to an item, or `later`; None if there is none."""
        later = LATER if item in self.postponed.get(annotator, {}) else None
        return self.answered.get(item, {}).get(annotator, later)

    def candidates_for(self, annotator: str, n: int, out: set[str], ahead: int = 0) -> list[Candidate]:
        """Return candidates for an annotator, best first.

        Parameters
        ----------
        annotator : str
            The name of the person.
        n : int
            The number of candidates.
        out : set of str
            The ids of the items that are lent already. They are left out.
        ahead : int
            How many items the person has ahead. Items to be asked later come after these.

        Returns
        -------
        list of Candidate
            At least n candidates, as far as there are any.
        """

        def free(items: Iterable[str], origin: Origin) -> Iterator[Candidate]:
            answered = self.answered  # most are out or answered: they must cost next to nothing
            unseen = (item for item in items if item not in out and (item not in answered or item in self.overlap))
            if later and origin != "later":
                unseen = (item for item in unseen if item not in later)
            return (Candidate(item, origin) for item in unseen if self.is_open(item, annotator))

        answers = self._answers_of[annotator] + ahead
        later = self.postponed.get(annotator, {})
        due = free((item for item, after in later.items() if after <= answers), "later")
        second = free(self.overlap.waiting_for(annotator), "overlap")
        search = self.class_searches.get(annotator)
        likely = free((item for item in (search.items if search else ()) if item not in self.reserved), "likely")
        ordinary = chain(likely, free(self.ranking, self.origin), free(self._rest(annotator), "random"))
        few, new = islice(second, AT_ONCE), self._mixed(ordinary, free(self.audit, "audit"))
        new = chain(new, few) if search else chain(few, new)  # who looks for a class gets what they look for first
        mixed = chain(due, new, free(later, "later"))
        unique: dict[str, Candidate] = {}
        for candidate in islice(mixed, 2 * (n + SPARE)):
            unique.setdefault(candidate.item, candidate)
        return list(islice(unique.values(), n + SPARE))

    def is_shared(self, item: str) -> bool:
        """Whether an item is for several people: the same answer however often it comes up, so that the share holds."""
        drawn = int.from_bytes(hashlib.blake2b(item.encode(), digest_size=8).digest())
        return item not in self.overlap and drawn < self.overlap_share * 2**64

    def is_awaited(self, item: str, holders: int) -> bool:
        """Whether an item that somebody has answered, and that so many people hold, needs a further person."""
        kinds = self.answered.get(item)
        return kinds is not None and item in self.overlap and self.overlap.needs_somebody(kinds, holders)

    @property
    def left(self) -> int:
        """The number of items that nobody has answered."""
        return len(self.ids) - len(self.answered)

    @property
    def unfinished(self) -> int:
        """The number of items that still need an answer, of whomever."""
        return self.left + self.overlap.waiting

    def left_for(self, annotator: str) -> int:
        """The number of items of a person's share that nobody has answered."""
        if self.shares.assignment is None:
            return self.left
        sizes = self.shares.sizes
        return sum(sizes[share] - self._answered_in[share] for share in self.shares.shares_for(annotator))

    def unasked(self, out: set[str]) -> int:
        """How much of the model's order nobody has."""
        return sum(item not in self.answered and item not in out for item in self.ranking)

    def _mixed(self, ordinary: Iterator[Candidate], audit: Iterator[Candidate]) -> Iterator[Candidate]:
        """Audit items come up at their share, by chance, so that nobody can tell them by their place."""
        for candidate in ordinary:
            while self.rng.random() < self.audit_share:
                yield from islice(audit, 1)
            yield candidate
        yield from audit

    def _rest(self, annotator: str) -> Iterator[str]:
        """The items of a person in their random order; the audit slice has its own turn."""
        answered, reserved = self.answered, self.reserved
        rest = self.shares.items_for(annotator, lambda item: item in answered or item in reserved)
        return (item for item in rest if item not in reserved)
