"""Who has which item in hand. One transaction decides, so that no item goes to two people, in any process."""

from collections.abc import Collection, Iterable

from sqlalchemy import bindparam, delete, insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store.fold import State
from bemps.store.tables import LEASES
from bemps.store.words import ADJUDICATE, LABEL, NOTE

SECOND = 1_000_000
LONGEST = 900.0  # seconds of a lease; it may be renewed
CHUNK = 200  # items whose leases are read in one step
ONE = delete(LEASES).where(LEASES.c.item == bindparam("of_item"), LEASES.c.annotator == bindparam("of_annotator"))
Book = dict[str, dict[str, int]]  # by item and annotator: until when
Lease = tuple[str, str]  # item and annotator


class Leases:
    """The leases as a transaction sees them: those of an item are read when it is asked for, and written at its end.

    Others are not looked at, so that an answer costs the same however many items people have in hand.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._book: Book = {}  # of the items that were read
        self._before: dict[Lease, int] = {}
        self._given_back: set[Lease] = set()  # of items that were not

    def read(self, items: Iterable[str]) -> None:
        """Have the leases of these items at hand."""
        new = [item for item in dict.fromkeys(items) if item not in self._book]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            self._book |= {item: {} for item in chunk}
            for row in self._connection.execute(select(LEASES).where(LEASES.c.item.in_(chunk))):
                self._before[row.item, row.annotator] = row.expires
                if (row.item, row.annotator) not in self._given_back:
                    self._book[row.item][row.annotator] = row.expires

    def holders(self, item: str, now: int) -> set[str]:
        """Who has the item in hand at this moment."""
        self.read([item])
        return {annotator for annotator, expires in self._book[item].items() if is_live(expires, now)}

    def live(self, now: int) -> dict[str, frozenset[str]]:
        """Everybody who has anything in hand, by item."""
        book: dict[str, set[str]] = {}
        for row in self._connection.execute(select(LEASES)):
            if is_live(row.expires, now):
                book.setdefault(row.item, set()).add(row.annotator)
        return {item: frozenset(people) for item, people in book.items()}

    def take(self, item: str, annotator: str, expires: int) -> None:
        self.read([item])
        self._book[item][annotator] = expires

    def give_back(self, item: str, annotator: str) -> None:
        if item in self._book:
            self._book[item].pop(annotator, None)
        else:
            self._given_back.add((item, annotator))

    def give_back_all(self, annotator: str, items: Collection[str] | None = None) -> None:
        own = select(LEASES.c.item).where(LEASES.c.annotator == annotator)
        for item in self._connection.execute(own).scalars().all() if items is None else items:
            self.give_back(item, annotator)

    def write(self, now: int) -> None:
        """What changed; where leases were taken, what lapsed goes too."""
        after = {(item, who): expires for item, people in self._book.items() for who, expires in people.items()}
        old = self._given_back | {slot for slot, expires in self._before.items() if after.get(slot) != expires}
        new = [slot for slot, expires in after.items() if self._before.get(slot) != expires]
        if old:
            self._connection.execute(ONE, [{"of_item": item, "of_annotator": who} for item, who in sorted(old)])
        if new:
            rows = [{"item": item, "annotator": who, "expires": after[item, who]} for item, who in new]
            self._connection.execute(insert(LEASES), rows)
            self._connection.execute(delete(LEASES).where(~LEASES.c.expires.between(now + 1, latest(now))))


def is_live(expires: int, now: int) -> bool:
    """Not over, and not later than any lease can be: that one was taken while a clock was wrong."""
    return now < expires <= latest(now)


def latest(now: int) -> int:
    """When a lease that is taken now ends at the latest."""
    return now + int(LONGEST * SECOND)


def lease(
    leases: Leases, state: State, annotator: str, wanted: Iterable[str], *, n: int, ttl: float, now: int
) -> list[str]:
    """Reserve the first n of these items that the annotator may answer."""
    chosen: list[str] = []
    wanted = list(wanted)
    for place, item in enumerate(wanted):
        if len(chosen) == n:
            break
        if place % CHUNK == 0:
            leases.read(wanted[place : place + CHUNK])
        if may_answer(state, leases.holders(item, now), annotator, item):
            leases.take(item, annotator, now + int(ttl * SECOND))
            chosen.append(item)
    return chosen


def check(n: int, ttl: float) -> None:
    if n < 0 or not 0 < ttl <= LONGEST:
        expected = f"n of 0 or more and a ttl above 0 and up to {LONGEST:g} seconds"
        raise InputError("lease", expected=expected, got=f"n = {n}, ttl = {ttl}", fix="Correct them; renew in time.")


def may_answer(state: State, holders: set[str], annotator: str, item: str) -> bool:
    """Not answered by them or settled, and not yet by as many others as it needs."""
    others = holders - {annotator}
    for held in state.all_held(item):
        if held.kind == ADJUDICATE or (held.annotator == annotator and held.kind != NOTE):
            return False
        if held.kind == LABEL:
            others.add(held.annotator)
    return len(others) < (2 if item in state.overlap else 1)
