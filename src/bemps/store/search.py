"""Search of items by text, class, annotator and state."""

from collections.abc import Callable, Iterable, Sequence

from bemps.errors import InputError, unknown_name
from bemps.store import validation
from bemps.store.events import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE, Answer, Page, Row
from bemps.store.log import Log
from bemps.store.state import State
from bemps.store.stored_items import StoredItems

Answers = dict[str, Answer]
BY_ANSWER: dict[str, Callable[[Answer], bool]] = {
    "answered": lambda answer: answer.kind != NOTE,
    "labelled": lambda answer: answer.kind in (LABEL, ADJUDICATE),
    "skipped": lambda answer: answer.kind == SKIP,
    "unsure": lambda answer: answer.kind == UNSURE,
    "noted": lambda answer: answer.note is not None,
}
ORDERS = ("position", "latest")


def disputed(state: State) -> list[str]:
    """Return the items with labels of different classes and no adjudication."""
    items = []
    for item, people in state.by_item.items():
        if len(people) > 1:
            answers = state.stored_answers(item)
            classes = {state.class_of(answer) for answer in answers if answer.kind == LABEL}
            if len(classes) > 1 and answers[-1].kind != ADJUDICATE:
                items.append(item)
    return items


def confirmed(state: State) -> frozenset[str]:
    """Items whose label was given twice: by one person in a row, by two people, or decided."""
    return frozenset(item for item, people in state.by_item.items() if _is_confirmed(state, item, people))


def _is_confirmed(state: State, item: str, people: Iterable[str | None]) -> bool:
    stacks = [state.slots[person, item] for person in people if state.slots[person, item]]
    latest = [stack[-1] for stack in stacks if stack[-1].kind in (LABEL, ADJUDICATE)]
    twice = [stack[-2:] for stack in stacks if [answer.kind for answer in stack[-2:]] == [LABEL, LABEL]]
    again = any(state.class_of(first) == state.class_of(second) and first.seq != second.seq for first, second in twice)
    agreed = len(latest) > 1 and len({state.class_of(answer) for answer in latest}) == 1
    return again or agreed or any(answer.kind == ADJUDICATE for answer in latest)


BY_STATE: dict[str, Callable[[State], Iterable[str]]] = {
    "audit": lambda state: state.audit,
    "overlap": lambda state: state.overlap,
    "disagreement": disputed,
}
STATES = (*BY_ANSWER, *BY_STATE, "unanswered")


def search(
    log: Log,
    items: StoredItems,
    *,
    text: str,
    columns: Sequence[str],
    label: str | None,
    annotator: str | None,
    state: str | None,
    order: str,
    limit: int,
    offset: int,
) -> Page:
    """Return a page of the items that match every filter.

    Parameters
    ----------
    log : Log
        The log of the project.
    items : StoredItems
        Its items.
    text, columns, label, annotator, state, order, limit, offset
        As in `Store.search`.

    Returns
    -------
    Page
        Items with their answers, and the number of all matches.
    """
    validation.text(text, "search")
    _check(state, order, limit, offset)
    answers = log.resolved_answers() if annotator is None else own_answers(log, annotator)
    matching = _matching_ids(log, answers, label, annotator, state)
    ids = (
        items.containing(text, columns)
        if text
        else items.ids()
        if matching is None
        else sorted_by_position(items, matching)
    )
    if matching is not None and text:
        ids = [id for id in ids if id in matching]
    if state == "unanswered":
        ids = [id for id in ids if id not in answers or answers[id].kind == NOTE]
    if order == "latest":
        ids = sorted(ids, key=lambda id: -answers[id].seq if id in answers else 0)
    rows = tuple(Row(item, answers.get(item.id)) for item in items.at(ids[offset : offset + limit]))
    return Page(rows, len(ids))


def own_answers(log: Log, annotator: str) -> Answers:
    """Return the present answers of one annotator, by item."""
    with log.state() as state:
        stored = (state.stored_answer((annotator, item)) for item in state.by_person.get(annotator, ()))
        return {answer.item: state.answer(answer) for answer in stored if answer is not None}


def sorted_by_position(items: StoredItems, ids: set[str]) -> list[str]:
    """Sort ids by the position of their items."""
    return sorted(ids, key=items.position)


def _matching_ids(
    log: Log, answers: Answers, label: str | None, annotator: str | None, state: str | None
) -> set[str] | None:
    """The ids that the filters leave; None: all of them."""
    sets: list[set[str]] = []
    if label is not None:
        sets.append({id for id, answer in answers.items() if answer.label == label})
    if state in BY_ANSWER:
        sets.append({id for id, answer in answers.items() if BY_ANSWER[state](answer)})
    elif state in BY_STATE:
        with log.state() as now:
            sets.append(set(BY_STATE[state](now)))
    elif annotator is not None and state is None:
        sets.append(set(answers))
    return set.intersection(*sets) if sets else None


def _check(state: str | None, order: str, limit: int, offset: int) -> None:
    if state is not None:
        validation.one_of(state, STATES, "state")
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if limit < 1 or offset < 0:
        got = f"limit {limit}, offset {offset}"
        raise InputError("page", expected="a limit of 1 or more, an offset of 0 or more", got=got, fix="Correct it.")
