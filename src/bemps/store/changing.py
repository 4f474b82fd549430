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
from bemps.store.items import Items
from bemps.store.tables import SETTINGS
from bemps.store.words import ADJUDICATE, ANSWERS, LABEL, REDO, SOURCE, UNDO, Class, Event, Item, Said


class Change:
    """An open transaction of the one writer; what an exception leaves undone is undone altogether."""

    def __init__(self, decision: Decision, items: Items) -> None:
        self._decision, self._items = decision, items
        self._added: set[str] = set()

    def classes(self) -> tuple[str, ...]:
        """The names of the classes, those of this change among them."""
        return tuple(known.name for known in self._decision.state.classes)

    def add_class(self, name: str, annotator: str) -> Class:
        """Add a class after the others."""
        return classes.add_in(self._decision, name, annotator, None)

    def add_items(self, items: Iterable[Item]) -> int:
        """Append items and return how many were new; see `Store.add_items`."""
        added = 0
        for new in self._items.add(self._decision.connection, items):
            added += len(new)
            self._added.update(item.id for item in new)
            said = [Said(SOURCE, item.id, LABEL, item.label) for item in new if item.label is not None]
            answering.record(self._decision, said)
        return added

    def record(self, said: Sequence[Said]) -> list[Event]:
        """Record answers, also to items of this change."""
        answering.check(said, self.known)
        return answering.record(self._decision, said)

    def known(self, id: str) -> str:
        """Refuse an id that neither the project nor this change has."""
        return id if id in self._added else self._items.known(id)

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
