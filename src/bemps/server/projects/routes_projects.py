"""Requests of the page of projects: the list, uploads, a look at a file, new projects."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from bemps.errors import InputError, unknown_name
from bemps.formats.class_file import parse_class_file
from bemps.server.http.templating import render
from bemps.server.projects.file_preview import ENCODINGS
from bemps.server.projects.new_projects import Choices, NewProjects
from bemps.server.projects.open_projects import OpenProjects
from bemps.server.projects.project_folder import ProjectFolder
from bemps.server.projects.sample_projects import SAMPLES
from bemps.server.projects.uploads import LARGEST_UPLOAD, Uploads, accepted_endings
from bemps.store import NewClass
from bemps.store.validation import LONGEST_NAME

router = APIRouter()
UPLOAD = "/api/upload"  # the one address that takes more than a few kilobytes
MOST_CLASSES = 500
LARGEST_CLASS_FILE = 200_000  # characters
MOST_ENDINGS = 1_000
Short = Annotated[str, Field(max_length=1_000)]
Class = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class NewUpload(BaseModel):
    """A request for an upload; `left_out` counts, by ending, the files that the browser does not send."""

    left_out: Annotated[dict[Short, Annotated[int, Field(ge=1)]], Field(max_length=MOST_ENDINGS)] = {}


class UploadName(BaseModel):
    """The id of an upload."""

    upload: Short


class SampleName(BaseModel):
    """The name of a sample."""

    name: Short


class ClassFile(BaseModel):
    """The name and the text of a class file."""

    name: Short
    text: Annotated[str, Field(max_length=LARGEST_CLASS_FILE)]


class ProjectKey(BaseModel):
    """The key of a project."""

    key: Short


class DeletedId(BaseModel):
    """The id of a deleted project."""

    id: Short


class NewProject(BaseModel):
    """A request for a new project; `Choices` explains the fields.

    Attributes
    ----------
    upload : str
        The id of the upload.
    title : str
        The name of the project.
    reading : list of str
        The columns to read.
    classes : list of str
        The names of classes that were typed.
    class_file : ClassFile or None
        A class file, in place of names.
    class_column : str
        The column whose values are the classes.
    labelled : bool
        Whether the values of that column count as labels.
    encoding : str
        The encoding of a text file that is not in UTF-8.
    sheet : str
        The sheet of a workbook with several.
    """

    upload: Short
    title: Annotated[str, Field(max_length=200)] = ""
    reading: Annotated[list[Short], Field(max_length=10)] = []
    classes: Annotated[list[Class], Field(max_length=MOST_CLASSES)] = []
    class_file: ClassFile | None = None
    class_column: Short = ""
    labelled: bool = False
    encoding: Annotated[str, Field(max_length=20)] = ""
    sheet: Short = ""


@dataclass(frozen=True)
class Projects:
    """The objects that the routes of the projects page need.

    Attributes
    ----------
    folder : ProjectFolder
        The folder of the projects.
    uploads : Uploads
        The files that browsers send.
    new : NewProjects
        Makes projects from uploads.
    opened : OpenProjects
        The projects that are open, and the deleted ones.
    creating : asyncio.Lock
        The lock that lets one project be made at a time.
    """

    folder: ProjectFolder
    uploads: Uploads
    new: NewProjects
    opened: OpenProjects
    creating: asyncio.Lock = field(default_factory=asyncio.Lock)


def _parts(request: Request) -> Projects:
    projects: Projects = request.app.state.projects
    return projects


@router.get("/")
async def page(request: Request) -> HTMLResponse:
    """Return the page of projects."""
    projects = await asyncio.to_thread(_parts(request).folder.projects)
    samples = {name: sample for name, sample in SAMPLES.items() if sample.is_available}
    values = {
        "projects": [(project, max(0.0, time.time() - project.changed)) for project in projects],
        "samples": samples,
        "deleted": await asyncio.to_thread(_parts(request).opened.deleted.listed),
        "folder": str(_parts(request).folder.folder),
        "separator": os.sep,
        "accepted": sorted(accepted_endings()),
        "largest": LARGEST_UPLOAD,
    }
    return HTMLResponse(render("projects.html", **values))


@router.get("/api/state")
async def state(request: Request) -> JSONResponse:
    """Return a sign that this server is running."""
    return JSONResponse({"projects": len(await asyncio.to_thread(_parts(request).folder.paths))})


@router.post("/api/uploads")
async def begin(request: Request, body: NewUpload) -> JSONResponse:
    """Begin an upload; its files follow one by one."""
    return JSONResponse({"upload": _parts(request).uploads.begin(body.left_out)})


@router.post(UPLOAD)
async def receive(
    request: Request,
    upload: Annotated[str, Query(max_length=100)],
    name: Annotated[str, Query(min_length=1, max_length=2_000)],
) -> JSONResponse:
    """Receive one file of an upload as plain bytes."""
    return JSONResponse({"bytes": await _parts(request).uploads.receive(upload, name, request.stream())})


@router.post("/api/uploads/drop")
async def drop(request: Request, body: UploadName) -> JSONResponse:
    """Remove an upload that nobody wants any more."""
    _parts(request).uploads.check(body.upload)
    await asyncio.to_thread(_parts(request).uploads.drop, body.upload)
    return JSONResponse({})


@router.get("/panel/preview")
async def look(
    request: Request,
    upload: str,
    encoding: Annotated[str, Query(max_length=20)] = "",
    sheet: Annotated[str, Query(max_length=1_000)] = "",
) -> HTMLResponse:
    """Return a preview of an upload, with the questions about it."""
    if encoding and encoding not in ENCODINGS:
        raise unknown_name("encoding", encoding, ENCODINGS)
    seen = await asyncio.to_thread(_parts(request).new.look, upload, encoding, sheet)
    return HTMLResponse(render("preview.html", seen=seen, upload=upload, encodings=ENCODINGS))


@router.post("/api/projects")
async def create(request: Request, body: NewProject) -> JSONResponse:
    """Make a project of an upload."""
    classes: list[str | NewClass] = list(body.classes)
    if body.class_file is not None:
        classes = list[str | NewClass](parse_class_file(body.class_file.text, body.class_file.name))
        if not classes:
            raise InputError("class file", expected="classes", got="none", fix="Choose another file, or type them.")
    choices = Choices(**body.model_dump(exclude={"upload", "classes", "class_file"}), classes=classes)
    async with _parts(request).creating:
        key = await asyncio.to_thread(_parts(request).new.create, body.upload, choices)
    return JSONResponse({"url": f"p/{key}/"})


@router.post("/api/projects/delete")
async def delete(request: Request, body: ProjectKey) -> JSONResponse:
    """Move a project to the deleted ones."""
    async with _parts(request).creating:
        gone = await _parts(request).opened.delete(body.key)
    return JSONResponse({"id": gone.id, "name": gone.name})


@router.post("/api/projects/restore")
async def restore(request: Request, body: DeletedId) -> JSONResponse:
    """Move a deleted project back."""
    async with _parts(request).creating:
        key = await _parts(request).opened.restore(body.id)
    return JSONResponse({"url": f"p/{key}/"})


@router.post("/api/samples")
async def create_sample(request: Request, body: SampleName) -> JSONResponse:
    """Make a project of a sample."""
    if body.name not in SAMPLES:
        raise unknown_name("sample", body.name, SAMPLES)
    async with _parts(request).creating:
        key = await asyncio.to_thread(_parts(request).new.create_sample, body.name)
    return JSONResponse({"url": f"p/{key}/"})
