"""Finding items by text, class, annotator and state."""

from collections.abc import Callable, Iterable

from bemps.errors import InputError, unknown_name
from bemps.store import checked
from bemps.store.fold import State
from bemps.store.items import Items
from bemps.store.log import Log
from bemps.store.words import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE, Answer, Page, Row

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
    """Items with labels of different classes and no adjudication."""
    found = []
    for item, people in state.by_item.items():
        if len(people) > 1:
            held = state.all_held(item)
            classes = {one.class_id for one in held if one.kind == LABEL}
            if len(classes) > 1 and held[-1].kind != ADJUDICATE:
                found.append(item)
    return found


BY_STATE: dict[str, Callable[[State], Iterable[str]]] = {
    "audit": lambda state: state.audit,
    "overlap": lambda state: state.overlap,
    "disagreement": disputed,
}
STATES = (*BY_ANSWER, *BY_STATE, "unanswered")


def search(
    log: Log,
    items: Items,
    *,
    text: str,
    label: str | None,
    annotator: str | None,
    state: str | None,
    order: str,
    limit: int,
    offset: int,
) -> Page:
    """A page of what was found."""
    checked.text(text, "search")
    _check(state, order, limit, offset)
    answers = log.resolved() if annotator is None else own_answers(log, annotator)
    wanted = _chosen(log, answers, label, annotator, state)
    found = items.containing(text) if text else items.ids() if wanted is None else in_order(items, wanted)
    if wanted is not None and text:
        found = [id for id in found if id in wanted]
    if state == "unanswered":
        found = [id for id in found if id not in answers or answers[id].kind == NOTE]
    if order == "latest":
        found = sorted(found, key=lambda id: -answers[id].seq if id in answers else 0)
    rows = tuple(Row(item, answers.get(item.id)) for item in items.at(found[offset : offset + limit]))
    return Page(rows, len(found))


def own_answers(log: Log, annotator: str) -> Answers:
    """What one annotator says, by item."""
    with log.state() as state:
        held = (state.held((annotator, item)) for item in state.by_person.get(annotator, ()))
        return {one.item: state.answer(one) for one in held if one is not None}


def in_order(items: Items, ids: set[str]) -> list[str]:
    return sorted(ids, key=items.position)


def _chosen(log: Log, answers: Answers, label: str | None, annotator: str | None, state: str | None) -> set[str] | None:
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
        checked.one_of(state, STATES, "state")
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if limit < 1 or offset < 0:
        got = f"limit {limit}, offset {offset}"
        raise InputError("page", expected="a limit of 1 or more, an offset of 0 or more", got=got, fix="Correct it.")
