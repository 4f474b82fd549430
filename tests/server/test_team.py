"""A team on PostgreSQL: two servers share one project, and no item goes to two people."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from real_postgres import server as postgres_server
from serving import CLASSES, Server

from bemps.store import open_store


@pytest.fixture(scope="module")
def address():
    with postgres_server() as running:
        yield f"{running.url}&project=p{uuid.uuid4().hex}"


def test_two_servers_on_one_project_share_it_safely(folder, address):
    (folder / "other").mkdir()

    def work(person):
        mine = []
        for _ in range(8):
            (item,) = person.next(1)
            person.answer(item["id"], CLASSES[len(mine) % 3]).raise_for_status()
            mine.append(item["id"])
        person.close()
        return mine

    with (
        Server(folder, "--store", address) as one,
        Server(folder / "other", "--store", address, data=None, classes=None) as two,
    ):
        assert "password" not in one.said + two.said
        people = [server.person(f"{name} {number}") for number in range(2) for name, server in (("a", one), ("b", two))]
        with ThreadPoolExecutor(4) as pool:
            lists = list(pool.map(work, people))
        one.kill()
        with two.person("a 0") as again:
            (item,) = again.next(1)
            assert again.answer(item["id"], "bug").status_code == 200
    every = [item for mine in lists for item in mine]
    assert len(set(every)) == len(every) == 32
    store = open_store(address)
    assert set(store.current()) == {*every, item["id"]}
    store.close()
