"""Nothing acknowledged is lost: real processes, real SIGKILL, several writers at once."""

import json
import multiprocessing
import random
import sqlite3
import threading

import pytest
from filling import fill
from labeller import label

from bemps.store import open_store
from bemps.store.state import State

PROCESSES = multiprocessing.get_context("forkserver")  # processes of their own that start in no time
PROCESSES.set_forkserver_preload(["pytest", "labeller"])


def start(place, annotator, seed, count=0):
    """A labelling process, and the pipe that brings what it was told."""
    reader, writer = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=label, args=(place, annotator, seed, count, writer))
    process.start()
    writer.close()
    return process, reader


def message(reader):
    """The next answer that was acknowledged; a process that failed says why."""
    told = json.loads(reader.recv_bytes())
    assert isinstance(told, list), told["failed"]
    return tuple(told)


def heard(process, reader):
    """The next message of a process that is at work: one that has ended by itself is a failure with its exit code."""
    try:
        return message(reader)
    except EOFError:
        process.join()
        pytest.fail(f"a writer ended before it was killed, with exit code {process.exitcode}")


def rest(reader):
    """Everything that is still in the pipe of a process that has ended."""
    found = []
    with reader:
        while True:
            try:
                found.append(message(reader))
            except EOFError:
                return found


def killed_round(place, seed, writers=3):
    """Labellers that are killed at the same random moment; returns everything that they had been told."""
    rng = random.Random(seed)
    running = [start(place, f"writer{w}", 1_000 * seed + w) for w in range(writers)]
    told = [heard(*writer) for writer in running]  # all are at work
    for _ in range(rng.randrange(20)):
        told.append(heard(*rng.choice(running)))
    for process, _ in running:
        process.kill()
    for process, reader in running:
        process.join()
        told += rest(reader)
    return told


def check(place, acknowledged):
    with open_store(place) as store:
        events = store.events()
        log = {e.seq: (e.seq, e.annotator, e.item, e.kind, e.label, e.request) for e in events}
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        lost = [one for one in acknowledged if log.get(one[0]) != one]
        assert lost == []
        replayed = State()
        replayed.apply(events)
        held = (replayed.resolved_answer(item) for item in replayed.by_item)
        assert {one.item: replayed.answer(one) for one in held if one is not None} == store.current()
        assert max(len(store.answers_of(item)) for item in store.current()) == 1  # no item went to two people
        if store.path is not None:
            with store._database.reading() as connection:
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"


def kill_again_and_again(place, rounds):
    with open_store(place, create=True) as store:
        fill(store, 500 + 100 * rounds)
    acknowledged = []
    for seed in range(rounds):
        acknowledged += killed_round(place, seed)
        check(place, acknowledged)
    return len(acknowledged)


def test_a_writer_that_had_to_wait_too_long_sends_again(tmp_path, monkeypatch):
    monkeypatch.setattr("bemps.store.sql.database.PATIENCE", 0.05)
    with open_store(tmp_path / "p.bemps", create=True) as store:
        fill(store, 5)
    reader, writer = multiprocessing.Pipe(duplex=False)
    busy = sqlite3.connect(tmp_path / "p.bemps", isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=label, args=(str(tmp_path / "p.bemps"), "ann", 3, 1, writer))
    waiting.start()
    assert not reader.poll(0.5)
    busy.execute("ROLLBACK")
    busy.close()
    waiting.join(30)
    check(tmp_path / "p.bemps", [message(reader)])


def test_what_was_acknowledged_survives_sigkill(place):
    assert kill_again_and_again(place, rounds=3) > 10


@pytest.mark.soak
def test_what_was_acknowledged_survives_sigkill_two_hundred_times(place):
    acknowledged = kill_again_and_again(place, rounds=200)
    print(f"{acknowledged:,} acknowledged answers, 600 killed processes in 200 rounds, none lost")  # noqa: T201
    assert acknowledged > 1_000


def test_processes_label_together_and_no_item_goes_to_two(place):
    with open_store(place, create=True) as store:
        fill(store, 300)
    running = [start(place, f"writer{w}", w, count=40) for w in range(4)]
    acknowledged = []
    for process, reader in running:
        acknowledged += rest(reader)
        process.join()
        assert process.exitcode == 0
    assert len(acknowledged) == 160
    check(place, acknowledged)
