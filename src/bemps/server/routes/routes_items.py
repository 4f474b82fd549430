"""What can be looked at: the page itself, one item, an image, the state of things."""

from datetime import datetime
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from bemps.errors import unknown_name
from bemps.server.engine import Engine
from bemps.server.http import annotator_names
from bemps.server.http.access import page_policy
from bemps.server.http.image_files import image_of
from bemps.server.http.templating import render
from bemps.server.items.shown_columns import column_image
from bemps.server.results.result_names import ResultWish, project_name
from bemps.server.routes.route_values import (
    answer_as_json,
    classes_of,
    engine_of,
    items_as_json,
    offered,
    page_settings,
    state_of,
)
from bemps.store.events import ADJUDICATE

router = APIRouter()
AT_ONCE = 4  # items that come with the page itself
DOWNLOADS = ("csv", "csv-spreadsheet", "jsonl", "xlsx")


@router.get("/")
async def page(request: Request) -> HTMLResponse:
    """Return the page for labelling, or the page that asks for a name."""
    engine, serving = engine_of(request), request.app.state.serving
    annotator = annotator_names.name_of(request, serving.annotator)
    title = engine.settings.title or "Labelling"
    if annotator is None:
        return HTMLResponse(render("name.html", title=title))
    items = await engine.next(annotator, [], AT_ONCE)
    project = {
        "id": engine.settings.id,
        "annotator": annotator,
        "total": len(engine.schedule.ids),
        "items": await offered(items, engine, annotator),
        **everything(engine, annotator),
    }
    headers = {"content-security-policy": page_policy(engine.settings.remote_images)}
    return HTMLResponse(
        render("page.html", title=title, project=project, is_mounted=serving.is_mounted), headers=headers
    )


@router.get("/api/state")
async def state(request: Request) -> JSONResponse:
    """Return the state of the project, and note that the annotator is still present."""
    annotator = annotator_names.name_of(request, request.app.state.serving.annotator)
    engine_of(request).lending.mark_present(annotator)
    return JSONResponse(everything(engine_of(request), annotator))


@router.get("/api/item")
async def one_item(request: Request, id: str) -> JSONResponse:
    """Return an item with the answer to show beside it."""
    engine = engine_of(request)
    item = await engine.item(id)
    annotator = annotator_names.name_of(request, request.app.state.serving.annotator)
    answers = await engine.read(lambda: engine.store.answers_of(id))
    decision = next((answer for answer in answers if answer.kind == ADJUDICATE), None)
    opinions = [answer for answer in answers if answer.kind != ADJUDICATE]
    own = next((answer for answer in opinions if answer.annotator == annotator), opinions[-1] if opinions else decision)
    return JSONResponse(
        {
            "item": (await items_as_json([item], engine))[0],
            "answer": answer_as_json(own),
            "decision": answer_as_json(decision),
        }
    )


@router.get("/image")
async def image(request: Request, id: str) -> Response:
    """Return the image of an item."""
    engine = engine_of(request)
    item = await engine.item(id)
    content, kind = await engine.read(lambda: image_of(engine.settings, item))
    return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})


@router.get("/column-image")
async def image_in_column(request: Request, id: str, column: str) -> Response:
    """Return the image that a shown column of an item names."""
    engine = engine_of(request)
    item = await engine.item(id)
    content, kind = await engine.read(lambda: column_image(engine.settings, item, column))
    return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})


@router.get("/export")
async def export(request: Request, format: str = "csv") -> Response:
    """Return the labels as a file, as `bemps export` does."""
    from bemps.project.exporting import export_labels

    if format not in DOWNLOADS:
        raise unknown_name("format", format, DOWNLOADS, "`bemps export` writes the others.")
    engine = engine_of(request)
    project = project_name(engine.store, engine.settings.title)
    name = ResultWish("labels", format).file_name(project, engine.labels, datetime.now())
    draft = Path(mkdtemp(prefix="bemps-export-")) / name
    try:
        await engine.read(lambda: export_labels(engine.store, draft, format))
    except BaseException:
        rmtree(draft.parent)
        raise
    return _Once(draft, filename=draft.name, headers={"cache-control": "no-store"})


class _Once(FileResponse):
    """A file that is removed, with its folder, when it was sent or could not be."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            rmtree(Path(self.path).parent)


def everything(engine: Engine, annotator: str | None) -> dict[str, Any]:
    """Return the state, the classes and the number of items left, as JSON values."""
    values = {"classes": classes_of(engine), "settings": page_settings(engine), "left": engine.schedule.left}
    return state_of(engine, annotator) | values
