"""A full disk: a clear message, nothing acknowledged is lost or corrupted, and it goes on when there is room."""

import os
import subprocess
import sys

import pytest
from filling import fill

from bemps import InputError
from bemps.store import NotSaved, open_store

UNTIL_FULL = """
import os, resource, sys
from bemps.store import NotSaved, open_store
store = open_store(sys.argv[1])
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for i in range(100_000):
        event = store.answer("ann", f"t{i % 10}", "note", note=f"{i} " + "x" * 5_000, request=str(i))
        os.write(1, f"{event.seq} {i}\\n".encode())
except NotSaved as error:
    print(error, file=sys.stderr)
    assert len(store.events()) == event.seq            # still readable, and only what was acknowledged
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if sys.argv[2] != "0":
        store.answer("ann", "t1", "label", "bug")      # there is room again: the same store goes on
    sys.exit(7)
"""


def fill_up(path, limit):
    command = [sys.executable, "-c", UNTIL_FULL, str(path), str(limit)]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert done.returncode == 7, done.stderr.decode()
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()], done.stderr.decode()


def check_sound(path, acknowledged):
    with open_store(path) as store:
        log = {event.seq: event.request for event in store.events()}
        assert all(log[seq] == str(request) for seq, request in acknowledged)
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        return store.current()


def test_a_file_that_may_not_grow(tmp_path):
    path = tmp_path / "p.bemps"
    with open_store(path, create=True) as store:
        fill(store)
    acknowledged, message = fill_up(path, 400_000)
    assert "not saved" in message
    assert "disk" in message
    assert len(acknowledged) > 5
    assert check_sound(path, acknowledged)["t1"].label == "bug"


def test_a_real_disk_that_is_full(small_disk):
    disk = small_disk(700)
    path = disk / "p.bemps"
    with open_store(path, create=True) as store:
        fill(store)
    acknowledged, message = fill_up(path, 0)
    assert "the disk is full" in message or "the disk refuses to write" in message
    assert "Free some space" in message or "Check the space" in message
    subprocess.run(["mount", "-o", "remount,size=10m", str(disk)], check=True)
    check_sound(path, acknowledged)
    with open_store(path) as store:
        store.answer("ann", "t1", "label", "bug")


def test_a_database_that_may_not_grow_refuses_items_and_keeps_the_rest(tmp_path):
    from bemps.store import Item

    with open_store(tmp_path / "p.bemps", create=True) as store:
        fill(store)
        with store._database.reading() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=60")
        with pytest.raises(NotSaved, match="the disk is full"):
            store.add_items(Item(f"x{i}", "long " * 1_000) for i in range(1_000))
        assert store.count() == 10
        store.answer("ann", "t1", "label", "bug")
        assert isinstance(NotSaved("a", expected="b", got="c", fix="d"), InputError)
    assert os.path.getsize(tmp_path / "p.bemps") < 10**6
