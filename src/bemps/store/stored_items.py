"""The items of a project, which are added once and never changed.

An item with the content of an earlier one may be a copy: it is a row of its own, and the earlier item is asked.
"""

import difflib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy import JSON, ColumnElement, bindparam, case, cast, func, insert, or_, select, update
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import validation
from bemps.store.events import Item
from bemps.store.item_rows import CONTENT, columns_contain
from bemps.store.sql.database import Database
from bemps.store.sql.database_errors import damaged
from bemps.store.sql.sql_tables import ITEMS

CHUNK = 1_000  # ids in one query, rows in one read
SHOWN = 1_000  # ids that an error compares to find the nearest
FILL_IN = update(ITEMS).where(ITEMS.c.id == bindparam("of_id")).values(other_columns=bindparam("row"))
ESCAPED = tuple(f"\\u{start}" for start in ("0000", "d8", "d9", "da", "db", "dc", "dd", "de", "df"))
Key = Callable[[str], str]  # the same for contents that are to be asked once


class StoredItems:
    """Items by id and by position. The ids are in memory, because every answer is checked against them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._copies: dict[str, str] = {}

    def add(self, connection: Connection, items: Iterable[Item], key: Key | None) -> Iterator[list[Item]]:
        """Add items within an open transaction.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            The connection of the transaction.
        items : iterable of Item
            The items.
        key : callable or None
            An item whose content has the key of an earlier item becomes its copy.

        Returns
        -------
        iterator of list of Item
            The new items, in chunks.
        """
        position = connection.execute(select(func.count()).select_from(ITEMS)).scalar_one()
        first = {} if key is None else _first_by_key(connection, key)
        source = iter(items)
        while chunk := list(islice(source, CHUNK)):
            new = _new(connection, chunk)
            if key is not None:
                new = [_marked(item, first.setdefault(key(item.content), item.id)) for item in new]
            if new:
                connection.execute(insert(ITEMS), [_row(position + offset, item) for offset, item in enumerate(new)])
            position += len(new)
            yield new

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all items to ask, in the order in which they were added. Copies are not among them."""
        self._refresh()
        with self._lock:
            return tuple(self._ids)

    def copies(self) -> dict[str, str]:
        """Return the id of the original of each copy."""
        self._refresh()
        with self._lock:
            return dict(self._copies)

    @property
    def known(self) -> int:
        """The number of items in memory, without copies. Items that another process added may be missing."""
        return len(self._ids)

    def count(self) -> int:
        """Return the number of items to ask. Copies do not count."""
        query = select(func.count()).select_from(ITEMS).where(ITEMS.c.copy_of.is_(None))
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def original_of(self, id: str) -> str:
        """Return the id of the original of an item. An unknown id is refused."""
        if id not in self._positions:
            self._refresh()
            if id not in self._positions:
                raise self._unknown(id)
        return self._copies.get(id, id)

    def _unknown(self, id: str) -> InputError:
        """The error for an unknown id. It names the nearest id, not all: strangers may read it."""
        near = difflib.get_close_matches(id[:100], self._ids[:SHOWN], n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        fix = f"{hint}There are {len(self._ids):,} items."
        return InputError("item", expected="the id of an item", got=repr(id[:100]), fix=fix)

    def position(self, id: str) -> int:
        """Return the position of an item."""
        return self._positions[self.original_of(id)]

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Sort ids by the position of their items."""
        return sorted(ids, key=self.position)

    def item(self, id: str) -> Item:
        """Return one item. An unknown id is refused."""
        return next(self.at([id]))

    def items(self, ids: Iterable[str] | None = None) -> Iterator[Item]:
        """Return the items of these ids, in their order; without ids all but copies, in the order of the project."""
        return self._all(copies=False) if ids is None else self.at(list(ids))

    def rows(self) -> Iterator[Item]:
        """Return every item in order, copies included: the rows of the files that they came from."""
        return self._all(copies=True)

    def at(self, ids: Sequence[str]) -> Iterator[Item]:
        """Return the items of these ids, in their order."""
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            for id in chunk:
                self.original_of(id)
            with self._database.reading() as connection:
                by_id = {item.id: item for item in _with_ids(connection, chunk)}
            missing = next((id for id in chunk if id not in by_id), None)
            if missing is not None:  # an index that does not fit its table
                raise damaged("items", "every item by its id", missing)
            yield from (by_id[id] for id in chunk)

    def _all(self, *, copies: bool) -> Iterator[Item]:
        """Every item in order. No connection is open between chunks, because the caller may be slow."""
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

    def containing(self, text: str, columns: Sequence[str] = ()) -> list[str]:
        """Return the ids of items whose content, or one of these columns, contains a text, or whose id it is.

        Upper and lower case are alike.
        """
        named = select(func.coalesce(ITEMS.c.copy_of, ITEMS.c.id)).where(ITEMS.c.id == text)
        matches = [self._contains(ITEMS.c.content, text), ITEMS.c.id.in_(named)]
        if columns:
            matches.append(self._columns_contain(columns, text))
        query = select(ITEMS.c.id).where(ITEMS.c.copy_of.is_(None), or_(*matches))
        with self._database.reading() as connection:
            ids = list(connection.execute(query.order_by(ITEMS.c.position)).scalars())
        if columns and not self._database.is_sqlite:
            ids = sorted({*ids, *self._with_escapes(columns, text)}, key=self.position)
        return ids

    def _contains(self, value: ColumnElement[str], text: str) -> ColumnElement[bool]:
        fold, find = (func.fold, func.instr) if self._database.is_sqlite else (func.lower, func.strpos)
        return find(fold(value), fold(text)) > 0

    def _columns_contain(self, names: Sequence[str], text: str) -> ColumnElement[bool]:
        packed = ITEMS.c.other_columns
        if self._database.is_sqlite:
            return func.columns_contain(packed, json.dumps(list(names)), text) == 1
        values = [func.nullif(cast(packed, JSON).op("->>")(name), json.dumps(CONTENT)) for name in names]
        # CASE, because PostgreSQL refuses a query as soon as it reads such a row
        return case((_has_escapes(), False), else_=or_(*(self._contains(value, text) for value in values)))

    def _with_escapes(self, names: Sequence[str], text: str) -> list[str]:
        """The items whose rows PostgreSQL cannot read, and which contain the text in one of these columns."""
        query = select(ITEMS.c.id, ITEMS.c.other_columns).where(ITEMS.c.copy_of.is_(None), _has_escapes())
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [id for id, packed in rows if columns_contain(packed, names, text)]

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


def _has_escapes() -> ColumnElement[bool]:
    """Whether a row has characters that JSON writes as two escapes, perhaps only one of them, or a zero character."""
    return or_(*(ITEMS.c.other_columns.contains(escape, autoescape=True) for escape in ESCAPED))


def _new(connection: Connection, chunk: list[Item]) -> list[Item]:
    """The items that the project does not have yet, each once; invalid ids and texts are refused first."""
    for item in chunk:
        validation.identifier(item.id, "id of an item")
        validation.text(item.content, f"item {item.id}")
    known = {item.id: item for item in _with_ids(connection, [item.id for item in chunk])}
    without_row = {id for id, item in known.items() if item.others is None}  # as earlier releases left them
    new, late = [], []
    for item in chunk:
        if item.id not in known:
            new.append(item)
        elif known[item.id].content != item.content:
            raise _changed(item, known[item.id])
        elif item.id in without_row and item.others is not None:
            late.append({"of_id": item.id, "row": item.others})
        known[item.id] = item
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
