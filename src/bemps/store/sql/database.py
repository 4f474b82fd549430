"""Connections to a project's database: one writer at a time, durable commits; readers never wait for the writer.

SQLite      write-ahead log, synchronous=FULL: a commit returns when the log is on the disk
PostgreSQL  synchronous_commit=on, and one exclusive lock for writers: the log has no gap in its numbers
"""

import json
import os
import sys
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

from bemps._utils.extras import requires_extra
from bemps.errors import InputError, without_password
from bemps.store.item_rows import columns_contain
from bemps.store.sql.database_errors import NotSaved, error_code, read_errors, write_errors

PATIENCE = 30  # seconds to wait for another process that writes
DEFAULT_SCHEMA = "bemps"


class Database:
    """A database of a project, and the rules for using it.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The engine.
    name : str
        The path or address in messages, without its password.
    file : Path or None
        The SQLite file; None in PostgreSQL.
    """

    def __init__(self, engine: Engine, name: str, file: Path | None) -> None:
        self.engine, self.name, self.file = engine, name, file
        self.writer = threading.RLock()  # threads queue for it, which is fairer and cheaper than in the database
        self._identity: tuple[int, int] | None = None  # of the file that is open, whatever its path leads to now
        if file is not None:
            event.listen(engine, "connect", self._note_identity)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite file."""
        return self.file is not None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one state of the project."""
        with read_errors(self.name), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, durable: bool = True) -> Iterator[Connection]:
        """Yield a connection in a transaction of the only writer. It commits when the block ends without an error.

        Parameters
        ----------
        durable : bool
            Whether the commit waits for the disk. Without it a power cut may lose the change (leases); the end of the
            process never does.
        """
        self._check_file()  # before SQLite would make a new and empty one
        with self.writer, write_errors(self.name), self.engine.connect() as connection:
            connection.execution_options(immediate=True)
            if self.is_sqlite:
                _pragma(connection, f"synchronous={'FULL' if durable else 'NORMAL'}")
            with connection.begin():
                if not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
                    connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {'on' if durable else 'off'}")
                    connection.exec_driver_sql("LOCK TABLE events IN EXCLUSIVE MODE")
                yield connection
                self._check_file()

    def _note_identity(self, _raw: object, _record: object) -> None:
        self._identity = self._identity or _file_identity(self.file)

    def _check_file(self) -> None:
        """Refuse to write into a file that was deleted or replaced: SQLite goes on, and all is lost when it ends."""
        if self._identity is None or self._identity == _file_identity(self.file):
            return
        raise NotSaved(
            "not saved",
            expected=f"to write to {self.name}",
            got="the project's file is gone, or another is in its place",
            fix="Nothing can be saved. Move the file back; if you restore a copy, stop bemps and start it again.",
        )

    def now(self, connection: Connection) -> int:
        """Return microseconds since 1970, by the server's clock if there is a server: clocks of machines differ."""
        if self.is_sqlite:
            return time.time_ns() // 1000
        microseconds = connection.exec_driver_sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(microseconds.scalar_one())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _file_identity(path: Path | None) -> tuple[int, int] | None:
    """What tells a file from another of the same path; None where it cannot be seen."""
    try:
        status = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status is not None else None


def database_of(where: str | Path) -> Database:
    """Return the database of a path or address. Nothing is opened yet."""
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
    """The address of a file; on read-only media immutable, because SQLite cannot write its own files beside it."""
    waiting = path.with_name(path.name + "-wal")  # an immutable file would be read without it
    if not _is_on_read_only_media(path) or (waiting.exists() and waiting.stat().st_size):
        return URL.create("sqlite", database=str(path))
    return URL.create("sqlite", database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})


def _is_on_read_only_media(path: Path) -> bool:
    if sys.platform == "win32" or not path.is_file():
        return False
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _prepare_sqlite(raw: Any, _record: object) -> None:
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("PRAGMA fullfsync=ON")  # macOS: ask the disk itself, not only the system
    raw.execute("PRAGMA checkpoint_fullfsync=ON")
    raw.create_function("fold", 1, lambda text: text.casefold(), deterministic=True)
    raw.create_function("columns_contain", 3, _columns_contain, deterministic=True)


def _columns_contain(packed_row: str | None, names: str, text: str) -> bool:
    """A function of SQL: its own functions on JSON depend on the version of SQLite."""
    return columns_contain(packed_row, json.loads(names), text)


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. The driver would begin too late and without the write lock."""
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def use_write_ahead_log(database: Database) -> None:
    """Switch a new file to WAL. While others open it too, SQLite refuses at once instead of waiting."""
    deadline = time.monotonic() + PATIENCE
    with write_errors(database.name):
        while True:
            try:
                with database.engine.connect() as connection:
                    mode = _pragma(connection, "journal_mode=WAL")
                break
            except OperationalError as error:
                if time.monotonic() > deadline or _cannot_be_made(error, database.file):
                    raise
                time.sleep(0.02)
    if mode != "wal":
        raise InputError(
            f"project {database.name}",
            expected="a file system with shared memory and locks, which the write-ahead log needs",
            got=f"journal mode {mode!r}",
            fix="Put the project on a local disk, or use PostgreSQL for several machines.",
        )


def _cannot_be_made(error: OperationalError, file: Path | None) -> bool:
    """Whether SQLite could not even make the file, as where the folder may only be read: waiting does not help."""
    is_refused = error_code(error).startswith("SQLITE_CANTOPEN")
    return is_refused and file is not None and not file.is_file()


def _pragma(connection: Connection, text: str) -> Any:
    """Run a pragma in the driver. SQLAlchemy would begin a transaction, in which it has no effect."""
    raw = connection.connection.driver_connection
    assert raw is not None
    try:
        row = raw.execute(f"PRAGMA {text}").fetchone()
    except raw.Error as error:
        raise OperationalError(f"PRAGMA {text}", None, error) from error
    return None if row is None else row[0]


def _postgresql(url: URL) -> Database:
    """The project `?project=name` of a database is the schema of that name."""
    names = url.query.get("project", DEFAULT_SCHEMA)
    schema = names if isinstance(names, str) else names[0]
    if not schema.isascii() or not schema.replace("_", "a").isalnum() or not schema[0].isalpha() or len(schema) > 60:
        raise InputError("project name", expected="letters, digits and _", got=repr(schema), fix="Choose another.")
    with requires_extra("postgres", "a project in PostgreSQL"):
        engine = create_engine(
            url.difference_update_query(["project"]).set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            connect_args={"options": f'-csearch_path="{schema}"'},
        )
    return Database(engine, without_password(url.render_as_string(hide_password=True)), None)


def schema_of(connection: Connection) -> str:
    """Return the PostgreSQL schema of a connection, whether it exists or not."""
    return str(connection.exec_driver_sql("SHOW search_path").scalar_one()).strip('"')
