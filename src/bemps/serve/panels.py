"""The side panels, as fragments of HTML: why this item, progress, what was labelled, guidelines, team, keys."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from starlette.datastructures import QueryParams

from bemps.serve.answering import Annotator, TheEngine
from bemps.serve.engine import Engine
from bemps.serve.keys import COMMANDS
from bemps.serve.pages import render
from bemps.serve.progress import counts_of, progress_of
from bemps.serve.team import team_of

router = APIRouter(prefix="/panel")
PAGE = 30
STATES = ("labelled", "skipped", "unsure", "noted", "answered", "unanswered", "disagreement")


def has_images(engine: Engine) -> bool:
    return engine.settings.get("kind") == "image"


async def query_of(request: Request) -> QueryParams:
    return request.query_params


Query = Annotated[QueryParams, Depends(query_of)]


@router.get("/why")
async def why(engine: TheEngine, query: Query) -> HTMLResponse:
    item = query.get("item", "")
    if not item:
        return HTMLResponse(render("why.html", item=None))
    origin = _origin(engine, item)
    about = await _about(engine, item)
    named = {*about["others"], *about["near"]}
    items = {other.id: other for other in await engine.read(lambda: list(engine.store.items(named)))}
    answers = await engine.read(engine.store.current)
    labels = {name: answers[name].label for name in about["near"] if name in answers}
    return HTMLResponse(
        render(
            "why.html",
            item=item,
            origin=origin,
            about=about,
            items=items,
            labels=labels,
            guess=about.get("guess") if query.get("guess") else None,
            asked=bool(query.get("guess")),
            ready=engine.insight.ready,
            state=engine.model_state,
            image=has_images(engine),
        )
    )


async def _about(engine: Engine, item: str) -> dict[str, Any]:
    """The reasons at the time of the offer, or now; for items without any the model is asked."""
    offer = engine.offer(item)
    known = engine.insight.about.get(item) or (offer.about if offer else {})
    if "near" not in known:
        known = known | await engine.look(item)
    return {"others": [], "near": [], "broken": False, **known}


def _origin(engine: Engine, item: str) -> str:
    """How an item came to be asked; that it is for the audit comes first, whatever else is true of it."""
    if item in engine.board.reserved:
        return "audit"
    offer = engine.offer(item)
    if item in engine.insight.about:
        return offer.ask.origin if offer and offer.ask.origin == "overlap" else engine.board.origin
    return offer.ask.origin if offer else "again"


@router.get("/progress")
async def progress(engine: TheEngine, annotator: Annotator) -> HTMLResponse:
    answers = await engine.read(engine.store.current)
    return HTMLResponse(render("progress.html", **progress_of(engine, annotator, answers)))


@router.get("/labelled")
async def labelled(engine: TheEngine, query: Query) -> HTMLResponse:
    wanted: dict[str, Any] = {"text": " ".join(query.get("q", "")[:500].split())}
    state, label = query.get("state", "answered"), query.get("label", "")
    offset = int(query["offset"]) if re.fullmatch("[0-9]{1,9}", query.get("offset", "")) else 0
    wanted["state"] = state if state in STATES else "answered"
    wanted["label"] = label if label in {one.name for one in engine.classes} else None
    order = "latest" if wanted["state"] != "unanswered" else "position"
    found = await engine.read(lambda: engine.store.search(**wanted, order=order, limit=PAGE, offset=offset))
    return HTMLResponse(
        render(
            "labelled.html",
            page=found,
            elsewhere=await _elsewhere(engine, wanted["text"], wanted["state"]),
            image=has_images(engine),
            **{"text": wanted["text"], "state": wanted["state"], "label": wanted["label"] or "", "states": STATES},
            **{"classes": [one.name for one in engine.classes], "offset": offset, "size": PAGE},
        )
    )


async def _elsewhere(engine: Engine, text: str, state: str) -> int:
    """How many items that nobody has answered contain what was looked for among the answered."""
    if not text or state == "unanswered":
        return 0
    return (await engine.read(lambda: engine.store.search(text, state="unanswered", limit=1))).total


@router.get("/end")
async def end(engine: TheEngine) -> HTMLResponse:
    """What there is when nothing is left to ask."""
    answers = await engine.read(engine.store.current)
    return HTMLResponse(render("end.html", **counts_of(engine, answers)))


@router.get("/guidelines")
async def guidelines(engine: TheEngine) -> HTMLResponse:
    settings = await engine.read(lambda: engine.store.settings)
    return HTMLResponse(render("guidelines.html", text=settings.get("guidelines", "")))


@router.get("/keys")
async def keys(engine: TheEngine) -> HTMLResponse:
    return HTMLResponse(render("keys.html", commands=COMMANDS, keys=engine.keys()))


@router.get("/classes")
async def classes(engine: TheEngine) -> HTMLResponse:
    return HTMLResponse(render("classes.html", classes=engine.classes, keys=engine.keys()))


@router.get("/team")
async def team(engine: TheEngine, annotator: Annotator) -> HTMLResponse:
    told = await engine.read(lambda: team_of(engine.store))
    return HTMLResponse(
        render(
            "team.html",
            name=annotator,
            image=has_images(engine),
            overlap=engine.board.overlap_share,
            classes=engine.classes,
            **told,
        )
    )
