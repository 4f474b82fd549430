"""Who gets which items: the column that decides, and the people of each of its values."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from bemps.server.http.annotator_names import checked_name
from bemps.server.http.saved_meanwhile import FormValue, refuse_unseen
from bemps.server.routes.route_values import Annotator, TheEngine, state_of
from bemps.store.project_settings import ProjectSettings
from bemps.store.reservation.assignment import MOST_VALUES, Assignment
from bemps.store.validation import LONGEST_NAME

router = APIRouter(prefix="/api")
LONGEST_VALUE, LONGEST_PEOPLE = 10_000, 1_000
Value = Annotated[str, Field(max_length=LONGEST_VALUE)]
People = dict[Value, Annotated[str, Field(max_length=LONGEST_PEOPLE)]]


class SeenShares(BaseModel):
    """What a form showed of who gets which items, as in `Shares`; None where it did not say."""

    column: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None
    people: dict[Value, Value] = Field(default={}, max_length=MOST_VALUES)


class Shares(BaseModel):
    """Who gets which items.

    Attributes
    ----------
    column : str or None
        The column that decides; an empty one gives everything to everybody. None leaves it as it is.
    people : dict of str to str or None
        The names for each value, with commas. None leaves them as they are.
    seen : SeenShares
        What the form showed of these. What somebody else has changed since is not replaced.
    """

    column: Annotated[str, Field(max_length=LONGEST_NAME)] | None = None
    people: People | None = Field(default=None, max_length=MOST_VALUES)
    seen: SeenShares = SeenShares()


@router.post("/assignment")
async def assign(shares: Shares, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Change who gets which items, for everybody and from the next item on."""
    named = {value: names_of(text) for value, text in (shares.people or {}).items()}

    def new_shares(settings: ProjectSettings) -> dict[str, Any]:
        refuse_unseen(_values_to_change(shares.column, named, shares.seen, settings))
        column = {} if shares.column is None else {"assign_by": shares.column}
        return column | ({"assigned_to": dict(settings.assigned_to or {}) | named} if named else {})

    await engine.change_settings(new_shares, annotator)
    return JSONResponse(state_of(engine))


def _values_to_change(
    column: str | None, named: Mapping[str, list[str]], seen: SeenShares, settings: ProjectSettings
) -> Iterator[FormValue]:
    """The values that are others after the change, as they are now and as the form showed them."""
    if column not in (None, settings.assign_by):
        yield FormValue("column", "By this column of the file", settings.assign_by, seen.column)
    assignment = Assignment(settings.assign_by, {}, settings.assigned_to or {})
    for value, names in named.items():
        if (present := assignment.people(value)) != names:
            yield FormValue(f"people of {value}", value, ", ".join(present), seen.people.get(value))


def names_of(text: str) -> list[str]:
    """Return the names of people in a text with commas."""
    return list(dict.fromkeys(checked_name(name) for name in text.split(",") if name.strip()))
