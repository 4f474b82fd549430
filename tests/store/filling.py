"""Small projects for the tests of the store."""

from bemps.store import Item, Store
from bemps.store.sql.database import database_of


def fill(store: Store, n: int = 10) -> None:
    for name in ("bug", "wish"):
        store.add_class(name, "lead")
    store.add_items(Item(f"t{i}", f"Text number {i}") for i in range(n))


def fill_from_dump(place, dump):
    """Make the project that an earlier release wrote, from its SQL statements; its triggers are SQLite's."""
    database = database_of(place)
    with database.engine.begin() as connection:
        if not database.is_sqlite:
            connection.exec_driver_sql(f'CREATE SCHEMA "{place.rpartition("=")[2]}"')
        for statement in dump.read_text(encoding="utf-8").split(";\n"):
            if statement.strip() and (database.is_sqlite or "TRIGGER" not in statement):
                connection.exec_driver_sql(statement)
    database.close()
    return place
