"""Servers and a browser to test with."""

import hashlib

import pytest
from serving import Here, write_tickets


@pytest.fixture
def folder(tmp_path):
    """A folder with tickets.csv in it."""
    write_tickets(tmp_path / "tickets.csv")
    return tmp_path


@pytest.fixture(params=["sqlite", "postgresql"])
def either_store(request, monkeypatch):
    """The test runs twice: its servers keep their projects in files, and on a PostgreSQL server."""
    if request.param == "postgresql":
        address = request.getfixturevalue("postgres")

        def place(folder):
            return f"{address}&project=p{hashlib.md5(str(folder).encode()).hexdigest()}"

        monkeypatch.setattr(Here, "place", staticmethod(place))


@pytest.fixture
def server(folder):
    with Here(folder) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for the tests of a module that leave nothing behind that matters."""
    folder = tmp_path_factory.mktemp("shared")
    write_tickets(folder / "tickets.csv")
    with Here(folder) as running:
        yield running
