"""Several changes of a project in one transaction: items, classes, answers and settings, all of them or none."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import answering, checked, classes
from bemps.store.decision import Decision, read
from bemps.store.fold import Held, Slot, slot_of
from bemps.store.items import Items, Key
from bemps.store.tables import SETTINGS
from bemps.store.words import ADJUDICATE, ANSWERS, LABEL, REDO, SOURCE, UNDO, Class, Event, Item, Said


class Change:
    """An open transaction of the one writer; what an exception leaves undone is undone altogether."""

    def __init__(self, decision: Decision, items: Items) -> None:
        self._decision, self._items = decision, items
        self._added: dict[str, str] = {}  # what stands for each: itself, or the item that it is a copy of

    def classes(self) -> tuple[str, ...]:
        """The names of the classes, those of this change among them."""
        return tuple(known.name for known in self._decision.state.classes)

    def add_class(self, name: str, annotator: str) -> Class:
        """Add a class after the others."""
        return classes.add_in(self._decision, name, annotator, None)

    def add_items(self, items: Iterable[Item], key: Key | None = None) -> int:
        """Append items and return how many were new, copies among them; see `Store.add_items`."""
        before = len(self._added)
        for new in self._items.add(self._decision.connection, items, key):
            self._added.update((item.id, item.copy_of or item.id) for item in new)
            said = {self._added[item.id]: item.label for item in reversed(new) if item.label is not None}
            first = [(id, label) for id, label in said.items() if self.held((SOURCE, id)) is None]
            answering.record(self._decision, [Said(SOURCE, id, LABEL, label) for id, label in reversed(first)])
        return len(self._added) - before

    @property
    def copies(self) -> int:
        """How many of the items of this change are copies."""
        return sum(id != original for id, original in self._added.items())

    def record(self, said: Sequence[Said]) -> list[Event]:
        """Record answers, also to items of this change."""
        return answering.record(self._decision, answering.checked_answers(said, self.known))

    def known(self, id: str) -> str:
        """The item that an id stands for; refused where neither the project nor this change has it."""
        return self._added[id] if id in self._added else self._items.known(id)

    def held(self, slot: Slot) -> Held | None:
        """What an annotator says of an item; nobody (None) stands for adjudication."""
        return self._decision.state.held(slot)

    def label_of(self, held: Held) -> str | None:
        """The present name of the class that was given."""
        return self._decision.state.label_of(held)

    def last_times(self) -> dict[Slot, datetime]:
        """When each slot was last answered, taken back or restored."""
        slots: dict[int, Slot] = {}
        times: dict[Slot, datetime] = {}
        for event in read(self._decision.connection, 0):
            if event.kind in (*ANSWERS, ADJUDICATE):
                slots[event.seq] = slot_of(event)
            elif event.kind not in (UNDO, REDO):
                continue
            slot = slots[event.seq if event.target is None else event.target]
            times[slot] = max(times.get(slot, event.time), event.time)
        return times

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Remember settings."""
        write_settings(self._decision.connection, settings_rows(values))


def settings_rows(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """Settings as rows; refused where JSON cannot write them."""
    try:
        return [
            {"name": checked.name(name, "setting"), "value": json.dumps(values[name], allow_nan=False)}
            for name in values
        ]
    except (TypeError, ValueError) as error:
        raise InputError("settings", expected="JSON", got=str(error), fix="Use plain values.") from error


def write_settings(connection: Connection, rows: list[dict[str, str]]) -> None:
    """Put rows of settings in the place of those of the same names."""
    if rows:
        connection.execute(delete(SETTINGS).where(SETTINGS.c.name.in_([row["name"] for row in rows])))
        connection.execute(insert(SETTINGS), rows)
