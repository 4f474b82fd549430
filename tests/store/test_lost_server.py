"""A database server that goes away: said plainly, nothing acknowledged lost, and it goes on when the server is back."""

import pytest
from filling import fill
from real_postgres import server
from sqlalchemy import create_engine, text

from bemps.store import NotRead, NotSaved, open_store


def test_the_server_is_killed_and_comes_back():
    with server() as running, open_store(f"{running.url}&project=tickets", create=True) as store:
        fill(store, 50)
        events = [store.answer("ann", f"t{i}", "label", "bug", request=str(i)) for i in range(30)]
        running.stop("SIGKILL")
        with pytest.raises(NotSaved, match=r"not saved.*Send it again"):
            store.answer("ann", "t30", "label", "bug", request="30")
        with pytest.raises(NotRead):
            store.current()
        running.start()
        events.append(store.answer("ann", "t30", "label", "bug", request="30"))
        assert [event for event in store.events() if event.kind == "label"] == events


def test_connections_that_were_cut_are_made_again(postgres):
    with open_store(f"{postgres}&project=cut", create=True) as store:
        fill(store)
        store.answer("ann", "t0", "label", "bug")
        engine = create_engine(postgres)
        with engine.connect() as connection:
            others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'bemps'"
            connection.execute(text(f"SELECT pg_terminate_backend(pid) {others}"))
        engine.dispose()
        store.answer("ann", "t1", "label", "bug")
        assert set(store.current()) == {"t0", "t1"}


def test_projects_of_one_database_are_apart(postgres):
    first, second = (open_store(f"{postgres}&project={name}", create=True) for name in ("one", "two"))
    with first as one, second as two:
        fill(one)
        assert (one.count(), two.count()) == (10, 0)
        assert one.name.endswith("project=one")
        assert two.name.endswith("project=two")
