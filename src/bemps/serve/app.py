"""The application: page, panels and the page's own requests, behind the guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from bemps.errors import BempsError
from bemps.serve import answering, panels, viewing
from bemps.serve.engine import Engine
from bemps.serve.hot import Hot
from bemps.serve.pages import STATIC
from bemps.serve.refusals import defect, refusal, refused
from bemps.serve.security import Door, Guard


@dataclass(frozen=True)
class Serving:
    """What the requests need: the engine, and the annotator where no name is given."""

    engine: Engine
    door: Door
    annotator: str | None


def application(engine: Engine, door: Door, annotator: str | None) -> Guard:
    """The ASGI application of a project."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.stop()

    app = FastAPI(lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.serving = Serving(engine, door, annotator)
    for routes in (viewing.router, panels.router, answering.router):
        app.include_router(routes)
    app.mount("/static", _Static(directory=STATIC))
    app.add_exception_handler(BempsError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _defect)
    return Guard(Hot(app, engine, annotator), door)


class _Static(StaticFiles):
    """Files of the package: browsers ask whether they changed, so that an update is never half old."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        answer = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        answer.headers["cache-control"] = "no-cache"
        return answer


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, BempsError)
    return refused(request.scope, error)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "request"
    return refusal(request.scope, 422, f"{place}: {first['msg']}.", "Reload the page.")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, BempsError):  # met while the body was read
        return refused(request.scope, error.__cause__)
    words = "There is nothing here." if error.status_code == 404 else f"{error.detail}."
    return refusal(request.scope, error.status_code, words, "Go back to the labelling page.")


async def _defect(request: Request, error: Exception) -> Response:
    return defect(request.scope, error)
