"""The two requests that come with every key press, straight from the guard: no routing, no threads, little to do."""

import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bemps.errors import BempsError
from bemps.serve import people
from bemps.serve.engine import Engine
from bemps.serve.refusals import defect, refused
from bemps.serve.viewing import as_json, state_of
from bemps.store import Said
from bemps.store.checked import LONGEST_NAME, LONGEST_NOTE

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
RequestId = Annotated[str, Field(min_length=8, max_length=100)]
LOG = logging.getLogger("bemps.serve")
Handler = Callable[[Request, str], Awaitable[Response]]


class Wanted(BaseModel):
    """have: what the browser has already, also on its way back; n: how many more it wants."""

    have: list[Name] = Field(default=[], max_length=50)
    n: int = Field(default=1, ge=0, le=20)


class Answered(BaseModel):
    """What was said of an item; `request` makes a second sending harmless."""

    item: Name
    kind: Literal["label", "skip", "unsure", "note", "clear"]
    label: Name | None = None
    note: Annotated[str, Field(max_length=LONGEST_NOTE)] | None = None
    request: RequestId


class Hot:
    """In front of the application: takes the frequent requests, passes everything else on."""

    def __init__(self, app: ASGIApp, engine: Engine, annotator: str | None) -> None:
        self.app, self.engine, self.annotator = app, engine, annotator
        self.handlers: dict[str, Handler] = {"/api/next": self.following, "/api/answer": self.answer}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self.handlers.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if handler is None:
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await handler(request, people.required_name(request, self.annotator))
        except ClientDisconnect:  # in the middle of the body: nobody is there to be answered
            return
        except (BempsError, ValidationError) as error:
            answer = refused(scope, error)
        except Exception as error:
            LOG.exception("a defect")
            answer = defect(scope, error)
        await answer(scope, receive, send)

    async def following(self, request: Request, annotator: str) -> Response:
        """The next items."""
        wanted, engine = Wanted.model_validate_json(await request.body()), self.engine
        items = await engine.next(annotator, wanted.have, wanted.n)
        told = {"items": [as_json(item, engine) for item in items], "left": engine.board.left}
        return JSONResponse(told | {"orders": engine.insight.orders} | state_of(engine))

    async def answer(self, request: Request, annotator: str) -> Response:
        """An answer, acknowledged when it is durable."""
        given = Answered.model_validate_json(await request.body())
        event = await self.engine.answer(
            Said(annotator, given.item, given.kind, given.label, given.note, given.request)
        )
        return JSONResponse({"saved": True, "seq": event.seq} | state_of(self.engine))
