"""Answers, undo, redo and adjudication: checks, and the events that record them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from bemps._utils.class_names import known_name
from bemps.errors import COMMAND_OPTIONS, NO_OPTIONS, InputError, unknown_name
from bemps.store import validation
from bemps.store.class_log.class_table import ClassTable, required_field
from bemps.store.events import (
    ADJUDICATE,
    ANSWERED,
    ANSWERS,
    AUDITED,
    CLEAR,
    LABEL,
    LATER,
    LEASED,
    LISTED,
    METHODS,
    MOST_LISTED,
    NOTE,
    REDO,
    SAME,
    UNDO,
    Event,
    ItemList,
    ListedAnswers,
    NewAnswer,
)
from bemps.store.state import Slot, State, StoredAnswer
from bemps.store.transaction import LogTransaction, read_step

LABELLED = (LABEL, ADJUDICATE)


def checked_answers(answers: Sequence[NewAnswer], original_of: Callable[[str], str]) -> list[NewAnswer]:
    """Check answers, and replace the ids of copies by those of their originals.

    `original_of` returns the original of an id, and refuses an unknown id.
    """
    originals = [_with_original(answer, original_of(answer.item)) for answer in answers]
    for answer in originals:
        _check(answer)
    requests = [(answer.annotator, answer.request) for answer in originals if answer.request is not None]
    if len(set(requests)) < len(requests):
        raise InputError("requests", expected="a different id for every answer", got="one twice", fix="Correct it.")
    return originals


def _with_original(answer: NewAnswer, item: str) -> NewAnswer:
    return answer if answer.item == item else replace(answer, item=item)


def _check(answer: NewAnswer) -> None:
    validation.name(answer.annotator, "annotator")
    validation.one_of(answer.kind, (*ANSWERS, ADJUDICATE), "kind of answer")
    validation.note(answer.note)
    if answer.method is not None:
        validation.one_of(answer.method, METHODS, "method of an answer")
    if answer.action is not None:
        validation.identifier(answer.action, "action")
    if answer.time is not None:
        validation.microseconds(answer.time)
    if (answer.label is not None) != (answer.kind in LABELLED):
        expected = "a label" if answer.kind in LABELLED else "no label"
        got = "none" if answer.label is None else repr(answer.label)
        raise InputError(
            f"answer {answer.kind!r} to {answer.item}", expected=expected, got=got, fix="Correct the answer."
        )
    if answer.kind == LATER and answer.note is not None:
        raise InputError(f"later of {answer.item}", expected="no note", got="one", fix="Record the note by itself.")
    if answer.kind == NOTE and answer.note is None:
        raise InputError(f"note on {answer.item}", expected="a text", got="none", fix='Give note="" to remove it.')


def record(transaction: LogTransaction, answers: Sequence[NewAnswer], *, hidden_too: bool = False) -> list[Event]:
    """Record checked answers, all or none. A repeated request records nothing.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    answers : sequence of NewAnswer
        The answers.
    hidden_too : bool
        Whether labels of hidden classes are taken: those of a file may be older than the hiding.

    Returns
    -------
    list of Event
        The events; that of the first request where one is repeated.
    """
    classes = transaction.state.classes
    numbers = classes.numbers()
    answers = [answer if answer.label is None else _of_class(classes, numbers, answer) for answer in answers]
    earlier = [_earlier(transaction, answer) for answer in answers]
    for answer, event in zip(answers, earlier, strict=True):
        if event is None and answer.label is not None:
            _refuse_class(transaction.state, numbers, answer, hidden_too)
    return [event or _say(transaction, answer) for answer, event in zip(answers, earlier, strict=True)]


def _of_class(classes: ClassTable, numbers: dict[str, int], answer: NewAnswer) -> NewAnswer:
    """An answer with the number of its class, and the present name where the sender gave the number."""
    if answer.class_id is None:
        label = known_name(str(answer.label), numbers)
        return replace(answer, label=label, class_id=numbers.get(label))
    return replace(answer, label=classes[answer.class_id].name) if answer.class_id in numbers.values() else answer


def _refuse_class(state: State, numbers: dict[str, int], answer: NewAnswer, hidden_too: bool) -> None:
    """Refuse a label of a class that is not there, or not offered."""
    on_page = COMMAND_OPTIONS.get() == NO_OPTIONS  # which shows the item by its text
    what, label = "label" if on_page else f"label of {answer.item}", str(answer.label)
    if answer.class_id is None:
        names = [known.name for known in state.classes if not known.is_hidden]
        raise unknown_name(what, label, names, "Choose another class." if on_page else "Or add the class first.")
    if answer.class_id not in numbers.values():
        got = f"{label!r}, which was deleted"
        raise InputError(what, expected="a class that is there", got=got, fix="Choose another class.")
    if not hidden_too and _is_new_and_hidden(state, answer):
        fix = "Choose another class, or show it again: Edit classes on the page, store.change_class in Python."
        raise InputError(what, expected="a class that is offered", got=f"{label!r}, hidden", fix=fix)


def _is_new_and_hidden(state: State, answer: NewAnswer) -> bool:
    """Whether an answer has a hidden class that no present answer to the item has; to confirm one is allowed."""
    number = state.classes.counted(required_field(answer.class_id))
    if not state.classes[number].is_hidden:
        return False
    return number not in {state.class_of(stored) for stored in state.stored_answers(answer.item)}


def _earlier(transaction: LogTransaction, answer: NewAnswer) -> Event | None:
    own = answer.item, answer.kind, answer.note

    def same(event: Event) -> bool:
        return (event.item, event.kind, event.note) == own and _has_class(event, answer.label, answer.class_id)

    return transaction.repeated(answer.annotator, answer.request, same)


def _has_class(event: Event, label: str | None, class_id: int | None) -> bool:
    """Whether an event has a class, which may have had another name then."""
    return event.label == label or (class_id is not None and event.class_id == class_id)


def _say(transaction: LogTransaction, answer: NewAnswer) -> Event:
    state = transaction.state
    slot = (None if answer.kind == ADJUDICATE else answer.annotator), answer.item
    if answer.kind not in (NOTE, CLEAR):
        transaction.leases.give_back(answer.item, answer.annotator)
    return transaction.add_event(
        answer.annotator,
        answer.kind,
        item=answer.item,
        class_id=None if answer.label is None else answer.class_id,
        label=answer.label,
        previous=state.label_of(state.stored_answer(slot)),
        note=answer.note,
        request=answer.request,
        method=answer.method,
        action=answer.action,
        time=answer.time,
    )


def check_list(items: Sequence[str]) -> None:
    """Refuse an empty list, and one that is too long to be looked through."""
    if not 0 < len(items) <= MOST_LISTED:
        expected = f"1 to {MOST_LISTED} items at once"
        raise InputError("list", expected=expected, got=f"{len(items):,}", fix="Label them in parts.")


def item_list(
    state: State, holders: Callable[[str], Collection[str]], annotator: str, items: Iterable[str], label: str | None
) -> ItemList:
    """Sort out the items that an annotator may label at once.

    Parameters
    ----------
    state : State
        The state of the project.
    holders : callable
        From an item to the annotators who have a lease on it.
    annotator : str
        Who labels.
    items : iterable of str
        The ids of the items.
    label : str or None
        The label that they are to get; None while it is not known.

    Returns
    -------
    ItemList
        The items, and how many were left out.
    """
    free: list[str] = []
    left_out: Counter[str] = Counter()
    for item in dict.fromkeys(items):
        reason = _reason_to_leave_out(state, set(holders(item)) - {annotator}, annotator, item, label)
        if reason is None:
            free.append(item)
        else:
            left_out[reason] += 1
    return ItemList(tuple(free), dict(left_out))


def _reason_to_leave_out(
    state: State, others: Collection[str], annotator: str, item: str, label: str | None
) -> str | None:
    """Audit items stay a fair sample, and what others have said or are about to say is theirs."""
    if item in state.audit:
        return AUDITED
    for answer in state.stored_answers(item):
        if answer.kind == ADJUDICATE or (answer.annotator != annotator and answer.kind != NOTE):
            return ANSWERED
    if others:
        return LEASED
    own = state.label_of(state.stored_answer((annotator, item)))
    return SAME if label is not None and own == label else None


def label_list(
    transaction: LogTransaction,
    annotator: str,
    items: Sequence[str],
    *,
    label: str,
    action: str,
    class_id: int | None = None,
) -> ListedAnswers:
    """Give one label to many items: one event each, one action.

    Parameters
    ----------
    transaction : LogTransaction
        The open transaction.
    annotator : str
        Who labels.
    items : sequence of str
        The ids of originals.
    label : str
        The name of the class.
    action : str
        The id of the action, which is also the id of the request.
    class_id : int, optional
        The number of the class, as in `NewAnswer`.

    Returns
    -------
    ListedAnswers
        The events, and how many items were left out.
    """
    classes = transaction.state.classes
    like = NewAnswer(annotator, "", LABEL, label, method=LISTED, action=action, class_id=class_id)
    like = _of_class(classes, classes.numbers(), like)
    first = transaction.repeated(
        annotator, action, lambda event: event.action == action and _has_class(event, like.label, like.class_id)
    )
    if first is not None:
        return ListedAnswers(tuple(read_step(transaction.connection, first)), {})
    transaction.leases.read(items)
    free = item_list(
        transaction.state, lambda item: transaction.leases.holders(item, transaction.now), annotator, items, like.label
    )
    answers = [replace(like, item=item, request=None if row else action) for row, item in enumerate(free.items)]
    return ListedAnswers(tuple(record(transaction, answers)), free.left_out)


def undo(transaction: LogTransaction, annotator: str, request: str | None) -> list[Event]:
    """Take back the last answer of an annotator, or all of their last action; the request is that of the first event.

    The events are those of the answers, the last answer first. There are none if there is nothing to undo.
    """
    first = transaction.repeated(annotator, request, lambda earlier: earlier.kind == UNDO)
    if first is not None:
        return read_step(transaction.connection, first)
    done = transaction.state.done.get(annotator, [])
    size = transaction.state.action_size(number for number, _ in reversed(done))
    return [_take_back(transaction, annotator, None if row else request) for row in range(size)]


def _take_back(transaction: LogTransaction, annotator: str, request: str | None) -> Event:
    target, slot = transaction.state.done[annotator][-1]
    stack = transaction.state.slots[slot]
    index = transaction.state.index_of(slot, target)
    rest = stack[:index] + stack[index + 1 :]
    after = rest[-1] if rest else None
    return _move(transaction, UNDO, slot, stack[-1], after, annotator=annotator, target=target, request=request)


def redo(transaction: LogTransaction, annotator: str, request: str | None) -> list[Event]:
    """Restore the answer that an annotator took back last, or all of an action; the request is that of the first event.

    The events are those of the answers, in the order in which they were given. There are none if there is nothing to
    restore.
    """
    first = transaction.repeated(annotator, request, lambda earlier: earlier.kind == REDO)
    if first is not None:
        return read_step(transaction.connection, first)
    undone = transaction.state.undone.get(annotator, [])
    size = transaction.state.action_size(number for number, _, _ in reversed(undone))
    return [_restore(transaction, annotator, None if row else request) for row in range(size)]


def _restore(transaction: LogTransaction, annotator: str, request: str | None) -> Event:
    target, slot, restored = transaction.state.undone[annotator][-1]
    before = transaction.state.stored_answer(slot)
    is_below = transaction.state.index_to_restore(slot, restored) < len(transaction.state.slots[slot])
    after = before if is_below else restored
    return _move(transaction, REDO, slot, before, after, annotator=annotator, target=target, request=request)


def _move(
    transaction: LogTransaction,
    kind: str,
    slot: Slot,
    before: StoredAnswer | None,
    after: StoredAnswer | None,
    *,
    annotator: str,
    target: int,
    request: str | None,
) -> Event:
    return transaction.add_event(
        annotator,
        kind,
        item=slot[1],
        class_id=None if after is None else after.class_id,
        label=transaction.state.label_of(after),
        previous=transaction.state.label_of(before),
        target=target,
        request=request,
        action=transaction.state.actions.get(target),
    )
