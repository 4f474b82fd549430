"""Connections: one writer at a time, durable when a write returns; readers never wait for it.

SQLite      write-ahead log, synchronous=FULL: a commit returns when the log is on the disk
PostgreSQL  synchronous_commit=on, and one exclusive lock for writers, so that the log has no gap in its numbers
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError, OperationalError

from bemps.errors import InputError, MissingExtra, without_password
from bemps.store.failures import reading, writing

PATIENCE = 30  # seconds to wait for another process that writes
DEFAULT_SCHEMA = "bemps"


class Database:
    """An engine and the rules for using it; `name` is what messages call it, `file` the SQLite file."""

    def __init__(self, engine: Engine, name: str, file: Path | None) -> None:
        self.engine, self.name, self.file = engine, name, file
        self._one_writer = threading.Lock()  # threads queue here, where waiting is fair and cheap

    @property
    def is_sqlite(self) -> bool:
        return self.file is not None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the project."""
        with reading(self.name), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, durable: bool = True) -> Iterator[Connection]:
        """The one writer, of all threads and processes; when the context ends without error it is committed.

        durable   also on the disk; without it a power cut may lose it (leases), the end of the process may not
        """
        with self._one_writer, writing(self.name), self.engine.connect() as connection:
            connection.execution_options(immediate=True)
            if self.is_sqlite:
                _pragma(connection, f"synchronous={'FULL' if durable else 'NORMAL'}")
            with connection.begin():
                if not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
                    connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {'on' if durable else 'off'}")
                    connection.exec_driver_sql("LOCK TABLE events IN EXCLUSIVE MODE")
                yield connection

    def now(self, connection: Connection) -> int:
        """Microseconds since 1970: the server's clock where there is one, as machines' clocks differ."""
        if self.is_sqlite:
            return time.time_ns() // 1000
        told = connection.exec_driver_sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(told.scalar_one())

    def close(self) -> None:
        self.engine.dispose()


def database_of(where: str | Path) -> Database:
    """The database of a path or address; nothing is opened yet."""
    text = str(where)
    if "://" not in text:
        return _sqlite(Path(text))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # their messages may hold a part of the password
        raise _no_address(without_password(text), "an address that cannot be read") from None
    if url.get_backend_name() == "sqlite" and url.database:
        return _sqlite(Path(url.database))
    if url.get_backend_name() == "postgresql":
        return _postgresql(url)
    raise _no_address(without_password(text), "another kind of database")


def _no_address(text: str, got: str) -> InputError:
    return InputError(
        f"store {text}",
        expected="a file, or an address such as postgresql+psycopg://user@host/database",
        got=got,
        fix="Projects live in SQLite files or in PostgreSQL.",
    )


def _sqlite(path: Path) -> Database:
    engine = create_engine(
        _sqlite_address(path.absolute()),
        connect_args={"timeout": PATIENCE, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return Database(engine, str(path), path.absolute())


def _sqlite_address(path: Path) -> URL:
    """The file; on read-only media as one that nobody changes, as SQLite cannot put its own files beside it there."""
    waiting = path.with_name(path.name + "-wal")  # what is in there would be passed over
    if not _is_on_read_only_media(path) or (waiting.exists() and waiting.stat().st_size):
        return URL.create("sqlite", database=str(path))
    return URL.create("sqlite", database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})


def _is_on_read_only_media(path: Path) -> bool:
    if not hasattr(os, "statvfs") or not path.is_file():
        return False
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _prepare_sqlite(raw: Any, _record: object) -> None:
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("PRAGMA fullfsync=ON")  # macOS: ask the disk itself, not only the system
    raw.execute("PRAGMA checkpoint_fullfsync=ON")
    raw.create_function("fold", 1, lambda text: text.casefold(), deterministic=True)


def _begin_sqlite(connection: Connection) -> None:
    """The driver would begin too late and without the write lock: two writers could both read first."""
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def use_write_ahead_log(database: Database) -> None:
    """Switch a new file to WAL. While others open it too, SQLite refuses at once instead of waiting."""
    deadline = time.monotonic() + PATIENCE
    with writing(database.name):
        while True:
            try:
                with database.engine.connect() as connection:
                    mode = _pragma(connection, "journal_mode=WAL")
                break
            except OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
    if mode != "wal":
        raise InputError(
            f"project {database.name}",
            expected="a file system with shared memory and locks, which the write-ahead log needs",
            got=f"journal mode {mode!r}",
            fix="Put the project on a local disk, or use PostgreSQL for several machines.",
        )


def _pragma(connection: Connection, text: str) -> Any:
    """Straight to the driver: through SQLAlchemy it would begin a transaction, in which these have no effect."""
    raw = connection.connection.driver_connection
    assert raw is not None
    try:
        row = raw.execute(f"PRAGMA {text}").fetchone()
    except raw.Error as error:
        raise OperationalError(f"PRAGMA {text}", None, error) from error
    return None if row is None else row[0]


def _postgresql(url: URL) -> Database:
    """The project `?project=name` of a database is the schema of that name."""
    given = url.query.get("project", DEFAULT_SCHEMA)
    schema = given if isinstance(given, str) else given[0]
    if not schema.isascii() or not schema.replace("_", "a").isalnum() or not schema[0].isalpha() or len(schema) > 60:
        raise InputError("project name", expected="letters, digits and _", got=repr(schema), fix="Choose another.")
    try:
        engine = create_engine(
            url.difference_update_query(["project"]).set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            connect_args={"options": f'-csearch_path="{schema}"'},
        )
    except ImportError as cause:
        raise MissingExtra("a project in PostgreSQL", "postgres", cause) from cause
    return Database(engine, without_password(url.render_as_string(hide_password=True)), None)


def schema_of(connection: Connection) -> str:
    """The PostgreSQL schema that this connection works in, there or not."""
    return str(connection.exec_driver_sql("SHOW search_path").scalar_one()).strip('"')
