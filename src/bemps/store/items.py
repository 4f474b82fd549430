"""The items of a project: added once, never changed."""

import difflib
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from sqlalchemy import func, insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import checked
from bemps.store.database import Database
from bemps.store.tables import ITEMS
from bemps.store.words import Item

CHUNK = 1_000  # ids in one query, rows in one read
SHOWN = 1_000  # ids among which an error looks for the nearest


class Items:
    """Items by id and by position. The ids are kept in memory: every answer is checked against them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}

    def add(self, connection: Connection, items: Iterable[Item]) -> Iterator[list[Item]]:
        """Append within a transaction of the caller; yields those that were new, chunk by chunk."""
        position = connection.execute(select(func.count()).select_from(ITEMS)).scalar_one()
        source = iter(items)
        while chunk := list(islice(source, CHUNK)):
            new = self._new(connection, chunk)
            rows = [
                {"position": position + place, "id": item.id, "content": item.content, "label": item.label}
                for place, item in enumerate(new)
            ]
            if rows:
                connection.execute(insert(ITEMS), rows)
            position += len(rows)
            yield new

    def ids(self) -> tuple[str, ...]:
        self._refresh()
        with self._lock:
            return tuple(self._ids)

    def count(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(ITEMS)).scalar_one())

    def known(self, id: str) -> str:
        """The id itself; an unknown one is refused."""
        if id not in self._positions:
            self._refresh()
            if id not in self._positions:
                raise self._unknown(id)
        return id

    def _unknown(self, id: str) -> InputError:
        """The nearest id, not all of them: an answer to a stranger does not list the project."""
        near = difflib.get_close_matches(id[:100], self._ids[:SHOWN], n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        fix = f"{hint}There are {len(self._ids):,} items."
        return InputError("item", expected="the id of an item", got=repr(id[:100]), fix=fix)

    def position(self, id: str) -> int:
        return self._positions[self.known(id)]

    def at(self, ids: Sequence[str]) -> Iterator[Item]:
        """Items in the order asked."""
        for start in range(0, len(ids), CHUNK):
            wanted = [self.known(id) for id in ids[start : start + CHUNK]]
            with self._database.reading() as connection:
                found = {item.id: item for item in _with_ids(connection, wanted)}
            yield from (found[id] for id in wanted)

    def all(self) -> Iterator[Item]:
        """Every item in order; no connection is held between chunks, so that the caller may take its time."""
        last = -1
        while True:
            query = select(ITEMS).where(ITEMS.c.position > last).order_by(ITEMS.c.position).limit(10 * CHUNK)
            with self._database.reading() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield from (Item(row.id, row.content, row.label) for row in rows)
            last = rows[-1].position

    def containing(self, text: str) -> list[str]:
        """Ids of items whose content or id contains a text, upper and lower case alike, in order."""
        fold, find = (func.fold, func.instr) if self._database.is_sqlite else (func.lower, func.strpos)
        needle = fold(text)
        query = select(ITEMS.c.id).where((find(fold(ITEMS.c.content), needle) > 0) | (ITEMS.c.id == text))
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(ITEMS.c.position)).scalars())

    def _refresh(self) -> None:
        query = select(ITEMS.c.id).order_by(ITEMS.c.position)
        with self._lock, self._database.reading() as connection:
            new = connection.execute(query.where(ITEMS.c.position >= len(self._ids))).scalars()
            for id in new:
                self._positions[id] = len(self._ids)
                self._ids.append(id)

    def _new(self, connection: Connection, chunk: list[Item]) -> list[Item]:
        """Those that are not there yet, each once; what no database or page can take is refused first."""
        for item in chunk:
            checked.identifier(item.id, "id of an item")
            checked.text(item.content, f"item {item.id}")
        there = {item.id: item.content for item in _with_ids(connection, [item.id for item in chunk])}
        new = []
        for item in chunk:
            if item.id not in there:
                new.append(item)
            elif there[item.id] != item.content:
                raise InputError(
                    f"item {item.id}",
                    expected="the content that is there already, or a new id",
                    got=f"{item.content[:60]!r} instead of {there[item.id][:60]!r}",
                    fix="Items do not change: give a changed one another id.",
                )
            there[item.id] = item.content
        return new


def _with_ids(connection: Connection, ids: Sequence[str]) -> Iterator[Item]:
    for row in connection.execute(select(ITEMS).where(ITEMS.c.id.in_(ids))):
        yield Item(row.id, row.content, row.label)
