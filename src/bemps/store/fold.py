"""The state of a project as a fold over its log: the events in order, each applied once, and nothing else.

Every annotator has one slot for each item; adjudications have slots of their own. A slot is a stack of what was held,
so that undo is a pop. Undo takes back an annotator's own last answer, whatever others have done meanwhile.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from bemps.errors import InputError
from bemps.store.failures import damaged
from bemps.store.words import (
    ADD_CLASS,
    ADJUDICATE,
    ANSWERS,
    AUDIT,
    CLEAR,
    LABEL,
    NOTE,
    OVERLAP,
    REDO,
    RENAME_CLASS,
    SET_KEY,
    UNDO,
    Answer,
    Class,
    Event,
)

Part = TypeVar("Part")
OF_A_CLASS = (LABEL, ADJUDICATE, RENAME_CLASS, SET_KEY)
Slot = tuple[str | None, str]  # annotator (None: adjudication) and item


@dataclass(frozen=True, slots=True)
class Held:
    """What a slot holds after an event. `kind` clear: nothing."""

    kind: str
    class_id: int | None
    note: str | None
    annotator: str
    item: str
    time: datetime
    seq: int


class State:
    """What follows from the events up to `seq`."""

    def __init__(self) -> None:
        self.seq = 0
        self.classes: list[Class] = []  # a class's id is its place here, for good
        self.audit: dict[str, int] = {}
        self.overlap: dict[str, int] = {}
        self.people: dict[str, None] = {}
        self.slots: dict[Slot, list[Held]] = {}
        self.by_item: dict[str, list[str | None]] = {}
        self.by_person: dict[str | None, list[str]] = {}
        self.done: dict[str, list[tuple[int, Slot]]] = defaultdict(list)
        self.undone: dict[str, list[tuple[int, Slot, Held]]] = defaultdict(list)
        self.requests: dict[tuple[str, str], Event] = {}
        self._rules: dict[str, Callable[[Event], None]] = {
            **dict.fromkeys((*ANSWERS, ADJUDICATE), self._answered),
            UNDO: self._take_back,
            REDO: self._restore,
            ADD_CLASS: self._add_class,
            RENAME_CLASS: self._rename_class,
            SET_KEY: self._set_key,
            AUDIT: lambda event: self._mark(self.audit, event),
            OVERLAP: lambda event: self._mark(self.overlap, event),
        }

    def apply(self, events: Iterable[Event]) -> None:
        """Take events in; those already taken are passed over."""
        for event in events:
            if event.seq <= self.seq:
                continue
            if event.seq != self.seq + 1 or event.kind not in self._rules:
                raise InputError(
                    "log",
                    expected=f"event {self.seq + 1} of a known kind",
                    got=f"event {event.seq}, {event.kind!r}",
                    fix="The log was changed from outside, or by a newer bemps.",
                )
            self._follow(event)
            if event.request is not None:
                self.requests[event.annotator, event.request] = event
            self.seq = event.seq

    def _follow(self, event: Event) -> None:
        """Apply the rule of an event; one that nobody can have said in this state is damage."""
        limit = len(self.classes) + (event.kind == ADD_CLASS)
        try:
            if event.class_id is not None and not 0 <= event.class_id < limit:
                raise LookupError("its class is not there")
            if event.class_id is None and event.kind in OF_A_CLASS:
                raise LookupError("it has no class")
            self._rules[event.kind](event)
        except LookupError as error:  # also of lists and dicts: nothing to take back, no such place
            raise damaged(f"event {event.seq}", "one that can follow those before it", str(error)) from error

    def class_id(self, name: str) -> int | None:
        return next((place for place, known in enumerate(self.classes) if known.name == name), None)

    def held(self, slot: Slot) -> Held | None:
        """What a slot holds; None where nothing does."""
        stack = self.slots.get(slot)
        return stack[-1] if stack and stack[-1].kind != CLEAR else None

    def label_of(self, held: Held | None) -> str | None:
        return None if held is None or held.class_id is None else self.classes[held.class_id].name

    def all_held(self, item: str) -> list[Held]:
        """What every annotator holds of an item, adjudication last."""
        if item not in self.by_item:
            return []
        people = self.by_item[item]
        if len(people) > 1:
            people = sorted(people, key=lambda who: who is None)
        return [held for who in people if (held := self.held((who, item))) is not None]

    def resolved(self, item: str) -> Held | None:
        """What holds for everybody: adjudication, else the label of most, else the latest."""
        held = self.all_held(item)
        if len(held) < 2 or held[-1].kind == ADJUDICATE:
            return held[-1] if held else None
        labels = [one for one in held if one.kind == LABEL]
        votes: dict[int | None, int] = defaultdict(int)
        for one in labels:
            votes[one.class_id] += 1
        most = [one for one in labels if votes[one.class_id] == max(votes.values())]
        return max(most or held, key=lambda one: one.seq)

    def answer(self, held: Held) -> Answer:
        label = self.label_of(held)
        return Answer(held.item, label, held.kind, held.annotator, held.time, held.note, held.seq)

    def _answered(self, event: Event) -> None:
        slot = slot_of(event)
        stack = self._stack(slot)
        stack.append(next_held(stack[-1] if stack else None, event))
        self.people.setdefault(event.annotator)
        self.done[event.annotator].append((event.seq, slot))
        self.undone[event.annotator].clear()

    def _take_back(self, event: Event) -> None:
        seq, slot = self.done[event.annotator].pop()
        self.undone[event.annotator].append((seq, slot, self.slots[slot].pop(self.place_of(slot, seq))))

    def _restore(self, event: Event) -> None:
        seq, slot, held = self.undone[event.annotator].pop()
        stack = self._stack(slot)
        stack.insert(self.place_again(slot, held), held)
        self.done[event.annotator].append((seq, slot))

    def place_of(self, slot: Slot, seq: int) -> int:
        """Where the answer of an event is in its slot: on top, but adjudications of others may be above it."""
        if slot[0] is not None:
            return len(self.slots[slot]) - 1
        return needed(next((place for place, held in enumerate(self.slots[slot]) if held.seq == seq), None))

    def place_again(self, slot: Slot, held: Held) -> int:
        """Where an answer that was taken back comes again: on top, but below later adjudications of others."""
        stack = self.slots.get(slot, [])
        return len(stack) if slot[0] is not None else sum(other.seq < held.seq for other in stack)

    def _stack(self, slot: Slot) -> list[Held]:
        if slot not in self.slots:
            self.slots[slot] = []
            self.by_item.setdefault(slot[1], []).append(slot[0])
            self.by_person.setdefault(slot[0], []).append(slot[1])
        return self.slots[slot]

    def _add_class(self, event: Event) -> None:
        self.classes.append(Class(needed(event.label), event.note, len(self.classes)))

    def _rename_class(self, event: Event) -> None:
        place = needed(event.class_id)
        self.classes[place] = replace(self.classes[place], name=needed(event.label))

    def _set_key(self, event: Event) -> None:
        place = needed(event.class_id)
        self.classes[place] = replace(self.classes[place], key=event.note)

    def _mark(self, marks: dict[str, int], event: Event) -> None:
        marks.setdefault(needed(event.item), event.seq)


def needed(value: Part | None) -> Part:
    """A part of an event that its kind cannot be without."""
    if value is None:
        raise LookupError("a part of it is missing")
    return value


def slot_of(event: Event) -> Slot:
    return (None if event.kind == ADJUDICATE else event.annotator), needed(event.item)


def next_held(before: Held | None, event: Event) -> Held:
    """What a slot holds after an answer. A note leaves the answer as it is; no note leaves the note as it is."""
    if before is not None and before.kind == CLEAR:
        before = None
    kept = before.note if before is not None and event.kind != CLEAR else None
    note = kept if event.note is None else event.note or None
    if event.kind == NOTE and before is not None:
        return replace(before, note=note) if note or before.kind != NOTE else replace(before, kind=CLEAR, note=None)
    kind = CLEAR if event.kind == NOTE and note is None else event.kind
    return Held(kind, event.class_id, note, event.annotator, needed(event.item), event.time, event.seq)
