"""Requests that begin and end a search for more of a class."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from bemps.server.routes.route_values import Annotator, Name, TheEngine, state_of

router = APIRouter(prefix="/api/class/search")


class SoughtClass(BaseModel):
    """The name of the class to look for."""

    label: Name


@router.post("")
async def start(sought: SoughtClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Ask the annotator probable members of a class for a while."""
    await engine.start_class_search(annotator, sought.label)
    return JSONResponse(state_of(engine, annotator))


@router.post("/stop")
async def stop(annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Go back to the usual order."""
    await engine.stop_class_search(annotator)
    return JSONResponse(state_of(engine, annotator))
