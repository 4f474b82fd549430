"""The items of a project: added once, never changed.

An item whose content was there before may be a copy: it is kept as a row of its own and asked through the first.
"""

import difflib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, func, insert, or_, select, update
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import checked
from bemps.store.database import Database
from bemps.store.failures import damaged
from bemps.store.tables import ITEMS
from bemps.store.words import Item

CHUNK = 1_000  # ids in one query, rows in one read
SHOWN = 1_000  # ids among which an error looks for the nearest
FILL_IN = update(ITEMS).where(ITEMS.c.id == bindparam("of_id")).values(other_columns=bindparam("row"))
Key = Callable[[str], str]  # the same for contents that are to be asked once


class Items:
    """Items by id and by position. The ids are kept in memory: every answer is checked against them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._copies: dict[str, str] = {}

    def add(self, connection: Connection, items: Iterable[Item], key: Key | None) -> Iterator[list[Item]]:
        """Append within a transaction of the caller; yields those that were new, chunk by chunk.

        With a key, an item that has the key of an earlier one becomes its copy.
        """
        position = connection.execute(select(func.count()).select_from(ITEMS)).scalar_one()
        first = {} if key is None else _first_by_key(connection, key)
        source = iter(items)
        while chunk := list(islice(source, CHUNK)):
            new = _new(connection, chunk)
            if key is not None:
                new = [_marked(item, first.setdefault(key(item.content), item.id)) for item in new]
            if new:
                connection.execute(insert(ITEMS), [_row(position + place, item) for place, item in enumerate(new)])
            position += len(new)
            yield new

    def ids(self) -> tuple[str, ...]:
        self._refresh()
        with self._lock:
            return tuple(self._ids)

    def copies(self) -> dict[str, str]:
        """The item that stands for each copy."""
        self._refresh()
        with self._lock:
            return dict(self._copies)

    def count(self) -> int:
        query = select(func.count()).select_from(ITEMS).where(ITEMS.c.copy_of.is_(None))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def known(self, id: str) -> str:
        """The id itself, or that of the item which stands for a copy; an unknown one is refused."""
        if id not in self._positions:
            self._refresh()
            if id not in self._positions:
                raise self._unknown(id)
        return self._copies.get(id, id)

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
            wanted = ids[start : start + CHUNK]
            for id in wanted:
                self.known(id)
            with self._database.reading() as connection:
                found = {item.id: item for item in _with_ids(connection, wanted)}
            missing = next((id for id in wanted if id not in found), None)
            if missing is not None:  # an index that does not fit its table
                raise damaged("items", "every item by its id", missing)
            yield from (found[id] for id in wanted)

    def all(self, *, copies: bool) -> Iterator[Item]:
        """Every item in order; no connection is held between chunks, so that the caller may take its time."""
        last = -1
        every = select(ITEMS) if copies else select(ITEMS).where(ITEMS.c.copy_of.is_(None))
        while True:
            query = every.where(ITEMS.c.position > last).order_by(ITEMS.c.position).limit(10 * CHUNK)
            with self._database.reading() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield from map(_item, rows)
            last = rows[-1].position

    def containing(self, text: str) -> list[str]:
        """Ids of items whose content contains a text, upper and lower case alike, or whose id it is, in order."""
        fold, find = (func.fold, func.instr) if self._database.is_sqlite else (func.lower, func.strpos)
        named = select(func.coalesce(ITEMS.c.copy_of, ITEMS.c.id)).where(ITEMS.c.id == text)
        matches = or_(find(fold(ITEMS.c.content), fold(text)) > 0, ITEMS.c.id.in_(named))
        query = select(ITEMS.c.id).where(ITEMS.c.copy_of.is_(None), matches)
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(ITEMS.c.position)).scalars())

    def _refresh(self) -> None:
        query = select(ITEMS.c.id, ITEMS.c.copy_of).order_by(ITEMS.c.position)
        with self._lock, self._database.reading() as connection:
            for id, copy_of in connection.execute(query.where(ITEMS.c.position >= len(self._positions))):
                if copy_of is None:
                    self._ids.append(id)
                elif copy_of in self._positions:
                    self._copies[id] = copy_of
                else:
                    raise damaged(f"item {id}", "the item that it is a copy of, before it", copy_of)
                self._positions[id] = len(self._positions)


def _new(connection: Connection, chunk: list[Item]) -> list[Item]:
    """Those that are not there yet, each once; what no database or page can take is refused first."""
    for item in chunk:
        checked.identifier(item.id, "id of an item")
        checked.text(item.content, f"item {item.id}")
    there = {item.id: item for item in _with_ids(connection, [item.id for item in chunk])}
    without_row = {id for id, item in there.items() if item.others is None}  # as earlier releases left them
    new, late = [], []
    for item in chunk:
        if item.id not in there:
            new.append(item)
        elif there[item.id].content != item.content:
            raise _changed(item, there[item.id])
        elif item.id in without_row and item.others is not None:
            late.append({"of_id": item.id, "row": item.others})
        there[item.id] = item
    if late:
        connection.execute(FILL_IN, late)
    return new


def _changed(item: Item, before: Item) -> InputError:
    return InputError(
        f"item {item.id}",
        expected="the content that is there already, or a new id",
        got=f"{item.content[:60]!r} instead of {before.content[:60]!r}",
        fix="Items do not change: give a changed one another id.",
    )


def _marked(item: Item, first: str) -> Item:
    return item if first == item.id else replace(item, copy_of=first)


def _first_by_key(connection: Connection, key: Key) -> dict[str, str]:
    """The first item of each key."""
    first: dict[str, str] = {}
    query = select(ITEMS.c.id, ITEMS.c.content).where(ITEMS.c.copy_of.is_(None)).order_by(ITEMS.c.position)
    for id, content in connection.execute(query):
        first.setdefault(key(content), id)
    return first


def _row(position: int, item: Item) -> dict[str, object]:
    own = {"position": position, "id": item.id, "content": item.content, "label": item.label}
    return own | {"other_columns": item.others, "copy_of": item.copy_of}


def _item(row: Any) -> Item:
    return Item(row.id, row.content, row.label, row.other_columns, row.copy_of)


def _with_ids(connection: Connection, ids: Sequence[str]) -> Iterator[Item]:
    yield from map(_item, connection.execute(select(ITEMS).where(ITEMS.c.id.in_(ids))))
