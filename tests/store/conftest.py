"""Every test of the store runs on a real SQLite file and on a real PostgreSQL server."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from filling import fill

from bemps.store import Store, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path) -> str:
    """Where a project can be made: a path or an address."""
    if request.param == "sqlite":
        return str(tmp_path / "tickets.bemps")
    return f"{request.getfixturevalue('postgres')}&project=p{uuid.uuid4().hex}"


@pytest.fixture
def opened(place) -> Iterator[Callable[..., Store]]:
    """Opens the project again and again; all are closed in the end."""
    stores: list[Store] = []

    def another(create: bool = False) -> Store:
        stores.append(open_store(place, create=create))
        return stores[-1]

    yield another
    for store in stores:
        store.close()


@pytest.fixture
def store(opened) -> Store:
    """A project of ten texts and two classes."""
    store = opened(create=True)
    fill(store)
    return store
