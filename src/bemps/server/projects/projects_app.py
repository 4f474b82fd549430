"""The application of a folder of projects: its own page, and below `/p/KEY/` the page of each project."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bemps.errors import BempsError
from bemps.server.engine import Engine
from bemps.server.http.access import Door, Guard
from bemps.server.http.app import handle_errors, labelling_app, serve_static_files
from bemps.server.http.browser import running_page
from bemps.server.http.error_responses import refused
from bemps.server.projects import routes_projects
from bemps.server.projects.new_projects import NewProjects
from bemps.server.projects.open_projects import OpenProjects
from bemps.server.projects.project_folder import ProjectFolder
from bemps.server.projects.uploads import LARGEST_UPLOAD, Uploads
from bemps.store.sql.server_lock import AlreadyServed

PREFIX = "/p/"


def projects_application(folder: Path, door: Door, annotator: str | None, url: str) -> Guard:
    """Return the ASGI application of a folder of projects.

    Parameters
    ----------
    folder : Path
        The folder of the projects, locked for this server.
    door : Door
        The rules for who may use the server.
    annotator : str or None
        The name of a person whose browser sent no name. None if the page asks for it.
    url : str
        The address of the page, without a token.

    Returns
    -------
    Guard
        The application behind its guard.
    """
    projects, uploads = ProjectFolder(folder), Uploads(folder)
    page_of: Callable[[Engine], ASGIApp] = lambda engine: labelling_app(engine, door, annotator, is_mounted=True)  # noqa: E731
    opened = OpenProjects(projects, page_of, url)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        uploads.clear()
        yield
        await opened.close()
        uploads.close()

    app = FastAPI(lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.projects = routes_projects.Projects(projects, uploads, NewProjects(projects, uploads), opened)
    app.include_router(routes_projects.router)
    serve_static_files(app)
    handle_errors(app)
    return Guard(Mounted(app, opened), door, {routes_projects.UPLOAD: LARGEST_UPLOAD})


class Mounted:
    """ASGI: requests below `/p/KEY/` go to that project, all others to the page of projects."""

    def __init__(self, app: ASGIApp, projects: OpenProjects) -> None:
        self._app, self.projects = app, projects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        key, slash, rest = scope["path"].removeprefix(PREFIX).partition("/")
        if not slash:
            await RedirectResponse(f"{scope['bemps.root']}{PREFIX}{key}/", 303)(scope, receive, send)
            return
        app: ASGIApp
        try:
            app = await self.projects.page(key)
        except AlreadyServed as other:
            address = running_page(other)
            app = refused(scope, other) if address is None else RedirectResponse(address, 303)
        except BempsError as error:
            app = refused(scope, error)
        await app({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, send)
