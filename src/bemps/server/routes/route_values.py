"""What the routes of a project share: who asks, the engine, the query, and items and states as JSON."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field
from starlette.datastructures import QueryParams

from bemps.server.engine import Engine
from bemps.server.http import annotator_names
from bemps.server.http.templating import render
from bemps.server.items.item_texts import item_html, keywords_as_json
from bemps.server.items.shown_columns import shown_values
from bemps.server.panels.summary import summary_of
from bemps.store import Answer, Example, Item
from bemps.store.validation import LONGEST_NAME

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
ClassNumber = Annotated[int | None, Field(ge=0, le=1_000_000)]
RequestId = Annotated[str, Field(min_length=8, max_length=100)]


def engine_of(request: Request) -> Engine:
    """Return the engine of the project that is served."""
    engine: Engine = request.app.state.serving.engine
    return engine


async def annotator_of(request: Request) -> str:
    """Return the name of the annotator; a request without one is refused."""
    return annotator_names.required_name(request, request.app.state.serving.annotator)


async def the_engine(request: Request) -> Engine:
    """`engine_of` as a dependency."""
    return engine_of(request)


# not plain functions: those would be run in a thread each time
Annotator = Annotated[str, Depends(annotator_of)]
TheEngine = Annotated[Engine, Depends(the_engine)]


def has_images(engine: Engine) -> bool:
    """Whether the items are images."""
    return engine.settings.kind == "image"


async def panel_of_items(engine: Engine, template: str, **values: Any) -> HTMLResponse:
    """Return a panel that shows items by the template `item.html`. Files of columns are looked for in a thread."""
    settings, image = engine.settings, has_images(engine)

    def make() -> str:
        return render(template, image=image, values_of=lambda item: shown_values(item, settings), **values)

    return HTMLResponse(await engine.read(make))


async def query_of(request: Request) -> QueryParams:
    """Return the query parameters of a request."""
    return request.query_params


Query = Annotated[QueryParams, Depends(query_of)]


def content_as_json(item: Item, engine: Engine) -> dict[str, Any]:
    """Return an item for the browser, without any sign of how it was chosen."""
    content: dict[str, Any] = {"id": item.id, "text": item.content}
    if has_images(engine):
        content["image"] = image_address(item.id)
    elif engine.settings.markdown:
        content["html"] = item_html(item.content)
    if values := shown_values(item, engine.settings):
        content["columns"] = [value.as_json() for value in values]
    return content


async def items_as_json(items: Sequence[Item], engine: Engine) -> list[dict[str, Any]]:
    """Return items for the browser. Where files are looked for or texts are rendered, that happens in a thread."""

    def make() -> list[dict[str, Any]]:
        return [content_as_json(item, engine) for item in items]

    takes_time = engine.settings.markdown or engine.settings.shown_columns
    contents = await engine.read(make) if takes_time else make()
    suggestions = [engine.suggester.suggestion(item) for item in items]
    return [
        content if suggestion is None else content | {"suggestion": suggestion}
        for content, suggestion in zip(contents, suggestions, strict=True)
    ]


def answer_as_json(answer: Answer | None) -> dict[str, Any] | None:
    """Return an answer, or none, for the browser."""
    if answer is None:
        return None
    return {"kind": answer.kind, "label": answer.label, "note": answer.note, "annotator": answer.annotator}


async def offered(items: Sequence[Item], engine: Engine, annotator: str) -> list[dict[str, Any]]:
    """Return items for the browser, with a sign where this person wanted to be asked later."""
    later = engine.schedule.postponed.get(annotator, {})
    return [
        content | ({"later": True} if item.id in later else {})
        for item, content in zip(items, await items_as_json(items, engine), strict=True)
    ]


def classes_of(engine: Engine) -> dict[str, Any]:
    """Return the classes that are offered, with keys and meanings, and those that are not offered any more."""
    view, keys = engine.class_view, engine.class_view.keys()
    return {
        "version": engine.classes_version,
        "list": [
            {
                "id": known.id,
                "name": known.name,
                "keys": keys[known.name],
                "description": known.description,
                "colour": known.colour,
                "examples": [_example(example, engine) for example in known.examples],
            }
            for known in view.visible
        ],
        "gone": view.gone(),
    }


def with_classes(engine: Engine) -> JSONResponse:
    """Return the reply to a change of the classes; words to highlight have the colours of their classes."""
    return JSONResponse(state_of(engine) | {"classes": classes_of(engine), "settings": page_settings(engine)})


def page_settings(engine: Engine) -> dict[str, Any]:
    """Return the settings that the page itself acts on, with their version."""
    settings = engine.settings
    text, edit = settings.guidelines, settings.guidelines_edit
    guidelines = {"version": guidelines_version(text), "by": edit["annotator"] if edit else ""}
    display = {
        "shown_columns": settings.shown_columns,
        "remote_images": settings.remote_images,
        "markdown": settings.markdown,
        "keywords": keywords_as_json(settings, engine.class_view),
    }
    return {
        "version": engine.settings_version,
        "title": settings.title or "Labelling",
        "suggest": engine.suggester.is_on,
        "guidelines": guidelines,
        "display": display,
    }


def guidelines_version(text: str) -> str:
    """Return what tells one text of the guidelines from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _example(example: Example, engine: Engine) -> dict[str, str]:
    words = {"text": engine.class_view.words_of(example)}
    return words | ({"image": image_address(example.item)} if example.item and has_images(engine) else {})


def image_address(item: str) -> str:
    """Return the address of the image of an item."""
    return f"image?id={quote(item, safe='')}"


def state_of(engine: Engine, annotator: str | None = None) -> dict[str, Any]:
    """Return the few numbers that come with every response, and the search of the annotator for a class, if any."""
    search = engine.schedule.class_searches.get(annotator or "")
    own = {} if annotator is None else {"class_search": search.as_json() if search else None}
    return own | {
        "labels": engine.labels,
        "model": engine.model_status.as_json(engine.labels),
        "classes_version": engine.classes_version,
        "settings_version": engine.settings_version,
        "summary": summary_of(engine),
    }
