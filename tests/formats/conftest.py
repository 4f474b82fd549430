"""A small project with answers of every kind."""

import pytest
from moments import WHEN

from bemps.store import Item, NewAnswer, open_store


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "tickets.bemps", create=True) as store:
        store.set("title", "Tickets")
        for name in ("bug", "wish"):
            store.add_class(name, "lead")
        store.add_items(Item(f"t{i}", f"text {i}") for i in range(5))
        yield store


@pytest.fixture
def answered(store):
    store.record(
        [
            NewAnswer("ann", "t0", "label", "bug", time=WHEN),
            NewAnswer("bob", "t0", "label", "wish", "not sure at all", time=WHEN),
            NewAnswer("ann", "t1", "skip", time=WHEN),
            NewAnswer("ann", "t2", "unsure", time=WHEN),
            NewAnswer("lead", "t0", "adjudicate", "bug", time=WHEN),
        ]
    )
    return store
