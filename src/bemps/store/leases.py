"""Who has which item in hand. One transaction decides, so that no item goes to two people, in any process."""

from collections.abc import Collection, Iterable
from functools import cached_property

from sqlalchemy import bindparam, delete, insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store.fold import State
from bemps.store.tables import LEASES
from bemps.store.words import ADJUDICATE, LABEL, NOTE

SECOND = 1_000_000
ONE = delete(LEASES).where(LEASES.c.item == bindparam("of_item"), LEASES.c.annotator == bindparam("of_annotator"))
Book = dict[str, dict[str, int]]  # by item and annotator: until when


class Leases:
    """The leases as a transaction sees them: read once, changed in memory, written at its end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def _before(self) -> dict[tuple[str, str], int]:
        return {(row.item, row.annotator): row.expires for row in self._connection.execute(select(LEASES))}

    @cached_property
    def _book(self) -> Book:
        book: Book = {}
        for (item, annotator), expires in self._before.items():
            book.setdefault(item, {})[annotator] = expires
        return book

    def holders(self, item: str, now: int) -> set[str]:
        """Who has the item in hand at this moment."""
        held = self._book.get(item)
        return {annotator for annotator, expires in held.items() if expires > now} if held else set()

    def live(self, now: int) -> dict[str, frozenset[str]]:
        """Everybody who has anything in hand, by item."""
        return {item: frozenset(who) for item in self._book if (who := self.holders(item, now))}

    def take(self, item: str, annotator: str, expires: int) -> None:
        self._book.setdefault(item, {})[annotator] = expires

    def give_back(self, item: str, annotator: str) -> None:
        self._book.get(item, {}).pop(annotator, None)

    def give_back_all(self, annotator: str, items: Collection[str] | None = None) -> None:
        for item in list(self._book) if items is None else items:
            self.give_back(item, annotator)

    def write(self, now: int) -> None:
        """What changed; what lapsed goes too."""
        if "_book" not in self.__dict__:
            return  # nobody asked
        after = {(item, who): expires for item, held in self._book.items() for who, expires in held.items()}
        after = {slot: expires for slot, expires in after.items() if expires > now}
        old = [slot for slot, expires in self._before.items() if after.get(slot) != expires]
        new = [slot for slot, expires in after.items() if self._before.get(slot) != expires]
        if old:
            self._connection.execute(ONE, [{"of_item": item, "of_annotator": who} for item, who in old])
        if new:
            rows = [{"item": item, "annotator": who, "expires": after[item, who]} for item, who in new]
            self._connection.execute(insert(LEASES), rows)


def lease(
    leases: Leases, state: State, annotator: str, wanted: Iterable[str], *, n: int, ttl: float, now: int
) -> list[str]:
    """Reserve the first n of these items that the annotator may answer."""
    chosen: list[str] = []
    for item in wanted:
        if len(chosen) == n:
            break
        if may_answer(state, leases.holders(item, now), annotator, item):
            leases.take(item, annotator, now + int(ttl * SECOND))
            chosen.append(item)
    return chosen


def check(n: int, ttl: float) -> None:
    if n < 0 or ttl <= 0:
        got = f"n = {n}, ttl = {ttl}"
        raise InputError("lease", expected="n of 0 or more and a ttl above 0 seconds", got=got, fix="Correct them.")


def may_answer(state: State, holders: set[str], annotator: str, item: str) -> bool:
    """Not answered by them or settled, and not yet by as many others as it needs."""
    others = holders - {annotator}
    for held in state.all_held(item):
        if held.kind == ADJUDICATE or (held.annotator == annotator and held.kind != NOTE):
            return False
        if held.kind == LABEL:
            others.add(held.annotator)
    return len(others) < (2 if item in state.overlap else 1)
