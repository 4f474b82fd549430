"""The log alone is the truth: whatever is done, replaying it gives the state that was kept on the way."""

import tempfile
from collections import Counter
from itertools import takewhile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bemps.store import Item, NewAnswer, open_store
from bemps.store.state import State

MEMORY = Path("/dev/shm")  # no disk to wait for
PEOPLE, ITEMS = ("ann", "bob"), ("i0", "i1", "i2")
WHAT = ("label0", "label1", "skip", "unsure", "clear", "note", "unnote")
acts = st.one_of(
    st.tuples(st.just("answer"), st.sampled_from(PEOPLE), st.sampled_from(ITEMS), st.sampled_from(WHAT)),
    st.tuples(st.sampled_from(["undo", "redo"]), st.sampled_from(PEOPLE)),
    st.tuples(
        st.just("list"), st.sampled_from(PEOPLE), st.lists(st.sampled_from(ITEMS), min_size=1), st.integers(0, 1)
    ),
    st.tuples(st.just("adjudicate"), st.sampled_from(PEOPLE), st.sampled_from(ITEMS), st.integers(0, 1)),
    st.tuples(st.just("rename"), st.integers(0, 1)),
    st.tuples(st.just("audit"), st.sampled_from(ITEMS)),
)


class Model:
    """The same thing said plainly: keep every answer, cross out what was undone, and read what is left in order."""

    def __init__(self):
        self.answers, self.crossed, self.redoable, self.names, self.audit = [], set(), {}, ["c0", "c1"], set()
        self.actions = {}  # of an answer that was given with others at once

    def add_event(self, who, item, kind, label=None, note=None):
        self.answers.append((who, item, kind, label, note))
        self.redoable[who] = []

    def undo(self, who):
        own = [i for i, answer in enumerate(self.answers) if answer[0] == who and i not in self.crossed]
        for last in self.together(own[::-1]):
            self.crossed.add(last)
            self.redoable.setdefault(who, []).append(last)

    def redo(self, who):
        for last in self.together(self.redoable.get(who, [])[::-1]):
            self.redoable[who].remove(last)
            self.crossed.discard(last)

    def together(self, places):
        """The first of these, and those of its action that follow it."""
        if not places or places[0] not in self.actions:
            return places[:1]
        return list(takewhile(lambda place: self.actions.get(place) == self.actions[places[0]], places))

    def slots(self):
        """What each annotator says of each item, and adjudications: (kind, class, note, place in the order)."""
        held = {}
        for place, (who, item, kind, label, note) in enumerate(self.answers):
            if place in self.crossed:
                continue
            slot = (None if kind == "adjudicate" else who, item)
            before = held.get(slot, (None, None, None, place))
            new_note = before[2] if note is None else note or None
            if kind == "clear":
                held[slot] = (None, None, None, place)
            elif kind != "note":
                held[slot] = (kind, label, new_note, place)
            elif before[0] in (None, "note"):
                held[slot] = ("note" if new_note else None, None, new_note, before[3] if before[0] else place)
            else:
                held[slot] = (before[0], before[1], new_note, before[3])
        return {slot: what for slot, what in held.items() if what[0] is not None}

    def current(self):
        slots, found = self.slots(), {}
        for item in ITEMS:
            own = {who: what for (who, of), what in slots.items() if of == item}
            labels = [what for what in own.values() if what[0] == "label"]
            if None in own:
                found[item] = own[None]
            elif labels:
                votes = Counter(what[1] for what in labels)
                found[item] = max((votes[what[1]], what[3], what) for what in labels)[2]
            elif own:
                found[item] = max(own.values(), key=lambda what: what[3])
        names = {None: None, 0: self.names[0], 1: self.names[1]}
        return {item: (kind, names[code], note) for item, (kind, code, note, _) in found.items()}


def play(store, model, act):
    kind, *rest = act
    if kind == "answer":
        who, item, what = rest
        if what.startswith("label"):
            store.answer(who, item, "label", model.names[int(what[-1])])
            model.add_event(who, item, "label", int(what[-1]))
        elif what.endswith("note"):
            note = "" if what == "unnote" else f"note {len(model.answers)}"
            store.answer(who, item, "note", note=note)
            model.add_event(who, item, "note", note=note)
        else:
            store.answer(who, item, what)
            model.add_event(who, item, what)
    elif kind in ("undo", "redo"):
        before = store.change_token()
        events = getattr(store, f"{kind}_action")(*rest)
        assert len(events) == store.change_token() - before
        getattr(model, kind)(*rest)
    elif kind == "list":
        who, items, code = rest
        action = f"action {len(model.answers)}"
        store.record(
            [NewAnswer(who, item, "label", model.names[code], method="listed", action=action) for item in items]
        )
        for item in items:
            model.actions[len(model.answers)] = action
            model.add_event(who, item, "label", code)
    elif kind == "adjudicate":
        who, item, code = rest
        store.adjudicate(item, model.names[code], who)
        model.add_event(who, item, "adjudicate", code)
    elif kind == "rename":
        new = f"c{rest[0]} renamed {len(store.events())}"
        store.rename_class(model.names[rest[0]], new, "lead")
        model.names[rest[0]] = new
    else:
        store.mark_audit(rest)
        model.audit.add(rest[0])


def state_of(store):
    current = {item: (a.kind, a.label, a.note) for item, a in store.current().items()}
    return current, store.current(), store.answers(), store.classes(), store.audit(), store.disagreements()


@settings(max_examples=60, deadline=None)
@given(st.lists(acts, max_size=40), st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_replay_equals_what_was_kept_on_the_way(sequence, sizes):
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        model = Model()
        with open_store(f"{folder}/p.bemps", create=True) as store, open_store(f"{folder}/p.bemps") as beside:
            for name in model.names:
                store.add_class(name, "lead")
            store.add_items(Item(id, id) for id in ITEMS)
            for number, act in enumerate(sequence):
                play(beside if number % 3 == 2 else store, model, act)  # a page and a notebook at once
                assert state_of(store)[0] == model.current()
            with open_store(f"{folder}/p.bemps") as again:
                assert state_of(again) == state_of(store) == state_of(beside)
                assert again.audit() == model.audit
            events, parts = store.events(), State()
        start = 0
        for size in sizes * len(events):  # the log in pieces of any size
            parts.apply(events[max(0, start - 1) : start + size])
            start += size
        whole = State()
        whole.apply(events)
        assert {item: parts.resolved_answer(item) for item in ITEMS} == {
            item: whole.resolved_answer(item) for item in ITEMS
        }
