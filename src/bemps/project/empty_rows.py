"""Rows of a file without content: they are no items, but a file of predictions has every row.

Each is stored with the id of the row before it: later files may then add rows anywhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bemps.data import Table
from bemps.store import Item, Store
from bemps.store.item_rows import packed
from bemps.store.project_settings import ProjectSettings

Noted = tuple[str, str | None]  # the id before (none: the first row), and the columns as `packed` writes them


def noted_empty_rows(table: Table) -> list[Noted]:
    """Return the empty rows of a table, as a project stores them."""
    ids = ("", *table.ids)
    return [(ids[row.before], packed(row.columns, "")) for row in table.empty]


def with_empty_rows(settings: ProjectSettings, table: Table) -> ProjectSettings:
    """Return the settings with the empty rows of a file, which may have been read before."""
    source = "" if table.source is None else str(table.source.resolve())
    before = dict(settings.empty_rows or {})
    if not table.empty and source not in before:
        return settings
    return replace(settings, empty_rows=before | {source: [list(row) for row in noted_empty_rows(table)]})


def rows_of_project(store: Store) -> Iterator[Item]:
    """Return every row of a project's files: items, copies, and empty rows as items without an id."""
    by_file = store.read_settings().empty_rows or {}
    return insert_empty_rows(store.rows(), ((name, row) for rows in by_file.values() for name, row in rows))


def insert_empty_rows(items: Iterable[Item], empty: Iterable[Noted]) -> Iterator[Item]:
    """Insert the empty rows at their places between the items."""
    after: dict[str, list[Item]] = {}
    for name, row in empty:
        after.setdefault(name, []).append(Item("", "", None, row))
    yield from after.get("", ())
    for item in items:
        yield item
        yield from after.get(item.id, ())
