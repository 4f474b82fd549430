"""The settings of the project: the panel that shows them, and the request that changes them."""

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.project.project_models import tuning_lack
from bemps.server.http.saved_meanwhile import refuse_unseen
from bemps.server.http.templating import render
from bemps.server.panels.settings_panel import FIELDS, changed_settings, settings_rows, values_to_change
from bemps.server.routes.route_values import Annotator, TheEngine, page_settings, state_of
from bemps.store.project_settings import ProjectSettings

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
    lack = "" if engine.settings.no_model else await engine.read(lambda: tuning_lack(engine.settings))
    return HTMLResponse(
        render("settings.html", rows=settings_rows(engine.settings), settings=engine.settings, lack=lack)
    )


@router.post("/api/settings")
async def change_settings(change: Changed, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Change settings of the project, all of them or none, unless somebody else has changed them since."""

    def new_values(present: ProjectSettings) -> dict[str, Any]:
        changes = changed_settings(change.values, present)
        refuse_unseen(values_to_change(changes, change.seen, present))
        return changes

    await engine.change_settings(new_values, annotator)
    return JSONResponse(state_of(engine) | {"settings": page_settings(engine)})
