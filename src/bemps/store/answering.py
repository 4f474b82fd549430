"""Answers, undo, redo and adjudication: what may be said, and the events that say it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bemps.errors import InputError, unknown_name
from bemps.store import checked
from bemps.store.decision import Decision
from bemps.store.fold import Held, Slot
from bemps.store.words import ADJUDICATE, ANSWERS, CLEAR, LABEL, NOTE, REDO, UNDO, Event, Said

LABELLED = (LABEL, ADJUDICATE)


def checked_answers(said: Sequence[Said], known: Callable[[str], str]) -> list[Said]:
    """Refuse what no state of the project would allow; answers to a copy become answers to what stands for it.

    `known` gives the item that an id stands for, and refuses an id that no item has.
    """
    answers = [_of_original(one, known(one.item)) for one in said]
    for one in answers:
        _check(one)
    requests = [(one.annotator, one.request) for one in said if one.request is not None]
    if len(set(requests)) < len(requests):
        raise InputError("requests", expected="an id of its own for every answer", got="one twice", fix="Correct it.")
    return answers


def _of_original(said: Said, item: str) -> Said:
    return said if said.item == item else replace(said, item=item)


def _check(said: Said) -> None:
    checked.name(said.annotator, "annotator")
    checked.one_of(said.kind, (*ANSWERS, ADJUDICATE), "kind of answer")
    checked.note(said.note)
    if said.time is not None:
        checked.microseconds(said.time)
    if (said.label is not None) != (said.kind in LABELLED):
        expected = "a label" if said.kind in LABELLED else "no label"
        got = "none" if said.label is None else repr(said.label)
        raise InputError(f"answer {said.kind!r} to {said.item}", expected=expected, got=got, fix="Correct the answer.")
    if said.kind == NOTE and said.note is None:
        raise InputError(f"note on {said.item}", expected="a text", got="none", fix='Give note="" to remove it.')


def record(decision: Decision, said: Sequence[Said]) -> list[Event]:
    """The events of checked answers, new or of an earlier sending; nothing is said unless all of them can be."""
    codes = {known.name: code for code, known in enumerate(decision.state.classes)}
    earlier = [_earlier(decision, one) for one in said]
    for one, event in zip(said, earlier, strict=True):
        if event is None and one.label is not None and one.label not in codes:
            raise unknown_name(f"label of {one.item}", one.label, codes, "Or add the class first.")
    return [event or _say(decision, one, codes) for one, event in zip(said, earlier, strict=True)]


def _earlier(decision: Decision, said: Said) -> Event | None:
    own = said.item, said.kind, said.label, said.note
    return decision.repeated(said.annotator, said.request, lambda e: (e.item, e.kind, e.label, e.note) == own)


def _say(decision: Decision, said: Said, codes: dict[str, int]) -> Event:
    state = decision.state
    slot = (None if said.kind == ADJUDICATE else said.annotator), said.item
    if said.kind not in (NOTE, CLEAR):
        decision.leases.give_back(said.item, said.annotator)
    return decision.say(
        said.annotator,
        said.kind,
        item=said.item,
        class_id=None if said.label is None else codes[said.label],
        label=said.label,
        previous=state.label_of(state.held(slot)),
        note=said.note,
        request=said.request,
        time=said.time,
    )


def undo(decision: Decision, annotator: str, request: str | None) -> Event | None:
    """Take back the annotator's last answer."""
    event = decision.repeated(annotator, request, lambda found: found.kind == UNDO)
    done = decision.state.done.get(annotator)
    if event is not None or not done:
        return event
    target, slot = done[-1]
    stack = decision.state.slots[slot]
    place = decision.state.place_of(slot, target)
    rest = stack[:place] + stack[place + 1 :]
    after = rest[-1] if rest else None
    return _move(decision, UNDO, slot, stack[-1], after, annotator=annotator, target=target, request=request)


def redo(decision: Decision, annotator: str, request: str | None) -> Event | None:
    """Restore what the annotator took back last."""
    event = decision.repeated(annotator, request, lambda found: found.kind == REDO)
    undone = decision.state.undone.get(annotator)
    if event is not None or not undone:
        return event
    target, slot, restored = undone[-1]
    before = decision.state.held(slot)
    is_below = decision.state.place_again(slot, restored) < len(decision.state.slots[slot])
    after = before if is_below else restored
    return _move(decision, REDO, slot, before, after, annotator=annotator, target=target, request=request)


def _move(
    decision: Decision,
    kind: str,
    slot: Slot,
    before: Held | None,
    after: Held | None,
    *,
    annotator: str,
    target: int,
    request: str | None,
) -> Event:
    return decision.say(
        annotator,
        kind,
        item=slot[1],
        class_id=None if after is None else after.class_id,
        label=decision.state.label_of(after),
        previous=decision.state.label_of(before),
        target=target,
        request=request,
    )
