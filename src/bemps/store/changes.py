"""Changes of a project in one transaction: items, classes, answers and settings."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from bemps.store import answer_events
from bemps.store.class_log.class_edits import ClassEdits
from bemps.store.events import (
    ADJUDICATE,
    ANSWERS,
    LABEL,
    NOTE,
    REDO,
    SOURCE,
    UNDO,
    Class,
    Event,
    Item,
    NewAnswer,
    NewClass,
)
from bemps.store.state import Slot, StoredAnswer, slot_of
from bemps.store.stored_items import Key, StoredItems
from bemps.store.stored_settings import write_settings
from bemps.store.transaction import LogTransaction, read


class Change:
    """An open transaction that changes a project. An exception undoes all of its changes.

    Parameters
    ----------
    transaction : LogTransaction
        The transaction.
    items : StoredItems
        The items of the project.
    """

    def __init__(self, transaction: LogTransaction, items: StoredItems) -> None:
        self._transaction, self._items = transaction, items
        self._class_edits = ClassEdits(lambda: nullcontext(transaction), self.original_of)
        self._added: dict[str, str] = {}  # the original of each: itself, or the item that it is a copy of

    def classes(self) -> tuple[str, ...]:
        """Return the names of the classes, also those that this change has added."""
        return tuple(known.name for known in self._transaction.state.classes)

    def hidden_classes(self) -> frozenset[str]:
        """Return the names of the classes that the page does not offer."""
        return frozenset(known.name for known in self._transaction.state.classes if known.is_hidden)

    def understood_classes(self) -> tuple[str, ...]:
        """Return the names that answers may have: those of the classes, and of classes that were merged into them."""
        return tuple(self._transaction.state.classes.numbers())

    def classes_in_files(self) -> tuple[str, ...]:
        """Return the names that labels of a file may have: also those from before a renaming."""
        return tuple(self._transaction.state.classes.numbers_in_files())

    def counted_label(self, label: str) -> str:
        """Return the name of the class that a label of a file counts for."""
        table = self._transaction.state.classes
        numbers = table.numbers_in_files()
        return table.name_of(numbers[label]) if label in numbers else label

    def add_class(self, new: str | NewClass, annotator: str) -> Class:
        """Add a class after the others."""
        return self._class_edits.add_entry(NewClass(new) if isinstance(new, str) else new, annotator)

    def take_over_classes(self, entries: Sequence[NewClass], annotator: str) -> None:
        """Bring what a class file says of classes to those that are there."""
        self._class_edits.take_over(entries, annotator)

    def add_items(self, items: Iterable[Item], key: Key | None = None) -> int:
        """Add items and return how many were new, copies included. See `Store.add_items`."""
        before, present = len(self._added), self._former_names()
        for new in self._items.add(self._transaction.connection, items, key):
            self._added.update((item.id, item.copy_of or item.id) for item in new)
            labels = {
                self._added[item.id]: present.get(item.label, item.label)
                for item in reversed(new)
                if item.label is not None
            }
            first = [(id, label) for id, label in labels.items() if self.stored_answer((SOURCE, id)) is None]
            answer_events.record(
                self._transaction,
                [NewAnswer(SOURCE, id, LABEL, label) for id, label in reversed(first)],
                hidden_too=True,
            )
        return len(self._added) - before

    def _former_names(self) -> dict[str, str]:
        """The present name for each name before a renaming."""
        known = self.understood_classes()
        return {name: self.counted_label(name) for name in self.classes_in_files() if name not in known}

    @property
    def copies(self) -> int:
        """How many items of this change are copies."""
        return sum(id != original for id, original in self._added.items())

    def record(self, answers: Sequence[NewAnswer]) -> list[Event]:
        """Record answers that were given elsewhere, also to items of this change and of classes that are hidden."""
        checked = answer_events.checked_answers(answers, self.original_of)
        return answer_events.record(self._transaction, checked, hidden_too=True)

    def original_of(self, id: str) -> str:
        """Return the id of the original of an item. An id that neither the project nor this change has is refused."""
        return self._added[id] if id in self._added else self._items.original_of(id)

    def stored_answer(self, slot: Slot) -> StoredAnswer | None:
        """Return the present answer of an annotator to an item. The annotator None stands for adjudication."""
        return self._transaction.state.stored_answer(slot)

    def labels_of(self, id: str) -> tuple[str | None, ...]:
        """Return the labels in the answers to an item, first the one that counts; None for answers without a label."""
        state = self._transaction.state
        answers = [answer for answer in state.stored_answers(id) if answer.kind != NOTE]
        counted = state.resolved_answer(id)
        first = [counted] if counted in answers else []
        return tuple(dict.fromkeys(state.label_of(answer) for answer in [*first, *answers]))

    def label_of(self, answer: StoredAnswer) -> str | None:
        """Return the present name of the class of an answer."""
        return self._transaction.state.label_of(answer)

    def last_times(self) -> dict[Slot, datetime]:
        """Return when each slot was last answered, taken back or restored."""
        slots: dict[int, Slot] = {}
        times: dict[Slot, datetime] = {}
        for event in read(self._transaction.connection, 0):
            if event.kind in (*ANSWERS, ADJUDICATE):
                slots[event.seq] = slot_of(event)
            elif event.kind not in (UNDO, REDO):
                continue
            slot = slots[event.seq if event.target is None else event.target]
            times[slot] = max(times.get(slot, event.time), event.time)
        return times

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Write settings."""
        write_settings(self._transaction.connection, values)
