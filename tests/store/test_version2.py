"""A project with tables of version 2, from before answers said how they were made, opens as it was."""

from pathlib import Path

import pytest
from filling import fill_from_dump

from bemps.errors import InputError
from bemps.store import NewAnswer, open_store
from bemps.store.sql import schema

DUMP = Path(__file__).parent / "version2.sql"


@pytest.fixture
def old(place):
    return fill_from_dump(place, DUMP)


def test_it_opens_with_everything_that_was_in_it(old):
    with open_store(old) as store:
        assert {id: answer.label for id, answer in store.current().items()} == {"a1": "bug", "a2": "wish"}
        assert {event.method for event in store.events()} == {event.action for event in store.events()} == {None}
        assert store.copies() == {"a3": "a1"}
        with store._database.reading() as connection:
            assert schema.version_in(connection) == schema.VERSION
        store.add_suggestions("prompt", {"a1": "bug", "a4": None})
        assert store.suggestions("prompt") == {"a1": "bug", "a4": None}


def test_new_answers_say_how_they_were_made(old):
    with open_store(old) as store:
        store.record([NewAnswer("ann", "a4", "label", "bug", method="suggested", action="many 1")])
        assert store.current()["a4"].method == "suggested"
        assert [(event.method, event.action) for event in store.events()][-1] == ("suggested", "many 1")
    with open_store(old) as store:
        assert store.current()["a4"].method == "suggested"
        assert store.events()[-1].action == "many 1"
        with pytest.raises(InputError, match="method of an answer"):
            store.record([NewAnswer("ann", "a4", "label", "bug", method="guessed")])
