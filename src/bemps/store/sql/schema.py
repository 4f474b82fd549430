"""The version of the tables: new databases get them, older ones are migrated."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import insert, inspect, select, update
from sqlalchemy.engine import Connection

from bemps._utils.existing_paths import path_exists
from bemps.errors import InputError
from bemps.store.sql.database import Database, schema_of, use_write_ahead_log
from bemps.store.sql.database_errors import NotRead, damaged, write_errors
from bemps.store.sql.sql_tables import PROJECT, create_tables

VERSION = 3
COPIED = " If it is a copy of a project that was open, stop bemps and copy the project again."


def _columns_and_copies(connection: Connection) -> None:
    """Version 2: items keep the other columns of their row, and may be copies of another item."""
    for name in ("other_columns", "copy_of"):
        connection.exec_driver_sql(f"ALTER TABLE items ADD COLUMN {name} TEXT")


def _methods_and_actions(connection: Connection) -> None:
    """Version 3: events say how an answer was made, and which events one action made; suggestions of servers."""
    for name in ("method", "action"):
        connection.exec_driver_sql(f"ALTER TABLE events ADD COLUMN {name} TEXT")
    connection.exec_driver_sql(
        "CREATE TABLE suggestions (prompt TEXT NOT NULL, item TEXT NOT NULL, label TEXT, time BIGINT NOT NULL, "
        "PRIMARY KEY (prompt, item))"
    )


# STEPS[n] changes tables of version n into version n + 1. Steps stay for good: old files must open for ever.
STEPS: dict[int, Callable[[Connection], None]] = {1: _columns_and_copies, 2: _methods_and_actions}


def prepare(database: Database, create: bool) -> None:
    """Make or migrate the tables, also while other processes do so."""
    if database.file is not None:
        _refuse_wrong_file(database, create)
    version = _version(database)
    if version is None:
        if not create:
            raise _no_project(database, "no project in it", COPIED)
        _create(database)
    elif version < VERSION:
        _migrate(database)
    elif version > VERSION:
        raise _newer(database, version)


def _refuse_wrong_file(database: Database, create: bool) -> None:
    path = database.file
    assert path is not None
    if not path_exists(path):
        if not create:
            raise _no_project(database, "no such file")
        if not path.parent.is_dir():
            raise _no_project(database, f"no folder {path.parent}")
    elif path.is_dir():
        raise _no_project(database, "a folder")


def _no_project(database: Database, got: str, more: str = "") -> InputError:
    return InputError(
        f"project {database.name}",
        expected="a project of bemps",
        got=got,
        fix=f"Check the name; `bemps label FILE --project NAME` makes a new one.{more}",
    )


def _newer(database: Database, version: int) -> InputError:
    return InputError(
        f"project {database.name}",
        expected=f"tables of version {VERSION} or older",
        got=f"version {version}, made by a newer bemps",
        fix="Upgrade bemps. Nothing was changed.",
    )


def _version(database: Database) -> int | None:
    """The version of the tables; None where there are none. A database of another program is refused."""
    if database.file is not None and not database.file.exists():
        return None
    try:
        with database.reading() as connection:
            tables = inspect(connection).get_table_names()
            if not tables:
                return None
            if "project" not in tables:
                raise _no_project(database, f"tables of something else: {', '.join(sorted(tables)[:5])}")
            return version_in(connection)
    except NotRead as error:
        if "no SQLite database" in error.got:
            raise _no_project(database, error.got) from error
        raise


def version_in(connection: Connection) -> int:
    """Return the version of the tables."""
    version = connection.execute(select(PROJECT.c.value).where(PROJECT.c.name == "version")).scalar_one()
    if not re.fullmatch("[1-9][0-9]{0,8}", version):
        raise damaged("its version", "1 or more", version)
    return int(version)


def _create(database: Database) -> None:
    """All tables in one transaction: a process that dies on the way leaves none."""
    if database.is_sqlite:
        use_write_ahead_log(database)
    with write_errors(database.name), database.engine.connect() as connection:
        connection.execution_options(immediate=True)
        with connection.begin():
            if not database.is_sqlite:
                schema = schema_of(connection)
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtext('bemps {schema}'))")
                connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            if not inspect(connection).has_table("project"):  # else another process was faster
                create_tables(connection)
                created = datetime.now(UTC).isoformat()
                rows = {"format": "bemps project", "version": str(VERSION), "created": created}
                connection.execute(insert(PROJECT), [{"name": name, "value": rows[name]} for name in rows])


def _migrate(database: Database) -> None:
    """Every missing step, in one transaction: all or nothing."""
    with database.writing() as connection:
        for version in range(version_in(connection), VERSION):
            STEPS[version](connection)
            newer = update(PROJECT).where(PROJECT.c.name == "version").values(value=str(version + 1))
            connection.execute(newer)
