"""The results of a project: what can be had, files that are being made, and the files themselves."""

from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel
from starlette.responses import FileResponse

from bemps.data.spreadsheets import WORKBOOKS
from bemps.errors import InputError, unknown_name
from bemps.formats.format_registry import FORMATS
from bemps.project.project_models import has_plain_arrays
from bemps.server.engine import Engine
from bemps.server.http.templating import render
from bemps.server.panels.outlook import can_learn
from bemps.server.panels.summary import right_words
from bemps.server.results.result_jobs import DONE, Job
from bemps.server.results.result_names import ResultWish, project_name
from bemps.server.routes.route_values import Annotator, TheEngine, has_images
from bemps.store.project_settings import ProjectSettings

router = APIRouter()
TABLES = ("csv", "jsonl", "parquet", "xlsx")  # formats that the log fits into
TASKS = {"embed": "reading the items", "fine-tune": "learning the language of your texts", "predict": "predicting"}


class Asked(BaseModel):
    """A request for a file; `Project.export` explains the choices.

    Attributes
    ----------
    what : str
        The content: labels, predictions, report, model, arrays or events.
    format : str or None
        The name of a file format. None takes the usual one.
    resolved : bool
        Whether to write one resolved label for each item instead of the answers of all annotators.
    audit : bool
        Whether predictions, model and arrays learn from the audit items too.
    """

    what: Literal["labels", "predictions", "report", "model", "arrays", "events"]
    format: str | None = None
    resolved: bool = False
    audit: bool = False


class Named(BaseModel):
    """The id of a job."""

    id: str


@router.get("/panel/result")
async def result(engine: TheEngine) -> HTMLResponse:
    """Return the panel with the files that can be made or are being made."""
    answers = await engine.read(engine.store.current)
    audit = engine.model_status.last.get("audit") or {}
    formats = {name: row.title for name, row in FORMATS.items() if row.is_available}
    values: dict[str, Any] = {
        "labels": engine.labels,
        "total": len(engine.schedule.ids),
        "right": right_words(audit["accuracy"]) if "accuracy" in audit else "",
        "model": not engine.settings.no_model,
        "can_learn": can_learn(engine, answers),
        "arrays": has_plain_arrays(engine.settings),
        "measuring": sum(answers[name].label is not None for name in engine.schedule.audit if name in answers),
        "formats": formats,
        "tables": {name: title for name, title in formats.items() if name in TABLES},
        "images": has_images(engine),
        "usual": _usual_format(engine.settings),
    }
    return HTMLResponse(render("result.html", jobs=_jobs(engine), **values))


@router.get("/panel/result-files")
async def files(engine: TheEngine) -> HTMLResponse:
    """Return the list of files alone, for a panel that is open."""
    return HTMLResponse(render("result_files.html", jobs=_jobs(engine)))


@router.post("/api/result")
async def make(asked: Asked, _: Annotator, engine: TheEngine) -> JSONResponse:
    """Start to make a file."""
    if asked.format is not None and asked.format not in FORMATS:
        raise unknown_name("format", asked.format, FORMATS)
    project = project_name(engine.store, engine.settings.title)
    job = engine.results.start(ResultWish(**asked.model_dump()), project)
    return JSONResponse(_as_json(job))


@router.get("/api/result")
async def state(engine: TheEngine, id: str) -> JSONResponse:
    """Return the progress of a file."""
    return JSONResponse(_as_json(engine.results.job(id)))


@router.post("/api/result/cancel")
async def cancel(named: Named, _: Annotator, engine: TheEngine) -> JSONResponse:
    """End a job, or remove its file."""
    await engine.results.cancel(named.id)
    return JSONResponse({"cancelled": True})


@router.get("/result")
async def download(engine: TheEngine, id: str) -> Response:
    """Return the file of a job."""
    job = engine.results.job(id)
    if job.state != DONE or job.file is None:
        raise InputError("id", expected="a file that is ready", got=job.state, fix="Wait until it is.")
    return FileResponse(
        job.file, filename=job.file.name, media_type="application/octet-stream", headers={"cache-control": "no-store"}
    )


def _usual_format(settings: ProjectSettings) -> str:
    """Who brought a workbook gets one back."""
    return "xlsx" if settings.sources and Path(settings.sources[-1]).suffix.lower() in WORKBOOKS else "csv"


def _jobs(engine: Engine) -> list[dict[str, Any]]:
    return [_as_json(job) for job in engine.results.listed()]


def _as_json(job: Job) -> dict[str, Any]:
    """A job as the page shows it."""
    return {
        "id": job.id,
        "state": job.state,
        "name": job.wish.title,
        "labels": job.labels,
        "time": f"{job.moment:%H:%M}",
        "task": TASKS.get(job.task, job.task or "getting ready"),
        "done": job.done,
        "total": job.total,
        "file": job.file.name if job.file is not None and job.state == DONE else None,
        "size": _size(job.size) if job.state == DONE else "",
        "problem": job.problem,
    }


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{max(count / 1e3, 0.1):.1f} kB"
