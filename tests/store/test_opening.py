"""Opening and making projects: what is refused, migrations, the append-only log."""

import shutil
import sqlite3
import subprocess
import sys
import time

import pytest
from filling import fill
from sqlalchemy import text as sql

from bemps import InputError
from bemps.errors import without_password
from bemps.store import NotRead, NotSaved, Store, open_store
from bemps.store.sql import database, schema
from bemps.store.sql.database import database_of


def run(store: Store, statement: str) -> None:
    """Straight to the database, as somebody else would."""
    with store._database.engine.begin() as connection:
        connection.execute(sql(statement))


def test_a_project_that_is_not_there_is_refused_and_not_made(place, tmp_path):
    with pytest.raises(InputError, match=r"no such file|no project"):
        open_store(place)
    assert list(tmp_path.iterdir()) == []


def test_create_opens_what_is_there(store, opened):
    store.answer("ann", "t1", "label", "bug")
    assert len(opened(create=True).current()) == 1


def test_files_that_are_no_project(tmp_path):
    text, folder, empty, other = (tmp_path / name for name in ("a.csv", "folder", "empty.bemps", "other.db"))
    text.write_text("id,text\n" * 100)
    folder.mkdir()
    empty.touch()
    sqlite3.connect(other).execute("CREATE TABLE recipes (name)").connection.close()
    for path, words in ((text, "no SQLite"), (folder, "a folder"), (other, "something else: recipes")):
        for create in (False, True):
            with pytest.raises(InputError, match=words):
                open_store(path, create=create)
    with pytest.raises(InputError, match="no project in it"):
        open_store(empty)
    with pytest.raises(InputError, match="no folder"):
        open_store(tmp_path / "nowhere" / "x.bemps", create=True)
    open_store(empty, create=True).close()
    assert text.read_text() == "id,text\n" * 100


def test_a_copy_of_an_open_project_without_its_log_says_how_to_copy_it(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as store:
        fill(store)
        shutil.copy(tmp_path / "p.bemps", tmp_path / "copy.bemps")  # its rows are still in p.bemps-wal
    with pytest.raises(InputError, match="stop bemps and copy the project again"):
        open_store(tmp_path / "copy.bemps")
    shutil.copy(tmp_path / "p.bemps", tmp_path / "copy.bemps")
    with open_store(tmp_path / "copy.bemps") as copy:
        assert copy.count() == 10


@pytest.mark.parametrize("address", ["mysql://x/y", "://", "sqlite://", "postgresql+psycopg://h/d?project=a-b;c"])
def test_addresses_that_are_none(address):
    with pytest.raises(InputError):
        open_store(address)


def test_a_server_that_does_not_answer_is_said_without_the_password(tmp_path):
    with pytest.raises(NotRead) as caught:
        open_store(f"postgresql+psycopg://me:secret@/db?host={tmp_path}")
    assert "secret" not in str(caught.value)
    assert "Check that the database is running" in str(caught.value)


def test_a_path_and_its_address_are_the_same_project(store, place):
    if "://" not in place:
        with open_store(f"sqlite:///{place}") as again:
            assert again.count() == 10
            assert again.name == again.path.as_posix() == place


def test_a_newer_project_is_refused(store, place):
    run(store, "UPDATE project SET value = '99' WHERE name = 'version'")
    with pytest.raises(InputError, match=r"version 99.*Upgrade"):
        open_store(place)


def test_an_older_project_is_migrated_step_by_step(store, place, monkeypatch):
    store.answer("ann", "t1", "label", "bug")
    now = schema.VERSION
    steps = {
        now: lambda connection: connection.execute(sql("CREATE TABLE extra (name TEXT)")),
        now + 1: lambda connection: connection.execute(sql("INSERT INTO extra VALUES ('moved')")),
    }
    monkeypatch.setattr(schema, "VERSION", now + 2)
    monkeypatch.setattr(schema, "STEPS", steps)
    with open_store(place) as again, again._database.reading() as connection:
        assert connection.execute(sql("SELECT name FROM extra")).scalars().all() == ["moved"]
        assert schema.version_in(connection) == now + 2
    with open_store(place) as third:  # once is enough
        assert third.current()["t1"].label == "bug"


def test_a_migration_that_fails_leaves_the_project_as_it_was(store, place, monkeypatch):
    def broken(connection):
        connection.execute(sql("CREATE TABLE extra (name TEXT)"))
        raise InputError("step", expected="nothing", got="trouble", fix="none")

    now = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", now + 1)
    monkeypatch.setattr(schema, "STEPS", {now: broken})
    with pytest.raises(InputError, match="trouble"):
        open_store(place)
    monkeypatch.undo()
    with open_store(place) as again, again._database.reading() as connection:
        assert schema.version_in(connection) == now
        assert again.count() == 10


@pytest.mark.parametrize("statement", ["UPDATE events SET label = 'x'", "DELETE FROM events"])
def test_the_log_cannot_be_changed_even_from_outside(store, statement):
    with pytest.raises(Exception, match="append-only"):
        run(store, statement)


def test_a_log_with_a_hole_is_noticed(store, opened):
    columns = "seq, time, annotator, kind, item"
    run(store, f"INSERT INTO events ({columns}) VALUES (7, 0, 'x', 'skip', 't1')")
    with pytest.raises(InputError, match="log: expected event 3"):
        opened().current()


def test_the_promises_of_the_database_are_kept(store):
    database = store._database
    with database.writing() as connection:
        if database.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    with database.writing(durable=False) as connection:
        if database.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 1  # NORMAL


def test_processes_may_make_a_project_at_the_same_moment(place):
    code = f"from bemps.store import open_store; print(open_store({place!r}, create=True).count())"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    for one in running:
        out, err = one.communicate(timeout=120)
        assert (out.strip(), one.returncode) == (b"0", 0), err.decode()


def test_a_file_that_may_only_be_read_says_so(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as store:
        with store._database.reading() as connection:
            connection.exec_driver_sql("PRAGMA query_only=ON")  # stays on for this pooled connection
        with pytest.raises(InputError, match=r"not saved.*may only be read"):
            store.add_class("bug", "ann")


@pytest.mark.parametrize(
    "address",
    [
        "postgres ql://u:secret@h/db",
        "postgresql+psycopg://u:secret@h:port/db",
        "postgresql+psycopg://u:secret:more@h:1:2/db",
        "mysql://u:secret@h/db",
        "postgresql://u:sec/secret@h:x/db",
        "://u:secret@h",
        "mysql://h/db?password=secret",
        "mysql://h/db?user=u&sslpassword=a@secret&x=1",
    ],
)
def test_no_message_shows_a_password(address):
    with pytest.raises(InputError) as caught:
        open_store(address)
    error = caught.value
    while error is not None:
        assert "secret" not in str(error)
        error = None if error.__suppress_context__ else error.__context__


def test_a_password_in_the_query_is_not_shown_either():
    database = database_of("postgresql+psycopg://u@h/db?password=secret&project=p")
    assert "secret" not in database.name
    assert without_password("postgresql://u:x@h/db") == "postgresql://u@h/db"
    database.close()


def test_a_project_on_read_only_media_can_be_read(small_disk):
    disk = small_disk(4_000)
    with open_store(disk / "t.bemps", create=True) as store:
        fill(store)
        store.answer("ann", "t1", "label", "bug")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with open_store(disk / "t.bemps") as store:
        assert store.current()["t1"].label == "bug"
        assert store.count() == 10
        assert [row.item.id for row in store.search("number 3").rows] == ["t3"]
        with pytest.raises(NotSaved, match="may only be read"):
            store.answer("ann", "t2", "label", "bug")


@pytest.mark.parametrize("text", ["a\0b", "half \ud800"])
def test_a_search_for_what_no_database_can_hold_is_refused_in_words(store, text):
    with pytest.raises(InputError, match="search"):
        store.search(text)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not delete a file that is open")
def test_nothing_is_acknowledged_once_the_file_is_deleted(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    with open_store(folder / "p.bemps", create=True) as store:
        fill(store)
        store.answer("ann", "t0", "label", "bug")
        shutil.rmtree(folder)
        with pytest.raises(NotSaved, match="file is gone"):
            store.answer("ann", "t1", "label", "bug")
        assert not folder.exists()
        assert set(store.current()) == {"t0"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not rename a file that is open")
def test_nothing_is_acknowledged_while_another_file_is_in_its_place(tmp_path):
    path = tmp_path / "p.bemps"
    with open_store(path, create=True) as store:
        fill(store)
        path.rename(tmp_path / "away.bemps")
        path.write_bytes(b"another")
        with pytest.raises(NotSaved, match="another is in its place"):
            store.answer("ann", "t1", "label", "bug")
        (tmp_path / "away.bemps").replace(path)
        store.answer("ann", "t1", "label", "bug")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not rename a file that is open")
def test_a_file_that_goes_while_an_answer_is_written_is_noticed(tmp_path):
    path = tmp_path / "p.bemps"
    gone = pytest.raises(NotSaved, match="file is gone")
    with open_store(path, create=True) as store, gone, store._database.writing():
        path.rename(tmp_path / "away.bemps")


@pytest.mark.skipif(sys.platform != "linux", reason="a folder in which nobody can make files, root neither")
def test_a_project_that_cannot_be_made_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 60)
    begin = time.monotonic()
    with pytest.raises(NotSaved, match=r"the file cannot be opened\. Check the folder"):
        open_store("/proc/x.bemps", create=True)
    assert time.monotonic() - begin < 30


def test_a_project_that_cannot_be_read_does_not_ask_to_send_anything(tmp_path):
    with pytest.raises(NotRead) as refusal:
        open_store(f"postgresql+psycopg://ann@/labels?host={tmp_path}")
    assert refusal.value.fix == "Check that the database is running."
