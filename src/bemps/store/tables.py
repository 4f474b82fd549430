"""The tables of a project, the same on SQLite and PostgreSQL.

project   what this is and which version of the tables
settings  values by name, as JSON
items     what is to be labelled; only ever added to
events    the log; only ever added to, which triggers enforce
leases    who has which item in hand until when; the only rows that come and go
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeDecorator, TypeEngine

from bemps.store.failures import damaged

METADATA = MetaData()


class Checked(TypeDecorator[Any]):
    """A column whose values are looked at when they are read: SQLite keeps anything in any column."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok = True
    kind: type = str
    required = True

    def process_result_value(self, value: Any, dialect: object) -> Any:
        """The value itself, if it is one that bemps can have written."""
        if type(value) is self.kind or (value is None and not self.required):
            return value
        raise damaged("a row", "text" if self.kind is str else "a whole number", value)


class Words(Checked):
    """Text."""

    cache_ok = True


class AnyWords(Words):
    """Text, or nothing."""

    cache_ok = True
    required = False


class Number(Checked):
    """A whole number."""

    cache_ok = True
    impl = Integer
    kind = int


class AnyNumber(Number):
    """A whole number, or nothing."""

    cache_ok = True
    required = False


class LongNumber(Number):
    """A whole number of microseconds."""

    cache_ok = True
    impl = BigInteger


PROJECT = Table("project", METADATA, Column("name", Words, primary_key=True), Column("value", Words, nullable=False))

SETTINGS = Table("settings", METADATA, Column("name", Words, primary_key=True), Column("value", Words, nullable=False))

ITEMS = Table(
    "items",
    METADATA,
    Column("position", Number, primary_key=True, autoincrement=False),
    Column("id", Words, nullable=False, unique=True),
    Column("content", Words, nullable=False),
    Column("label", AnyWords),
    Column("other_columns", AnyWords),  # of the row that it came from, as a JSON object; see `rows`
    Column("copy_of", AnyWords),  # the item that is asked in its place, as its content is the same
)

EVENTS = Table(
    "events",
    METADATA,
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("time", LongNumber, nullable=False),  # microseconds since 1970, UTC
    Column("annotator", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("item", AnyWords),
    Column("class_id", AnyNumber),
    Column("label", AnyWords),
    Column("previous", AnyWords),
    Column("note", AnyWords),
    Column("target", AnyNumber),
    Column("request", AnyWords),
    Index("events_by_request", "annotator", "request", unique=True),
)

LEASES = Table(
    "leases",
    METADATA,
    Column("item", Words, primary_key=True),
    Column("annotator", Words, primary_key=True),
    Column("expires", LongNumber, nullable=False),  # microseconds since 1970, UTC
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
    """All tables, and the triggers that keep the log append-only."""
    METADATA.create_all(connection)
    for statement in SQLITE_GUARDS if connection.dialect.name == "sqlite" else POSTGRES_GUARDS:
        connection.exec_driver_sql(statement)
