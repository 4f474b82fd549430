"""Where the model errs, what to look at again, and the picture of the items: panels that look back."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from bemps.server.engine import Engine
from bemps.server.http.templating import render
from bemps.server.panels import errors_panel, map_panel, review_panel
from bemps.server.panels.list_panel import MAP, region_of
from bemps.server.routes.route_values import Annotator, Query, TheEngine, panel_of_items

router = APIRouter(prefix="/panel")


@router.get("/errors")
async def errors(engine: TheEngine, query: Query) -> HTMLResponse:
    """Return the panel with the quality of each class and the confusion matrix, or the items of one of its cells."""
    names = engine.class_view.names
    last = errors_panel.with_positions(engine.model_status.last, engine.class_view.positions())
    truth, guess = query.get("truth", ""), query.get("guess", "")
    cell = errors_panel.items_in_cell(last, names, truth, guess)
    items = await engine.read(lambda: list(engine.store.items(cell[: review_panel.SHOWN])))
    content = errors_panel.errors_of(last, names)
    cells = {"truth": truth, "guess": guess, "cell": cell, "items": items}
    return await panel_of_items(engine, "errors.html", errors=content, state=engine.model_state, **cells)


@router.get("/review")
async def review(engine: TheEngine, annotator: Annotator, query: Query) -> HTMLResponse:
    """Return a list of items to look at again."""
    kind = query.get("kind", review_panel.DOUBTS)
    kind = kind if kind in review_panel.KINDS else review_panel.DOUBTS
    from_model = kind in (review_panel.DOUBTS, review_panel.PAIRS)
    answer = await engine.answers.get("review") if from_model else None
    rows, total = await engine.read(lambda: review_panel.review_rows(engine, kind, annotator, answer))
    values: dict[str, Any] = {"kind": kind, "kinds": review_panel.KINDS, "rows": rows, "total": total}
    waiting = from_model and _awaited(engine, "review")
    return await panel_of_items(
        engine,
        "review.html",
        without_label=review_panel.WITHOUT_LABEL,
        judged=(answer or {}).get("judged", 0),
        from_model=from_model,
        waiting=waiting,
        missing=answer is None,
        state=engine.model_state,
        **values,
    )


@router.get("/map")
async def picture(engine: TheEngine) -> HTMLResponse:
    """Return the map of the items."""
    points = await _points(engine)
    colours = map_panel.colours_of(engine.classes)
    return HTMLResponse(
        render(
            "map.html",
            points=points,
            legend=map_panel.legend_of(points or [], engine.class_view.names, colours),
            side=map_panel.SIDE,
            margin=map_panel.MARGIN,
            total=len(engine.schedule.ids),
            state=engine.model_state,
            waiting=_awaited(engine, "map"),
        )
    )


@router.get("/map-items")
async def map_items(engine: TheEngine, query: Query) -> HTMLResponse:
    """Return the items of a region of the map, or of a class."""
    points = map_panel.selected(await _points(engine) or [], region_of(query), query.get("class", ""))
    by_name = {point.item: point for point in points}
    names = list(by_name)[: map_panel.SHOWN]
    items = {item.id: item for item in await engine.read(lambda: list(engine.store.items(names)))}
    rows = [(items[name], by_name[name]) for name in names if name in items]
    map_part = [("source", MAP), *query.multi_items()]
    waiting = sum(point.item not in engine.schedule.answered for point in points)
    values = {"rows": rows, "total": len(points), "waiting": waiting, "part": map_part}
    return await panel_of_items(engine, "map_items.html", **values)


async def _points(engine: Engine) -> list[map_panel.Point] | None:
    answer = await engine.answers.get("map")
    if answer is None:
        return None
    answers = await engine.read(engine.store.current)
    return map_panel.present_points(answer, answers, engine.class_view)


def _awaited(engine: Engine, task: str) -> bool:
    """Whether a newer answer of the model comes by itself."""
    return engine.model_state == "starting" or (engine.model_status.alive and not engine.answers.is_fresh(task))
