"""A team on PostgreSQL: two servers share one project, and no item goes to two people."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from serving import CLASSES, Server, eventually

from bemps.store import open_store


@pytest.fixture
def address(postgres):
    return f"{postgres}&project=p{uuid.uuid4().hex}"


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


def test_settings_of_one_server_reach_the_other_within_seconds(folder, address):
    (folder / "other").mkdir()
    with (
        Server(folder, "--store", address, "--audit", "0") as one,
        Server(folder / "other", "--store", address, data=None, classes=None) as two,
        one.person("ann") as ann,
        two.person("bob") as bob,
    ):
        values = {"title": "Both", "audit_share": "30", "keywords": "crash = bug", "markdown": "yes"}
        ann.post("settings", values=values).raise_for_status()
        assert eventually(lambda: bob.state()["settings"]["title"] == "Both", 10)
        assert bob.state()["settings"]["display"] == ann.state()["settings"]["display"]
        assert 'value="30"' in bob.panel("settings")
        ann.post("class/rename", old="bug", new="defect").raise_for_status()
        assert eventually(lambda: shown_word(bob) == shown_word(ann) == "defect", 10)
        ann.post("guidelines", text="Read twice.", seen=version_of(ann)).raise_for_status()
        assert eventually(lambda: version_of(bob) == version_of(ann), 10)


def shown_word(person):
    return person.state()["settings"]["display"]["keywords"][0].get("class")


def version_of(person):
    return person.state()["settings"]["guidelines"]["version"]
