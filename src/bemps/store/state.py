"""The state of a project, computed from its log: each event is applied once, in order.

Every annotator has one slot for each item. Adjudications have slots of their own. A slot is a stack of answers, and
undo removes one. Undo takes back an annotator's own last answer, whatever others have done meanwhile.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from bemps.errors import InputError
from bemps.store.class_log.class_table import ClassTable, required_field
from bemps.store.events import (
    ADD_CLASS,
    ADJUDICATE,
    ANSWERS,
    AUDIT,
    CLASS_EVENTS,
    CLEAR,
    LABEL,
    LATER,
    NOTE,
    OVERLAP,
    REDO,
    UNDO,
    Answer,
    Event,
)
from bemps.store.sql.database_errors import damaged

OF_A_CLASS = (LABEL, ADJUDICATE, *CLASS_EVENTS)
Slot = tuple[str | None, str]  # annotator (None: adjudication) and item


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer in a slot after an event.

    Attributes
    ----------
    kind : str
        The kind of the answer. `clear` stands for no answer.
    class_id : int or None
        The number of the class.
    note : str or None
        The note.
    annotator : str
        Who answered.
    item : str
        The id of the item.
    time : datetime
        When.
    seq : int
        The number of the event.
    method : str or None
        How the answer was made.
    is_postponed : bool
        Whether the annotator wants to be asked later. It is no answer.
    """

    kind: str
    class_id: int | None
    note: str | None
    annotator: str
    item: str
    time: datetime
    seq: int
    method: str | None = None
    is_postponed: bool = False


class State:
    """The state after the events up to `seq`."""

    def __init__(self) -> None:
        self.seq = 0
        self.classes = ClassTable()
        self.audit: dict[str, int] = {}
        self.overlap: dict[str, int] = {}
        self.people: dict[str, None] = {}
        self.slots: dict[Slot, list[StoredAnswer]] = {}
        self.by_item: dict[str, list[str | None]] = {}
        self.by_person: dict[str | None, list[str]] = {}
        self.done: dict[str, list[tuple[int, Slot]]] = defaultdict(list)
        self.undone: dict[str, list[tuple[int, Slot, StoredAnswer]]] = defaultdict(list)
        self.requests: dict[tuple[str, str], Event] = {}
        self.actions: dict[int, str] = {}  # of answers that are a part of one, by their number in the log
        self._rules: dict[str, Callable[[Event], None]] = {
            **dict.fromkeys((*ANSWERS, ADJUDICATE), self._answered),
            UNDO: self._take_back,
            REDO: self._restore,
            **dict.fromkeys(CLASS_EVENTS, self.classes.apply),
            AUDIT: lambda event: self._mark(self.audit, event),
            OVERLAP: lambda event: self._mark(self.overlap, event),
        }

    def apply(self, events: Iterable[Event]) -> None:
        """Apply events in order. Events that were applied before are skipped."""
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
        """Apply the rule of an event. An event that cannot follow the present state is damage."""
        limit = self.classes.count + (event.kind == ADD_CLASS)
        try:
            if event.class_id is not None and not 0 <= event.class_id < limit:
                raise LookupError("its class is not there")
            if event.class_id is None and event.kind in OF_A_CLASS:
                raise LookupError("it has no class")
            self._rules[event.kind](event)
        except LookupError as error:  # also of lists and dicts: no answer to take back, no such index
            raise damaged(f"event {event.seq}", "one that can follow those before it", str(error)) from error

    def stored_answer(self, slot: Slot) -> StoredAnswer | None:
        """Return the answer in a slot; None if it is empty or cleared."""
        stack = self.slots.get(slot)
        return stack[-1] if stack and stack[-1].kind != CLEAR else None

    def postponed(self, annotator: str) -> dict[str, int]:
        """Return the items that an annotator wants to be asked later, and how many answers they gave since."""
        done = self.done.get(annotator, [])
        items = {}
        for index, (_, slot) in enumerate(done):
            if slot[0] is not None and self.slots[slot][-1].is_postponed:
                items[slot[1]] = len(done) - 1 - index
        return items

    def used_classes(self) -> frozenset[int]:
        """Return the numbers of the classes that an answer has, also one that undo or redo could bring back."""
        stored = {answer.class_id for stack in self.slots.values() for answer in stack}
        undone = {answer.class_id for steps in self.undone.values() for _, _, answer in steps}
        return frozenset(number for number in stored | undone if number is not None)

    def label_of(self, answer: StoredAnswer | None) -> str | None:
        """Return the present name of the class of an answer."""
        return None if answer is None or answer.class_id is None else self.classes.name_of(answer.class_id)

    def class_of(self, answer: StoredAnswer) -> int | None:
        """Return the number of the class that an answer counts for: that which its own was merged into."""
        return None if answer.class_id is None else self.classes.counted(answer.class_id)

    def stored_answers(self, item: str) -> list[StoredAnswer]:
        """Return the present answers to an item, the adjudication last."""
        if item not in self.by_item:
            return []
        people = self.by_item[item]
        if len(people) > 1:
            people = sorted(people, key=lambda who: who is None)
        return [answer for who in people if (answer := self.stored_answer((who, item))) is not None]

    def resolved_answer(self, item: str) -> StoredAnswer | None:
        """Return the answer that counts: the adjudication, else the label of most annotators, else the latest."""
        answers = self.stored_answers(item)
        if len(answers) < 2 or answers[-1].kind == ADJUDICATE:
            return answers[-1] if answers else None
        labels = [answer for answer in answers if answer.kind == LABEL]
        votes: dict[int | None, int] = defaultdict(int)
        for answer in labels:
            votes[self.class_of(answer)] += 1
        most = [answer for answer in labels if votes[self.class_of(answer)] == max(votes.values())]
        return max(most or answers, key=lambda answer: answer.seq)

    def answer(self, stored: StoredAnswer) -> Answer:
        """Return a stored answer with the present name of its class."""
        label = self.label_of(stored)
        return Answer(
            stored.item, label, stored.kind, stored.annotator, stored.time, stored.note, stored.seq, stored.method
        )

    def _answered(self, event: Event) -> None:
        slot = slot_of(event)
        stack = self._stack(slot)
        stack.append(next_answer(stack[-1] if stack else None, event))
        self.people.setdefault(event.annotator)
        if event.action is not None:
            self.actions[event.seq] = event.action
        self.done[event.annotator].append((event.seq, slot))
        self.undone[event.annotator].clear()

    def _take_back(self, event: Event) -> None:
        seq, slot = self.done[event.annotator].pop()
        self.undone[event.annotator].append((seq, slot, self.slots[slot].pop(self.index_of(slot, seq))))

    def _restore(self, event: Event) -> None:
        seq, slot, answer = self.undone[event.annotator].pop()
        stack = self._stack(slot)
        stack.insert(self.index_to_restore(slot, answer), answer)
        self.done[event.annotator].append((seq, slot))

    def action_size(self, answers: Iterable[int]) -> int:
        """Return how many of these answers are one step of undo or redo: the first, and those of its action after it.

        The answers are numbers in the log, the next to be taken back or restored first.
        """
        numbers = iter(answers)  # not all of them are looked at: people give many
        first = next(numbers, None)
        if first is None:
            return 0
        action = self.actions.get(first)
        rest = takewhile(lambda number: action is not None and self.actions.get(number) == action, numbers)
        return 1 + sum(1 for _ in rest)

    def index_of(self, slot: Slot, seq: int) -> int:
        """Return the index of an event's answer in its slot: the last, unless later adjudications of others follow."""
        if slot[0] is not None:
            return len(self.slots[slot]) - 1
        return required_field(next((index for index, answer in enumerate(self.slots[slot]) if answer.seq == seq), None))

    def index_to_restore(self, slot: Slot, answer: StoredAnswer) -> int:
        """Return the index for a restored answer: the end, but before later adjudications of others."""
        stack = self.slots.get(slot, [])
        return len(stack) if slot[0] is not None else sum(other.seq < answer.seq for other in stack)

    def _stack(self, slot: Slot) -> list[StoredAnswer]:
        if slot not in self.slots:
            self.slots[slot] = []
            self.by_item.setdefault(slot[1], []).append(slot[0])
            self.by_person.setdefault(slot[0], []).append(slot[1])
        return self.slots[slot]

    def _mark(self, marks: dict[str, int], event: Event) -> None:
        marks.setdefault(required_field(event.item), event.seq)


def slot_of(event: Event) -> Slot:
    """Return the slot of an answer event."""
    return (None if event.kind == ADJUDICATE else event.annotator), required_field(event.item)


def next_answer(before: StoredAnswer | None, event: Event) -> StoredAnswer:
    """Return the answer in a slot after an event. A note alone keeps the answer; an answer alone keeps the note.

    `later` keeps both: it never takes an answer back.
    """
    was_postponed = before is not None and before.is_postponed
    if before is not None and before.kind == CLEAR:
        before = None
    if event.kind == LATER and before is not None:
        return replace(before, is_postponed=before.kind == NOTE)
    old_note = before.note if before is not None and event.kind != CLEAR else None
    note = old_note if event.note is None else event.note or None
    if event.kind == NOTE and before is not None:
        return replace(before, note=note) if note or before.kind != NOTE else replace(before, kind=CLEAR, note=None)
    kind = CLEAR if event.kind == LATER or (event.kind == NOTE and note is None) else event.kind
    item = required_field(event.item)
    later = event.kind == LATER or (event.kind == NOTE and was_postponed)
    return StoredAnswer(kind, event.class_id, note, event.annotator, item, event.time, event.seq, event.method, later)
