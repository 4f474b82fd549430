"""The tables of a project, the same on SQLite and PostgreSQL.

project   what this is, which version of the tables, and a token of the settings
settings  values by name, as JSON
items     what is to be labelled; only ever added to
events    the log; only ever added to, which triggers enforce
leases    who has which item in hand until when; the only rows that come and go
suggestions  the labels that a server proposed, by the version of the prompt; only ever added to
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeDecorator, TypeEngine

from bemps.store.sql.database_errors import damaged

METADATA = MetaData()


class CheckedColumn(TypeDecorator[Any]):
    """A column whose values are checked when they are read, because SQLite stores anything in any column."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok = True
    kind: type = str
    required = True

    def process_result_value(self, value: Any, dialect: object) -> Any:
        """Return the value, if bemps can have written it."""
        if type(value) is self.kind or (value is None and not self.required):
            return value
        raise damaged("a row", "text" if self.kind is str else "a whole number", value)


class TextColumn(CheckedColumn):
    """Text."""

    cache_ok = True


class OptionalTextColumn(TextColumn):
    """Text or NULL."""

    cache_ok = True
    required = False


class IntegerColumn(CheckedColumn):
    """An integer."""

    cache_ok = True
    impl = Integer
    kind = int


class OptionalIntegerColumn(IntegerColumn):
    """An integer or NULL."""

    cache_ok = True
    required = False


class BigIntegerColumn(IntegerColumn):
    """An integer of microseconds."""

    cache_ok = True
    impl = BigInteger


PROJECT = Table(
    "project", METADATA, Column("name", TextColumn, primary_key=True), Column("value", TextColumn, nullable=False)
)

SETTINGS = Table(
    "settings", METADATA, Column("name", TextColumn, primary_key=True), Column("value", TextColumn, nullable=False)
)

ITEMS = Table(
    "items",
    METADATA,
    Column("position", IntegerColumn, primary_key=True, autoincrement=False),
    Column("id", TextColumn, nullable=False, unique=True),
    Column("content", TextColumn, nullable=False),
    Column("label", OptionalTextColumn),
    Column("other_columns", OptionalTextColumn),  # of the row that it came from, as a JSON object; see `rows`
    Column("copy_of", OptionalTextColumn),  # the item that is asked in its place, as its content is the same
)

EVENTS = Table(
    "events",
    METADATA,
    Column("seq", IntegerColumn, primary_key=True, autoincrement=False),
    Column("time", BigIntegerColumn, nullable=False),  # microseconds since 1970, UTC
    Column("annotator", TextColumn, nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("item", OptionalTextColumn),
    Column("class_id", OptionalIntegerColumn),
    Column("label", OptionalTextColumn),
    Column("previous", OptionalTextColumn),
    Column("note", OptionalTextColumn),
    Column("target", OptionalIntegerColumn),
    Column("request", OptionalTextColumn),
    Column("method", OptionalTextColumn),  # how an answer was made, where not by a key for one item
    Column("action", OptionalTextColumn),  # the same for events that are undone together
    Index("events_by_request", "annotator", "request", unique=True),
)

LEASES = Table(
    "leases",
    METADATA,
    Column("item", TextColumn, primary_key=True),
    Column("annotator", TextColumn, primary_key=True),
    Column("expires", BigIntegerColumn, nullable=False),  # microseconds since 1970, UTC
)

SUGGESTIONS = Table(
    "suggestions",
    METADATA,
    Column("prompt", TextColumn, primary_key=True),  # the version of what was asked: address, model, classes, words
    Column("item", TextColumn, primary_key=True),
    Column("label", OptionalTextColumn),  # NULL: it was asked, and no class came back
    Column("time", BigIntegerColumn, nullable=False),  # microseconds since 1970, UTC
)

SQLITE_GUARDS = [
    f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events "
    "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
    for act in ("UPDATE", "DELETE")
]
POSTGRES_GUARDS = [
    "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$",
    "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
]


def create_tables(connection: Connection) -> None:
    """Create all tables, and the triggers that keep the log append-only."""
    METADATA.create_all(connection)
    for statement in SQLITE_GUARDS if connection.dialect.name == "sqlite" else POSTGRES_GUARDS:
        connection.exec_driver_sql(statement)
