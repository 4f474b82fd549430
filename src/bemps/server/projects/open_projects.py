"""Projects that are open: an engine each, started when somebody comes, stopped when the server ends."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from starlette.types import ASGIApp

from bemps.server.engine import Engine
from bemps.server.http.error_responses import ProjectGone, ProjectUnknown
from bemps.server.project_start import Wishes, prepared
from bemps.server.projects.deleted_projects import DeletedProject, DeletedProjects
from bemps.server.projects.project_folder import ProjectFolder


@dataclass(frozen=True)
class OpenProject:
    """A project that is open.

    Attributes
    ----------
    engine : Engine
        The engine, which runs.
    app : ASGIApp
        The page of the project.
    closing : ExitStack
        What is closed in the end.
    """

    engine: Engine
    app: ASGIApp
    closing: ExitStack


class OpenProjects:
    """The open projects of a folder by their keys.

    Parameters
    ----------
    projects : ProjectFolder
        The folder.
    page_of : callable
        A function that makes the page of an engine.
    url : str
        The address of the page of projects, without a token.
    """

    def __init__(self, projects: ProjectFolder, page_of: Callable[[Engine], ASGIApp], url: str) -> None:
        self._projects, self._page_of, self._url = projects, page_of, url
        self.deleted = DeletedProjects(projects.folder)
        self._open: dict[str, OpenProject] = {}
        self._seen: set[str] = set()  # the keys of all that were open
        self._opening = asyncio.Lock()

    async def page(self, key: str) -> ASGIApp:
        """The page of a project; the first who comes starts its engine.

        Raises
        ------
        InputError
            When there is no such project, it is damaged, or another server has it (`AlreadyServed`).
        """
        if key not in self._open:
            async with self._opening:
                if key not in self._open:
                    opened = await asyncio.to_thread(self._opened, key)
                    await opened.engine.start()
                    self._open[key] = opened
                    self._seen.add(key)
        return self._open[key].app

    def deleted_keys(self) -> set[str]:
        """The keys that the deleted projects had."""
        folder = self._projects.folder
        return {self._projects.key_of(folder / deleted.name) for deleted in self.deleted.listed()}

    def _path_of(self, key: str) -> Path:
        path = self._projects.paths().get(key)
        if path is None and key not in self._seen and key not in self.deleted_keys():
            fix = "Choose one on the page of projects."
            raise ProjectUnknown("project", expected="one that is there", got="an address without one", fix=fix)
        if path is None:
            fix = "Restore it on the page of projects, or choose another there."
            raise ProjectGone("project", expected="one that is there", got="one that was deleted or moved", fix=fix)
        return path

    def _opened(self, key: str) -> OpenProject:
        path = self._path_of(key)
        with ExitStack() as stack:
            store, _ = prepared(str(path), None, Wishes(fewest_classes=0))
            stack.callback(store.close)
            stack.enter_context(store.serving(f"{self._url}p/{key}/"))
            engine = Engine(store, str(path))
            return OpenProject(engine, self._page_of(engine), stack.pop_all())

    async def delete(self, key: str) -> DeletedProject:
        """Move a project to the deleted ones; this server closes it first.

        Raises
        ------
        InputError
            When there is no such project, another server has it, or it cannot be moved.
        """
        async with self._opening:
            path = self._path_of(key)
            if key in self._open:
                opened = self._open.pop(key)
                await opened.engine.stop()
                opened.closing.close()
            return await asyncio.to_thread(self.deleted.delete, path)

    async def restore(self, id: str) -> str:
        """Move a deleted project back; returns its key."""
        async with self._opening:
            return self._projects.key_of(await asyncio.to_thread(self.deleted.restore, id))

    async def close(self) -> None:
        """Stop every engine; what was answered is in the projects' files."""
        for opened in self._open.values():
            await opened.engine.stop()
            opened.closing.close()
        self._open = {}
