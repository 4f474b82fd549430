"""The tables of a project, the same on SQLite and PostgreSQL.

project   what this is and which version of the tables
settings  values by name, as JSON
items     what is to be labelled; only ever added to
events    the log; only ever added to, which triggers enforce
leases    who has which item in hand until when; the only rows that come and go
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text
from sqlalchemy.engine import Connection

METADATA = MetaData()

PROJECT = Table("project", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

SETTINGS = Table("settings", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

ITEMS = Table(
    "items",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("content", Text, nullable=False),
    Column("label", Text),
    Column("other_columns", Text),  # of the row that it came from, as a JSON object; see `rows`
    Column("copy_of", Text),  # the item that is asked in its place, as its content is the same
)

EVENTS = Table(
    "events",
    METADATA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("annotator", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("item", Text),
    Column("class_id", Integer),
    Column("label", Text),
    Column("previous", Text),
    Column("note", Text),
    Column("target", Integer),
    Column("request", Text),
    Index("events_by_request", "annotator", "request", unique=True),
)

LEASES = Table(
    "leases",
    METADATA,
    Column("item", Text, primary_key=True),
    Column("annotator", Text, primary_key=True),
    Column("expires", BigInteger, nullable=False),  # microseconds since 1970, UTC
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
