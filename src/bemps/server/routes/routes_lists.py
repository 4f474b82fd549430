"""Lists of items that are labelled at once: the panel that shows one, and the request that labels it."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.server.panels.list_panel import left_out_words, list_of
from bemps.server.routes.route_values import (
    Annotator,
    ClassNumber,
    Name,
    Query,
    RequestId,
    TheEngine,
    panel_of_items,
    state_of,
)
from bemps.store.events import MOST_LISTED

router = APIRouter()


class ListedLabel(BaseModel):
    """A label for many items.

    Attributes
    ----------
    items : list of str
        The ids of the items.
    label : str
        The name of the class.
    class_id : int, optional
        The number of the class. It holds whatever the class is called meanwhile.
    request : str
        The id of the request. A second request with the same id changes nothing.
    """

    items: list[Name] = Field(min_length=1, max_length=MOST_LISTED)
    label: Name
    class_id: ClassNumber = None
    request: RequestId


@router.get("/panel/list")
async def panel(engine: TheEngine, annotator: Annotator, query: Query) -> HTMLResponse:
    """Return the panel with a list of items to label at once."""
    return await panel_of_items(engine, "list.html", **await list_of(engine, annotator, query))


@router.post("/api/list")
async def label(listed: ListedLabel, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Give one label to many items, and acknowledge it when it is safely stored."""
    done = await engine.label_list(annotator, listed.items, listed.label, listed.request, listed.class_id)
    items = [event.item for event in done.events]
    present = done.events[0].label if done.events else listed.label
    answer = {"saved": True, "items": items, "label": present, "left_out": left_out_words(done.left_out)}
    return JSONResponse(answer | state_of(engine))
