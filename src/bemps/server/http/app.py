"""The application: page, panels and the page's own requests, behind the guard."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from bemps.errors import BempsError
from bemps.server.engine import Engine
from bemps.server.http.access import Door, Guard
from bemps.server.http.error_responses import defect, malformed, refusal, refused
from bemps.server.http.templating import STATIC
from bemps.server.routes import (
    routes_assignment,
    routes_classes,
    routes_edit,
    routes_guidelines,
    routes_items,
    routes_lists,
    routes_panels,
    routes_results,
    routes_review,
    routes_searches,
    routes_settings,
    routes_suggestions,
)


@dataclass(frozen=True)
class Serving:
    """The objects that the routes of a project need.

    Attributes
    ----------
    engine : Engine
        The project.
    door : Door
        The rules for who may use the server.
    annotator : str or None
        The name of a person whose browser sent no name. None if the page asks for it.
    is_mounted : bool
        Whether the project is part of a page with several projects.
    """

    engine: Engine
    door: Door
    annotator: str | None
    is_mounted: bool = False


def application(engine: Engine, door: Door, annotator: str | None) -> Guard:
    """Return the ASGI application of one project.

    Parameters
    ----------
    engine : Engine
        The project. The application starts and stops it.
    door : Door
        The rules for who may use the server.
    annotator : str or None
        The name of a person whose browser sent no name. None if the page asks for it.

    Returns
    -------
    Guard
        The application behind its guard.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.stop()

    return Guard(labelling_app(engine, door, annotator, lifespan=life), door)


def labelling_app(
    engine: Engine,
    door: Door,
    annotator: str | None,
    *,
    is_mounted: bool = False,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
) -> FastAPI:
    """Return the page of an engine, without a guard.

    Parameters
    ----------
    engine, door, annotator
        As for `application`.
    is_mounted : bool
        Whether the project is part of a page with several projects.
    lifespan : callable, optional
        A context manager that starts and stops the engine, if nothing else does.

    Returns
    -------
    FastAPI
        The application.
    """
    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.serving = Serving(engine, door, annotator, is_mounted)
    for routes in (
        routes_edit.router,  # first: routes are tried in this order, and most requests are answers
        routes_items.router,
        routes_panels.router,
        routes_classes.router,
        routes_guidelines.router,
        routes_results.router,
        routes_review.router,
        routes_settings.router,
        routes_assignment.router,
        routes_lists.router,
        routes_suggestions.router,
        routes_searches.router,
    ):
        app.include_router(routes)
    serve_static_files(app)
    handle_errors(app)
    return app


def serve_static_files(app: FastAPI) -> None:
    """Serve scripts, styles and the icon."""
    app.mount("/static", _Static(directory=STATIC))


def handle_errors(app: FastAPI) -> None:
    """Answer every error with a sentence."""
    app.add_exception_handler(BempsError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _defect)


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
    return malformed(request.scope, error)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, BempsError):  # met while the body was read
        return refused(request.scope, error.__cause__)
    if isinstance(error.__cause__, ValueError | RecursionError):  # bytes that are no text, brackets without end
        return refusal(request.scope, 422, "request: Invalid JSON.", "Reload the page.")
    words = "There is nothing here." if error.status_code == 404 else f"{error.detail}."
    return refusal(request.scope, error.status_code, words, "Go back to the labelling page.")


async def _defect(request: Request, error: Exception) -> Response:
    return defect(request.scope, error)
