"""Suggestions: the panel about them, those that came after their items, and the request that switches them."""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.errors import InputError
from bemps.project.suggestions.suggester_names import is_address
from bemps.server.engine import Engine
from bemps.server.http.templating import render
from bemps.server.panels.suggestions_panel import suggestions_of
from bemps.server.routes.route_values import Annotator, Name, Query, TheEngine, page_settings, state_of
from bemps.server.suggestions.suggestion_sources import (
    check_suggester,
    checked_address,
    parse_suggester,
    sending_words,
)
from bemps.store.project_settings import BY_MODEL

router = APIRouter()
ADDRESS = "address"


class Missing(BaseModel):
    """Items of a browser that came without a suggestion, the one on show first."""

    items: list[Name] = Field(max_length=50)


class Switched(BaseModel):
    """What is to suggest labels from now on.

    Attributes
    ----------
    source : str
        `off`, `model`, `column:` and the name of a column, or `address`.
    address, model : str
        For an address, the address and the name of the model there.
    agreed : str
        For an address, "yes" if the person has read what is sent there and wants it.
    """

    source: Name
    address: str = Field(default="", max_length=2_000)
    model: str = Field(default="", max_length=200)
    agreed: Literal["", "yes"] = ""


@router.get("/panel/suggestions")
async def suggestions_panel(engine: TheEngine, query: Query) -> HTMLResponse:
    """Return the panel about suggestions, or with `part=state` how they go, beside a form that is being filled in."""
    answers = await engine.read(engine.store.current)
    content = await engine.read(lambda: suggestions_of(engine, answers))
    part = "suggestion_state.html" if query.get("part") == "state" else "suggestions.html"
    return HTMLResponse(render(part, **content))


@router.post("/api/suggestions")
async def suggestions(missing: Missing, engine: TheEngine) -> JSONResponse:
    """Return the suggestions that are known by now, by item."""
    if not engine.suggester.is_on:
        return JSONResponse({"suggestions": {}})
    items = await engine.read(lambda: list(engine.store.items(missing.items)))
    known = {item.id: engine.suggester.suggestion(item) for item in items}
    if items and known[items[0].id] is None:
        known[items[0].id] = await _guess(engine, items[0].id)
    return JSONResponse({"suggestions": {name: label for name, label in known.items() if label is not None}})


async def _guess(engine: Engine, item: str) -> str | None:
    """The model's guess for an item outside its order; audit items have none to show."""
    if engine.settings.suggest != BY_MODEL or item in engine.schedule.reserved or not engine.model_status.ready:
        return None
    return engine.suggester.best_guess((await engine.answers.look(item)).get("guess"))


@router.post("/api/suggest")
async def suggest(switched: Switched, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Switch suggestions on or off. An address is asked only if the person agreed to what is sent there."""
    if switched.source == ADDRESS:
        changes = _address(switched, engine)
        engine.suggester.allow(changes["suggest"])
    else:
        changes = {"suggest": _without_address(switched.source, engine)}
    await engine.change_settings(lambda _: changes, annotator)
    return JSONResponse(state_of(engine) | {"settings": page_settings(engine)})


@router.post("/api/suggest/retry")
async def retry(annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Ask the address again after a failure."""
    engine.suggester.try_again()
    return JSONResponse(state_of(engine))


def _address(switched: Switched, engine: Engine) -> dict[str, str]:
    address, model = checked_address(switched.address.strip()), switched.model.strip()
    check_suggester(address, model, engine.settings.kind)
    if not switched.agreed:
        fix = f"Tick the box. {sending_words(address)}"
        raise InputError("suggestions", expected="your agreement to what is sent", got="none", fix=fix)
    return {"suggest": address, "suggest_model": model}


def _without_address(source: str, engine: Engine) -> str:
    suggest = parse_suggester(source, [name for name, _, _ in engine.settings.columns or ()])
    if is_address(suggest):
        raise InputError("suggestions", expected="off, model or a column", got="an address", fix="Reload the page.")
    if suggest == BY_MODEL and engine.settings.no_model:
        raise InputError("suggestions", expected="a project with a model", got="none", fix="Choose something else.")
    return suggest
