"""Nothing acknowledged is lost: servers killed while people label, and a disk that is full."""

import contextlib
import random
import threading
import time
import uuid
from collections import Counter

import httpx
import pytest
from serving import CLASSES, Server, write_tickets

from bemps.store import open_store

PEOPLE = 4


class Labeller(threading.Thread):
    """Labels as fast as it can until the server dies; remembers what was acknowledged and what was not."""

    def __init__(self, server, name, rng, unsure):
        super().__init__(daemon=True)
        self.server, self.name_, self.rng = server, name, rng
        self.acknowledged, self.unsure = {}, unsure
        self.first = threading.Event()

    def run(self):
        try:
            with self.server.person(self.name_) as person:
                for sent in list(self.unsure):
                    self.send(person, sent)
                while True:
                    for item in person.next(2):
                        self.send(person, (item["id"], self.rng.choice(CLASSES), uuid.uuid4().hex))
        except httpx.TransportError:
            pass
        finally:
            self.first.set()

    def send(self, person, sent):
        """Note it as sent before it is, and as saved only when the server says so."""
        if sent not in self.unsure:
            self.unsure.append(sent)
        item, label, request = sent
        reply = person.answer(item, label, request=request).raise_for_status().json()
        self.unsure.remove(sent)
        self.acknowledged[request] = (item, label, reply["seq"])
        self.first.set()


def killed_while_labelling(folder, kills, seed):
    """Kill a server again and again; returns what was acknowledged in all, by annotator and request."""
    rng = random.Random(seed)
    acknowledged, unsure = {}, {f"person {number}": [] for number in range(PEOPLE)}
    with Server(folder) as server:
        for kill in range(kills):
            people = [Labeller(server, name, random.Random(f"{seed} {kill} {name}"), unsure[name]) for name in unsure]
            for person in people:
                person.start()
            assert all(person.first.wait(60) for person in people)
            time.sleep(rng.uniform(0, 0.3))
            server.kill()
            for person in people:
                person.join(60)
                acknowledged |= {(person.name_, request): said for request, said in person.acknowledged.items()}
            check(folder, acknowledged)
            server.start()
    return acknowledged


def check(folder, acknowledged):
    """Every acknowledged answer is in the log, once, as it was given; and the log has no gap."""
    store = open_store(folder / "tickets.bemps")
    events = store.events()
    store.close()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    found = {
        (event.annotator, event.request): (event.item, event.label, event.seq) for event in events if event.request
    }
    assert {key: found.get(key) for key in acknowledged} == acknowledged
    assert max(Counter(event.request for event in events if event.request).values()) == 1


@pytest.fixture
def large(tmp_path):
    return large_pool(tmp_path, 4_000)


def large_pool(folder, count):
    write_tickets(folder / "tickets.csv", [(f"ticket number {number}", "bug") for number in range(count)])
    return folder


def test_four_kills_lose_nothing_that_was_acknowledged(large):
    assert len(killed_while_labelling(large, kills=4, seed=1)) > 4 * PEOPLE


@pytest.mark.soak
def test_two_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path):
    acknowledged = killed_while_labelling(large_pool(tmp_path, 30_000), kills=200, seed=2)
    print(f"{len(acknowledged):,} acknowledged answers, 200 kills, none lost")  # noqa: T201
    assert len(acknowledged) > 200 * PEOPLE


def fill(path):
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 512):
            pass


def test_a_full_disk_is_said_and_nothing_is_corrupted(folder, small_disk):
    disk = small_disk(600)
    with Server(folder, "--project", str(disk / "full.bemps")) as server, server.person() as ann:
        (first,) = ann.next(1)
        assert ann.answer(first["id"], "bug").status_code == 200
        filler = disk / "filler"
        fill(filler)
        refused, sent = None, 0
        while refused is None and sent < 200:  # pages that are there already may hold a few more
            sent += 1
            (item,) = ann.next(1)
            reply = ann.answer(item["id"], "feature", request=f"request {item['id']}")
            refused = item["id"] if reply.status_code != 200 else None
        assert reply.status_code == 507
        assert "the disk is full" in reply.json()["error"]
        filler.unlink()
        assert ann.answer(refused, "feature", request=f"request {refused}").status_code == 200
        server.stop()
        store = open_store(disk / "full.bemps")
        labels = {name: answer.label for name, answer in store.current().items()}
        store.close()
        assert labels[first["id"]] == "bug"
        assert labels[refused] == "feature"
        assert len(labels) == sent + 1
