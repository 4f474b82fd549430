"""The settings of the project: the panel that shows them, and the request that changes them."""

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.server.http.templating import render
from bemps.server.panels.settings_panel import FIELDS, changed_settings, refuse_unseen, settings_rows
from bemps.server.routes.route_values import Annotator, TheEngine, page_settings, state_of

router = APIRouter()
LONGEST_VALUE = 100_000
Texts = dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=LONGEST_VALUE)]]


class Changed(BaseModel):
    """The texts of the controls that somebody changed, and those that the form had, by the name of the setting."""

    values: Texts = Field(max_length=len(FIELDS))
    seen: Texts = Field(default={}, max_length=len(FIELDS))


@router.get("/panel/settings")
async def settings_panel(engine: TheEngine) -> HTMLResponse:
    """Return the panel that edits the settings."""
    return HTMLResponse(render("settings.html", rows=settings_rows(engine.settings), settings=engine.settings))


@router.post("/api/settings")
async def change_settings(change: Changed, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Change settings of the project, all of them or none, unless somebody else has changed them since."""
    async with engine.settings_lock:
        present = await engine.read(engine.store.read_settings)
        changes = changed_settings(change.values, present)
        refuse_unseen(changes, change.seen, present)
        if changes:
            await engine.change_settings(changes, annotator)
    return JSONResponse(state_of(engine) | {"settings": page_settings(engine)})
