"""Leases: which annotator has reserved which item. One transaction decides, so no item goes to two people."""

from collections.abc import Collection, Iterable

from sqlalchemy import bindparam, delete, insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store.events import ADJUDICATE, LABEL, NOTE
from bemps.store.reservation.assignment import Assignment
from bemps.store.sql.sql_tables import LEASES
from bemps.store.state import State

SECOND = 1_000_000
LONGEST = 900.0  # seconds of a lease; it may be renewed
CHUNK = 200  # items whose leases are read in one step
DELETE_LEASE = delete(LEASES).where(
    LEASES.c.item == bindparam("of_item"), LEASES.c.annotator == bindparam("of_annotator")
)
Book = dict[str, dict[str, int]]  # by item and annotator: until when
Lease = tuple[str, str]  # item and annotator


class Leases:
    """The leases of a transaction. Those of an item are read on first use, and changes are written at the end.

    Leases of other items are not read: an answer costs the same however many leases there are.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._book: Book = {}  # of the items that were read
        self._before: dict[Lease, int] = {}
        self._released: set[Lease] = set()  # of items that were not

    def read(self, items: Iterable[str]) -> None:
        """Read the leases of these items."""
        new = [item for item in dict.fromkeys(items) if item not in self._book]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            self._book |= {item: {} for item in chunk}
            for row in self._connection.execute(select(LEASES).where(LEASES.c.item.in_(chunk))):
                self._before[row.item, row.annotator] = row.expires
                if (row.item, row.annotator) not in self._released:
                    self._book[row.item][row.annotator] = row.expires

    def holders(self, item: str, now: int) -> set[str]:
        """Return the annotators who have a lease on the item now."""
        self.read([item])
        return {annotator for annotator, expires in self._book[item].items() if is_live(expires, now)}

    def live(self, now: int) -> dict[str, frozenset[str]]:
        """Return the annotators with a lease now, by item."""
        book: dict[str, set[str]] = {}
        for row in self._connection.execute(select(LEASES)):
            if is_live(row.expires, now):
                book.setdefault(row.item, set()).add(row.annotator)
        return {item: frozenset(people) for item, people in book.items()}

    def take(self, item: str, annotator: str, expires: int) -> None:
        """Reserve an item for an annotator until a time.

        Parameters
        ----------
        item : str
            The id of the item.
        annotator : str
            Who gets it.
        expires : int
            The end of the lease, in microseconds since 1970.
        """
        self.read([item])
        self._book[item][annotator] = expires

    def give_back(self, item: str, annotator: str) -> None:
        """End a lease."""
        if item in self._book:
            self._book[item].pop(annotator, None)
        else:
            self._released.add((item, annotator))

    def give_back_all(self, annotator: str, items: Collection[str] | None = None) -> None:
        """End the leases of an annotator on these items, or all of them."""
        own = select(LEASES.c.item).where(LEASES.c.annotator == annotator)
        for item in self._connection.execute(own).scalars().all() if items is None else items:
            self.give_back(item, annotator)

    def write(self, now: int) -> None:
        """Write the changes. New leases also delete those that have ended."""
        after = {(item, who): expires for item, people in self._book.items() for who, expires in people.items()}
        old = self._released | {slot for slot, expires in self._before.items() if after.get(slot) != expires}
        new = [slot for slot, expires in after.items() if self._before.get(slot) != expires]
        if old:
            self._connection.execute(
                DELETE_LEASE, [{"of_item": item, "of_annotator": who} for item, who in sorted(old)]
            )
        if new:
            rows = [{"item": item, "annotator": who, "expires": after[item, who]} for item, who in new]
            self._connection.execute(insert(LEASES), rows)
            self._connection.execute(delete(LEASES).where(~LEASES.c.expires.between(now + 1, latest(now))))


def is_live(expires: int, now: int) -> bool:
    """Whether a lease is valid: not over, and not longer than a lease can be, which shows a wrong clock."""
    return now < expires <= latest(now)


def latest(now: int) -> int:
    """The latest end of a lease that begins now."""
    return now + int(LONGEST * SECOND)


def lease(
    leases: Leases,
    state: State,
    annotator: str,
    items: Iterable[str],
    *,
    n: int,
    ttl: float,
    now: int,
    shares: Assignment | None,
    answers: int,
) -> list[str]:
    """Reserve the first n of these items that the annotator may answer.

    Parameters
    ----------
    leases : Leases
        The leases of the transaction.
    state : State
        The state of the project.
    annotator : str
        Who will answer.
    items : iterable of str
        Ids, the best first.
    n : int
        How many to reserve at most.
    ttl : float
        Seconds until the lease ends.
    now : int
        The present time, in microseconds since 1970.
    shares : Assignment or None
        Which items are for whom. None gives everything to everybody.
    answers : int
        How many annotators answer an item of the overlap.

    Returns
    -------
    list of str
        The reserved items.
    """
    leased: list[str] = []
    items = list(items)
    for index, item in enumerate(items):
        if len(leased) == n:
            break
        if index % CHUNK == 0:
            leases.read(items[index : index + CHUNK])
        if may_answer(state, leases.holders(item, now), annotator, item, answers=answers, shares=shares):
            leases.take(item, annotator, now + int(ttl * SECOND))
            leased.append(item)
    return leased


def check_lease(n: int, ttl: float) -> None:
    """Refuse a negative number of items, and leases that are too long."""
    if n < 0 or not 0 < ttl <= LONGEST:
        expected = f"n of 0 or more and a ttl above 0 and up to {LONGEST:g} seconds"
        raise InputError("lease", expected=expected, got=f"n = {n}, ttl = {ttl}", fix="Correct them; renew in time.")


def may_answer(
    state: State, holders: set[str], annotator: str, item: str, *, answers: int, shares: Assignment | None
) -> bool:
    """Whether an annotator may answer an item.

    Parameters
    ----------
    state : State
        The state of the project.
    holders : set of str
        The annotators who have a lease on the item.
    annotator : str
        Who would answer.
    item : str
        The id of the item.
    answers : int
        How many annotators answer an item of the overlap.
    shares : Assignment or None
        Which items are for whom.

    Returns
    -------
    bool
        True if they have not answered, nobody has adjudicated it, it needs another annotator, and it is for them.
    """
    others = holders - {annotator}
    for answer in state.stored_answers(item):
        if answer.kind == ADJUDICATE or (answer.annotator == annotator and answer.kind != NOTE):
            return False
        if answer.kind == LABEL:
            others.add(answer.annotator)
    needed = answers if item in state.overlap else 1
    return len(others) < needed and (shares is None or shares.allows(item, annotator, others, needed))
