"""The page's own requests: undo and redo, classes, names. JSON in, JSON out. The frequent ones are in `hot`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from bemps.serve import people
from bemps.serve.engine import Engine
from bemps.serve.hot import Name, RequestId
from bemps.serve.keys import check_key
from bemps.serve.viewing import as_json, classes_of, engine_of, state_of
from bemps.store import Said

router = APIRouter(prefix="/api")


async def annotator_of(request: Request) -> str:
    """Who answers; refused without a name."""
    return people.required_name(request, request.app.state.serving.annotator)


async def the_engine(request: Request) -> Engine:
    return engine_of(request)


# not plain functions: those would be run in a thread each time
Annotator = Annotated[str, Depends(annotator_of)]
TheEngine = Annotated[Engine, Depends(the_engine)]


class Step(BaseModel):
    request: RequestId


class NewClass(BaseModel):
    name: Name


class Renamed(BaseModel):
    old: Name
    new: Name


class Key(BaseModel):
    name: Name
    key: str = Field(max_length=10)


class Settled(BaseModel):
    item: Name
    label: Name
    request: RequestId


@router.post("/undo")
async def undo(step: Step, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    return await _step("undo", step, annotator, engine)


@router.post("/redo")
async def redo(step: Step, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    return await _step("redo", step, annotator, engine)


async def _step(which: str, step: Step, annotator: str, engine: Engine) -> JSONResponse:
    moved = await engine.step(annotator, which, step.request)
    if moved is None:
        return JSONResponse({"item": None} | state_of(engine))
    event, was = moved
    item = await engine.item(str(event.item))
    answers = await engine.read(lambda: engine.store.answers_of(item.id))
    note = next((own.note for own in answers if own.annotator == annotator), None)
    step_back = {"item": as_json(item, engine), "was": was, "label": event.label, "note": note}
    return JSONResponse(step_back | state_of(engine))


@router.post("/class")
async def add_class(new: NewClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    await engine.change_classes(lambda: engine.store.add_class(new.name, annotator))
    return _with_classes(engine)


@router.post("/class/rename")
async def rename_class(names: Renamed, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    await engine.change_classes(lambda: engine.store.rename_class(names.old, names.new, annotator))
    return _with_classes(engine)


@router.post("/class/key")
async def set_key(chosen: Key, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    key = check_key(chosen.key, chosen.name, engine.keys()) if chosen.key.strip() else None
    await engine.change_classes(lambda: engine.store.set_key(chosen.name, key, annotator))
    return _with_classes(engine)


@router.post("/adjudicate")
async def adjudicate(settled: Settled, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    await engine.adjudicate(Said(annotator, settled.item, "adjudicate", settled.label, None, settled.request))
    return JSONResponse(state_of(engine))


@router.post("/name")
async def name(new: NewClass, request: Request) -> JSONResponse:
    answer = JSONResponse({"name": people.checked_name(new.name)})
    people.remember(answer, people.checked_name(new.name), request)
    return answer


def _with_classes(engine: Engine) -> JSONResponse:
    told: dict[str, Any] = state_of(engine) | {"classes": classes_of(engine)}
    return JSONResponse(told)
