"""Who gets which items: the column that decides, and the people of each of its values."""

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from bemps.server.http.annotator_names import checked_name
from bemps.server.routes.route_values import Annotator, TheEngine, state_of
from bemps.store.reservation.assignment import MOST_VALUES
from bemps.store.validation import LONGEST_NAME

router = APIRouter(prefix="/api")
LONGEST_VALUE, LONGEST_PEOPLE = 10_000, 1_000
Value = Annotated[str, Field(max_length=LONGEST_VALUE)]


class Shares(BaseModel):
    """Who gets which items.

    Attributes
    ----------
    column : str or None
        The column that decides; an empty one gives everything to everybody. None leaves it as it is.
    people : dict of str to str or None
        The names for each value, with commas. None leaves them as they are.
    """

    column: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None
    people: dict[Value, Annotated[str, Field(max_length=LONGEST_PEOPLE)]] | None = Field(
        default=None, max_length=MOST_VALUES
    )


@router.post("/assignment")
async def assign(shares: Shares, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Change who gets which items, for everybody and from the next item on."""
    changes: dict[str, Any] = {}
    if shares.column is not None:
        changes["assign_by"] = shares.column
    named = {value: names_of(text) for value, text in (shares.people or {}).items()}
    async with engine.settings_lock:
        if named:
            changes["assigned_to"] = dict(engine.settings.assigned_to or {}) | named
        if changes:
            await engine.change_settings(changes, annotator)
    return JSONResponse(state_of(engine))


def names_of(text: str) -> list[str]:
    """Return the names of people in a text with commas."""
    return list(dict.fromkeys(checked_name(name) for name in text.split(",") if name.strip()))
