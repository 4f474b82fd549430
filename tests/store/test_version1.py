"""A project that an earlier release made (tables of version 1, before columns and copies were kept) opens as it was."""

import uuid
from pathlib import Path

import pytest
from filling import fill_from_dump
from sqlalchemy import text as sql

from bemps.project.exporting import export_labels
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Item, open_store
from bemps.store.sql import schema

DUMP = Path(__file__).parent / "version1.sql"
TICKETS = """nr,body,sender,topic
a1,It crashes,ann,
a2,Please add a mode,bob,wish
a3,It crashes,cem,
a4,Where is it?,dan,
"""


@pytest.fixture
def old(place):
    return fill_from_dump(place, DUMP)


def test_it_opens_with_everything_that_was_in_it(old):
    with open_store(old) as store:
        assert store.ids() == ("a1", "a2", "a3", "a4")
        assert {id: answer.label for id, answer in store.current().items()} == {"a1": "bug", "a2": "wish", "a3": "wish"}
        assert store.item("a1") == Item("a1", "It crashes")
        assert store.item("a1").columns == {}
        assert store.settings["title"] == "tickets"
        assert store.copies() == {}
        store.answer("ann", "a4", "label", "bug")
        store.add_items([Item("a5", "new"), Item("a6", "It crashes")], key=str)
        assert store.copies() == {"a6": "a1"}
        with store._database.reading() as connection:
            assert schema.version_in(connection) == schema.VERSION
            assert connection.execute(sql("SELECT count(*) FROM items")).scalar_one() == 6


def test_its_columns_are_filled_in_when_its_file_is_named_again(old, tmp_path):
    (tmp_path / "tickets.csv").write_text(TICKETS)
    source = Source(tmp_path / "tickets.csv", {"text": "body", "id": "nr", "label": "topic"})
    prepared(old, source, Wishes())[0].close()
    with open_store(old) as store:
        assert store.item("a3").columns == {"nr": "a3", "body": "It crashes", "sender": "cem", "topic": ""}
        assert len(store.answers()) == 3
        export_labels(store, tmp_path / f"{uuid.uuid4().hex}.csv")
    store, notes = prepared(old, source, Wishes())
    store.close()
    assert notes == []
