"""The guidelines of a project: shown as Markdown, and edited on the page."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.server.http.markdown_text import render_markdown
from bemps.server.http.saved_meanwhile import SavedMeanwhile
from bemps.server.http.templating import ago, render
from bemps.server.routes.route_values import (
    Annotator,
    TheEngine,
    guidelines_version,
    has_images,
    page_settings,
    state_of,
)
from bemps.store import validation
from bemps.store.project_settings import ProjectSettings

router = APIRouter()
LONGEST = 80_000  # characters: a request stays below the limit in every script


class Guidelines(BaseModel):
    """The new guidelines.

    Attributes
    ----------
    text : str
        The text, in Markdown.
    seen : str
        The version of the text that was edited. Another one means that somebody else was faster.
    """

    text: Annotated[str, Field(max_length=LONGEST)]
    seen: Annotated[str, Field(max_length=100)]


@router.get("/panel/guidelines")
async def guidelines(engine: TheEngine) -> HTMLResponse:
    """Return the panel with the guidelines and the meanings of the classes."""
    settings = await engine.read(engine.store.read_settings)
    values = {
        "text": settings.guidelines,
        "html": await engine.read(lambda: render_markdown(settings.guidelines)),
        "version": guidelines_version(settings.guidelines),
        "edited": _edited(settings),
        "longest": LONGEST,
        "view": engine.class_view,
        "image": has_images(engine),
    }
    return HTMLResponse(render("guidelines.html", **values))


def _edited(settings: ProjectSettings) -> tuple[str, str] | None:
    """Who edited the text last on the page, and when in words; None if it is that of a file."""
    edit = settings.guidelines_edit
    if not edit or edit["version"] != guidelines_version(settings.guidelines):
        return None
    seconds = (datetime.now(UTC) - datetime.fromisoformat(edit["time"])).total_seconds()
    return edit["annotator"], ago(max(0.0, seconds))


@router.post("/api/guidelines")
async def save(new: Guidelines, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Save the guidelines, unless somebody else has changed them since."""
    text = validation.text(new.text.replace("\r\n", "\n").strip(), "guidelines")

    def edited(settings: ProjectSettings) -> dict[str, Any]:
        if settings.guidelines == text:
            return {}
        _refuse_unseen(guidelines_version(settings.guidelines), new.seen)
        edit = {"annotator": annotator, "time": datetime.now(UTC).isoformat(), "version": guidelines_version(text)}
        return {"guidelines": text, "guidelines_edit": edit}

    await engine.change_settings(edited, annotator)
    return JSONResponse(state_of(engine) | {"settings": page_settings(engine)})


def _refuse_unseen(version: str, seen: str) -> None:
    if version != seen:
        raise SavedMeanwhile(
            "guidelines",
            expected="the text that you edited",
            got="a newer one, which somebody else saved meanwhile",
            fix="It stands above. Bring yours up to date, and save again.",
            present={"text": version},
        )
