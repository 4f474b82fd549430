"""What can be looked at: the page itself, one item, an image, the state of things."""

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from bemps.errors import unknown_name
from bemps.serve import people
from bemps.serve.engine import Engine
from bemps.serve.image_files import image_of
from bemps.serve.pages import render
from bemps.store import Item

router = APIRouter()
AT_ONCE = 4  # items that come with the page itself
DOWNLOADS = {"csv": ".csv", "csv-spreadsheet": ".csv", "jsonl": ".jsonl"}


def engine_of(request: Request) -> Engine:
    engine: Engine = request.app.state.serving.engine
    return engine


@router.get("/")
async def page(request: Request) -> HTMLResponse:
    engine, serving = engine_of(request), request.app.state.serving
    annotator = people.name_of(request, serving.annotator)
    title = engine.settings.get("title", "Labelling")
    if annotator is None:
        return HTMLResponse(render("name.html", title=title))
    items = await engine.next(annotator, [], AT_ONCE)
    project = {
        "id": engine.settings.get("id", ""),
        "annotator": annotator,
        "total": len(engine.board.ids),
        "items": [as_json(item, engine) for item in items],
        **everything(engine),
    }
    return HTMLResponse(render("page.html", title=title, project=project))


@router.get("/api/state")
async def state(request: Request) -> JSONResponse:
    """How things are; also the sign that somebody is still there."""
    engine_of(request).is_here(people.name_of(request, request.app.state.serving.annotator))
    return JSONResponse(everything(engine_of(request)))


@router.get("/api/item")
async def one_item(request: Request, id: str) -> JSONResponse:
    engine = engine_of(request)
    item = await engine.item(id)
    annotator = people.name_of(request, request.app.state.serving.annotator)
    answers = await engine.read(lambda: engine.store.answers_of(id))
    own = next((one for one in answers if one.annotator == annotator), answers[-1] if answers else None)
    told = own and {"kind": own.kind, "label": own.label, "note": own.note, "annotator": own.annotator}
    return JSONResponse({"item": as_json(item, engine), "answer": told})


@router.get("/image")
async def image(request: Request, id: str) -> Response:
    engine = engine_of(request)
    item = await engine.item(id)
    content, kind = await engine.read(lambda: image_of(engine.settings, item))
    return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})


@router.get("/export")
async def export(request: Request, format: str = "csv") -> Response:
    """The labels as a file to keep; the same as `bemps export`."""
    from bemps.exchange import export_labels

    if format not in DOWNLOADS:
        raise unknown_name("format", format, DOWNLOADS, "`bemps export` writes the others.")
    engine = engine_of(request)
    draft = Path(mkdtemp(prefix="bemps-export-")) / f"labels{DOWNLOADS[format]}"
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


def as_json(item: Item, engine: Engine) -> dict[str, Any]:
    """An item for the browser; nothing in it tells how it was chosen."""
    if engine.settings.get("kind") == "image":
        from urllib.parse import quote

        return {"id": item.id, "text": item.content, "image": f"image?id={quote(item.id, safe='')}"}
    return {"id": item.id, "text": item.content}


def classes_of(engine: Engine) -> dict[str, Any]:
    keys = engine.keys()
    return {
        "version": engine.classes_version,
        "list": [{"id": one.position, "name": one.name, "keys": keys[one.name]} for one in engine.classes],
    }


def state_of(engine: Engine) -> dict[str, Any]:
    """The few numbers that come with every answer."""
    return {
        "labels": engine.labels,
        "model": engine.insight.told(engine.labels),
        "classes_version": engine.classes_version,
    }


def everything(engine: Engine) -> dict[str, Any]:
    return state_of(engine) | {"classes": classes_of(engine), "left": engine.board.left}
