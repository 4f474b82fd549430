"""The page's own requests: the next items, answers, undo and redo, classes, names. JSON in, JSON out."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from bemps.server.engine import Engine
from bemps.server.http import annotator_names
from bemps.server.panels.keys import check_key
from bemps.server.queue.known_people import known_person
from bemps.server.routes.route_values import (
    Annotator,
    ClassNumber,
    Name,
    RequestId,
    TheEngine,
    answer_as_json,
    items_as_json,
    offered,
    state_of,
    with_classes,
)
from bemps.server.suggestions.suggestion_quality import check_accepted
from bemps.store import NewAnswer
from bemps.store.events import ADJUDICATE
from bemps.store.validation import LONGEST_NAME, LONGEST_NOTE

router = APIRouter(prefix="/api")
ClassName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME)]


class Wanted(BaseModel):
    """A request for further items.

    Attributes
    ----------
    have : list of str
        The items that the browser has, also those whose answers are on their way to the server.
    back : list of str
        The items that the browser gives back.
    n : int
        The number of further items that the browser wants.
    """

    have: list[Name] = Field(default=[], max_length=50)
    back: list[Name] = Field(default=[], max_length=50)
    n: int = Field(default=1, ge=0, le=20)


class Again(BaseModel):
    """The ids of items that the browser has."""

    ids: list[Name] = Field(max_length=50)


class Answered(BaseModel):
    """An answer to an item.

    Attributes
    ----------
    item : str
        The id of the item.
    kind : {'label', 'skip', 'unsure', 'note', 'clear', 'later'}
        The kind of the answer.
    label : str or None
        The name of the class, if the answer is a label.
    class_id : int or None
        The number of the class. It holds whatever the class is called meanwhile.
    note : str or None
        A remark of the annotator.
    request : str
        The id of the request. A second request with the same id changes nothing.
    method : {'suggested'} or None
        Whether a suggestion was accepted. Audit items have none.
    """

    item: Name
    kind: Literal["label", "skip", "unsure", "note", "clear", "later"]
    label: Name | None = None
    class_id: ClassNumber = None
    note: Annotated[str, Field(max_length=LONGEST_NOTE)] | None = None
    request: RequestId
    method: Literal["suggested"] | None = None


class Step(BaseModel):
    """A request to undo or redo."""

    request: RequestId


class NewClass(BaseModel):
    """The name of a new class."""

    name: ClassName


class TakenName(BaseModel):
    """The name that an annotator takes; `is_confirmed` if they said that they are who has it already."""

    name: ClassName
    is_confirmed: bool = False


class Renamed(BaseModel):
    """The old and the new name of a class."""

    old: Name
    new: ClassName


class Key(BaseModel):
    """A class and the key that selects it; an empty key removes it."""

    name: Name
    key: str = Field(max_length=10)


class Settled(BaseModel):
    """The label that settles a disagreement.

    Attributes
    ----------
    item : str
        The id of the item.
    label : str
        The name of the class.
    class_id : int, optional
        The number of the class. It holds whatever the class is called meanwhile.
    request : str
        The id of the request. A second request with the same id changes nothing.
    instead_of : int, optional
        The number of the decision that the page showed. One that was made meanwhile is not replaced.
    """

    item: Name
    label: Name
    class_id: ClassNumber = None
    request: RequestId
    instead_of: int | None = None


@router.post("/next")
async def next_items(request: Wanted, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Return the next items, for a browser that has some already."""
    items = await engine.next(annotator, request.have, request.n, request.back)
    answer = {
        "items": await offered(items, engine, annotator),
        "left": engine.schedule.left_for(annotator),
        "others": engine.schedule.unfinished,
        "held": 0 if items else engine.lending.held_by_others(annotator),
    }
    return JSONResponse(answer | {"orders": engine.model_status.orders} | state_of(engine, annotator))


@router.post("/items")
async def items_again(request: Again, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Return items that the browser has once more, as they are shown now."""
    items = await engine.read(lambda: list(engine.store.items(request.ids)))
    return JSONResponse({"items": await offered(items, engine, annotator)})


@router.post("/answer")
async def answer(answered: Answered, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Record an answer, and acknowledge it when it is safely stored."""
    if answered.method is not None:
        check_accepted(answered.item, answered.kind, engine)
    new_answer = NewAnswer(
        annotator,
        answered.item,
        answered.kind,
        answered.label,
        answered.note,
        answered.request,
        method=answered.method,
        class_id=answered.class_id,
    )
    event = await engine.answer(new_answer)
    stored = {"saved": True, "seq": event.seq, "label": event.label, "previous": event.previous}
    return JSONResponse(stored | state_of(engine, annotator))


@router.post("/undo")
async def undo(step: Step, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Take back the last answer of the annotator, or all answers of their last action."""
    return await _step("undo", step, annotator, engine)


@router.post("/redo")
async def redo(step: Step, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Restore the answer that the annotator took back last, or all answers of an action."""
    return await _step("redo", step, annotator, engine)


async def _step(which: str, step: Step, annotator: str, engine: Engine) -> JSONResponse:
    moved = await engine.step(annotator, which, step.request)
    if moved is None:
        return JSONResponse({"item": None} | state_of(engine))
    was = {"was": {"kind": moved.kind, "label": moved.label}}
    if len(moved.events) > 1:
        items = [event.item for event in moved.events]
        return JSONResponse(was | {"item": None, "items": items} | state_of(engine))
    item = await engine.item(str(moved.events[0].item))
    answers = await engine.read(lambda: engine.store.answers_of(item.id))
    own = next((a for a in answers if a.annotator == annotator and a.kind != ADJUDICATE), None)
    decision = next((a for a in answers if a.kind == ADJUDICATE), None)
    now = {"answer": answer_as_json(own), "decision": answer_as_json(decision)}
    return JSONResponse(was | now | {"item": (await items_as_json([item], engine))[0]} | state_of(engine))


@router.post("/class")
async def add_class(new: NewClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Add a class."""
    await engine.change_classes(lambda: engine.store.add_class(new.name, annotator))
    return with_classes(engine)


@router.post("/class/rename")
async def rename_class(names: Renamed, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Rename a class."""
    await engine.change_classes(lambda: engine.store.rename_class(names.old, names.new, annotator))
    return with_classes(engine)


@router.post("/class/key")
async def set_key(change: Key, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Set or remove the key of a class."""
    key = check_key(change.key, change.name, engine.class_view.keys()) if change.key.strip() else None
    await engine.change_classes(lambda: engine.store.set_key(change.name, key, annotator))
    return with_classes(engine)


@router.post("/adjudicate")
async def adjudicate(settled: Settled, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Record the label that settles a disagreement."""
    answer = NewAnswer(
        annotator, settled.item, "adjudicate", settled.label, None, settled.request, class_id=settled.class_id
    )
    await engine.adjudicate(answer, settled.instead_of)
    return JSONResponse(state_of(engine))


@router.post("/name")
async def name(taken: TakenName, request: Request, engine: TheEngine) -> JSONResponse:
    """Check the name of the annotator, and let the browser remember it. A name that somebody has needs a yes."""
    own = annotator_names.checked_name(taken.name)
    if not taken.is_confirmed and own != annotator_names.name_of(request, None):
        known = await engine.read(lambda: known_person(engine.lending, own))
        if known is not None:
            return JSONResponse({"name": known.name, "question": known.words})
    answer = JSONResponse({"name": own})
    annotator_names.remember(answer, own, request)
    return answer
