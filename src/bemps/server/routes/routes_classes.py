"""Requests about classes beyond their names and keys: what they mean, order, colour, and what becomes of them."""

from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from bemps.formats.class_file import class_file_text
from bemps.server.routes.route_values import Annotator, Name, TheEngine, with_classes
from bemps.store.class_log.class_edits import LONGEST_DESCRIPTION

router = APIRouter()
Text = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]


class ChangedClass(BaseModel):
    """A change of a class. None leaves a part as it is.

    Attributes
    ----------
    name : str
        The name of the class.
    description, colour : str or None
        The new ones; "" removes them.
    hidden : bool or None
        Whether the page offers it no more.
    move : {-1, 1} or None
        One place up or down.
    """

    name: Name
    description: Text | None = None
    colour: Annotated[str, Field(max_length=20)] | None = None
    hidden: bool | None = None
    move: Literal[-1, 1] | None = None


class ChangedExample(BaseModel):
    """An example to add to a class or to remove from it.

    Attributes
    ----------
    name : str
        The name of the class.
    item : str or None
        The id of an item.
    text : str or None
        A line of text, where it is no item.
    remove : bool
        Whether it is removed.
    """

    name: Name
    item: Name | None = None
    text: Text | None = None
    remove: bool = False


class NamedClass(BaseModel):
    """The name of a class."""

    name: Name


class MergedClass(BaseModel):
    """The class that goes, and the class that it is merged into."""

    name: Name
    into: Name


@router.post("/api/class/change")
async def change(changed: ChangedClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Change the description, the colour or the place of a class, or hide it or show it again."""
    position = None
    if changed.move is not None:
        position = next((known.position for known in engine.classes if known.name == changed.name), 0) + changed.move
    await engine.change_classes(
        lambda: engine.store.change_class(
            changed.name,
            annotator,
            description=changed.description,
            colour=changed.colour,
            is_hidden=changed.hidden,
            position=position,
        )
    )
    return with_classes(engine)


@router.post("/api/class/example")
async def example(changed: ChangedExample, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Add or remove an example of a class."""
    edit = engine.store.remove_example if changed.remove else engine.store.add_example
    await engine.change_classes(lambda: edit(changed.name, annotator, item=changed.item, text=changed.text))
    return with_classes(engine)


@router.post("/api/class/delete")
async def delete(named: NamedClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Delete a class that no answer uses."""
    await engine.change_classes(lambda: engine.store.delete_class(named.name, annotator))
    return with_classes(engine)


@router.post("/api/class/merge")
async def merge(merged: MergedClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Merge a class into another."""
    await engine.change_classes(lambda: engine.store.merge_class(merged.name, merged.into, annotator))
    return with_classes(engine)


@router.post("/api/class/split")
async def split(named: NamedClass, annotator: Annotator, engine: TheEngine) -> JSONResponse:
    """Split a merged class off again."""
    await engine.change_classes(lambda: engine.store.split_class(named.name, annotator))
    return with_classes(engine)


@router.get("/classes.csv")
async def class_file(engine: TheEngine) -> Response:
    """Return the classes as a class file."""
    headers = {"content-disposition": 'attachment; filename="classes.csv"', "cache-control": "no-store"}
    return Response(class_file_text(engine.classes), media_type="text/csv; charset=utf-8", headers=headers)
