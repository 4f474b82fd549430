"""The side panels, as fragments of HTML: why this item, progress, what was labelled, guidelines, team, keys."""

import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from bemps.server.engine import Engine
from bemps.server.http.templating import render
from bemps.server.panels.keys import COMMANDS
from bemps.server.panels.list_panel import STATES, filters_of
from bemps.server.panels.outlook import UNREADABLE, WAITS, audit_shortage, can_learn, without_label
from bemps.server.panels.progress_panel import counts_of, progress_of
from bemps.server.panels.team_panel import shares_of, team_of
from bemps.server.routes.route_values import Annotator, Query, TheEngine, has_images, panel_of_items
from bemps.server.suggestions.suggestion_quality import quality_of
from bemps.store import COLOURS
from bemps.store.events import LABEL

router = APIRouter(prefix="/panel")
PAGE = 30


@router.get("/why")
async def why(engine: TheEngine, annotator: Annotator, query: Query) -> HTMLResponse:
    """Return the panel that explains why an item was asked, with the guess where it was asked for this item."""
    item = query.get("item", "")
    if not item:
        return HTMLResponse(render("why.html", item=None))
    origin = _origin(engine, item)
    measures = await _measures(engine, item, annotator)
    asked = query.get("guess") == item and not measures
    about = await _about(engine, item, asked)
    named = {*about["others"], *about["near"]}
    items = {other.id: other for other in await engine.read(lambda: list(engine.store.items(named)))}
    answers = await engine.read(engine.store.current)
    labels = {name: answers[name].label for name in about["near"] if name in answers}
    return await panel_of_items(
        engine,
        "why.html",
        item=item,
        origin=origin,
        about=about,
        items=items,
        labels=labels,
        guess=about.get("guess") if asked else None,
        asked=asked,
        measures=measures,
        ready=engine.model_status.ready,
        can_learn=can_learn(engine, answers),
        state=engine.model_state,
    )


@router.get("/guess-words")
async def guess_words(engine: TheEngine, annotator: Annotator, item: str) -> HTMLResponse:
    """Return the words of an item that speak for the model's guess."""
    await engine.item(item)  # an unknown id does not reach the process of the model
    reasons = {} if await _measures(engine, item, annotator) else await engine.answers.guess_words(item)
    return HTMLResponse(render("guess_words.html", reasons=reasons))


async def _measures(engine: Engine, item: str, annotator: str) -> bool:
    """Whether an item is for the audit and this person has yet to label it: a guess would lead them."""
    if item not in engine.schedule.reserved:
        return False
    answers = await engine.read(lambda: engine.store.answers_of(item))
    return not any(answer.annotator == annotator and answer.kind == LABEL for answer in answers)


async def _about(engine: Engine, item: str, asked: bool) -> dict[str, Any]:
    """The reasons at the time of the offer, or now; the model is asked for missing ones, and for a guess if `asked`."""
    offer = engine.lending.offer(item)
    at_that_time = offer.about if offer else {}
    known = engine.model_status.about.get(item) or at_that_time
    if "search" in at_that_time:
        known = known | {"search": at_that_time["search"]}
    lacks_guess = engine.model_status.ready and not known.get("guess")  # asked before there was a model
    if "near" not in known or (asked and lacks_guess):
        await engine.item(item)  # an unknown id does not reach the process of the model
        known = known | await engine.answers.look(item)
    return {"others": [], "near": [], "broken": False, **known}


def _origin(engine: Engine, item: str) -> str:
    """How an item came to be asked; that it is for the audit comes first, whatever else is true of it."""
    if item in engine.schedule.reserved:
        return "audit"
    offer = engine.lending.offer(item)
    if item in engine.model_status.about:
        own = offer.candidate.origin if offer else None
        return own if own in ("overlap", "later", "likely") else engine.schedule.origin
    return offer.candidate.origin if offer else "again"


@router.get("/progress")
async def progress(engine: TheEngine, annotator: Annotator) -> HTMLResponse:
    """Return the panel with counts, speed, accuracy and advice."""
    answers = await engine.read(engine.store.current)
    unlabelled = await engine.read(lambda: without_label(engine, answers))
    copies = await engine.read(lambda: len(engine.store.copies()))
    content = progress_of(engine, annotator, answers, unlabelled, copies)
    quality = await engine.read(lambda: quality_of(engine, answers))
    return HTMLResponse(render("progress.html", quality=quality, **content))


@router.get("/labelled")
async def labelled(engine: TheEngine, query: Query) -> HTMLResponse:
    """Return the panel that searches the items by text, state and class."""
    filters = filters_of(engine, query)
    offset = int(query["offset"]) if re.fullmatch("[0-9]{1,9}", query.get("offset", "")) else 0
    hits = await engine.read(lambda: engine.store.search(**filters, limit=PAGE, offset=offset))
    return await panel_of_items(
        engine,
        "labelled.html",
        page=hits,
        elsewhere=await _elsewhere(engine, filters["text"], filters["state"]),
        **{"text": filters["text"], "state": filters["state"], "label": filters["label"] or "", "states": STATES},
        **{"classes": [label_class.name for label_class in engine.classes], "offset": offset, "size": PAGE},
    )


async def _elsewhere(engine: Engine, text: str, state: str) -> int:
    """How many items that nobody has answered contain what was looked for among the answered."""
    if not text or state == "unanswered":
        return 0
    return (await engine.read(lambda: engine.store.search(text, state="unanswered", limit=1))).total


@router.get("/end")
async def end(engine: TheEngine, annotator: Annotator) -> HTMLResponse:
    """Return the panel for the time when nothing is left to ask."""
    answers = await engine.read(engine.store.current)
    unlabelled = await engine.read(lambda: without_label(engine, answers))
    left, unreadable = unlabelled.get(WAITS, 0), unlabelled.get(UNREADABLE, 0)
    values = {
        "left": left,
        "own_left": engine.schedule.left_for(annotator),
        "waiting": engine.schedule.overlap.waiting,
        "answers": engine.schedule.answers,
        "unreadable": unreadable,
        "shortage": audit_shortage(engine, answers),
    }
    return HTMLResponse(render("end.html", model=not engine.settings.no_model, **values, **counts_of(engine, answers)))


@router.get("/keys")
async def keys(engine: TheEngine) -> HTMLResponse:
    """Return the panel with the keyboard commands."""
    keys, offered = engine.class_view.keys(), engine.class_view.visible
    own = {known.name: keys[known.name] for known in offered}
    return HTMLResponse(render("keys.html", commands=COMMANDS, keys=own))


@router.get("/classes")
async def classes(engine: TheEngine) -> HTMLResponse:
    """Return the panel that edits the classes."""
    used = await engine.read(engine.store.used_classes)
    values = {"view": engine.class_view, "keys": engine.class_view.keys(), "used": used, "colours": COLOURS}
    return HTMLResponse(render("classes.html", image=has_images(engine), **values))


@router.get("/team")
async def team(engine: TheEngine, annotator: Annotator) -> HTMLResponse:
    """Return the panel about the annotators and their agreement."""
    team_content = await engine.read(lambda: team_of(engine.store))
    shares = await engine.read(lambda: shares_of(engine.store, engine.settings))
    quality = await engine.read(lambda: quality_of(engine, engine.store.current()))
    return await panel_of_items(
        engine,
        "team.html",
        name=annotator,
        quality=quality,
        overlap=engine.schedule.overlap_share,
        answers=engine.schedule.answers,
        waiting=engine.schedule.overlap.waiting,
        offered=[known.name for known in engine.class_view.visible],
        **team_content,
        **shares,
    )
