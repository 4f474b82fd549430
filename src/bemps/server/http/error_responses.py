"""Answers that say no: JSON for the page's own requests, a plain page for people."""

from collections.abc import Mapping

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from bemps.errors import BempsError, InputError
from bemps.server.http.saved_meanwhile import SavedMeanwhile
from bemps.server.http.templating import render
from bemps.store.sql.database_errors import NotRead, NotSaved

STATUS_CODES = {"item": 404, "id": 404}
GONE = 410  # the browser keeps its answers, as the project may come back


class BodyTooLarge(BempsError):
    """The body of a request grew beyond the limit."""


class ProjectGone(InputError):
    """The error for a project that was deleted or moved."""

    words = "This project was deleted or moved.", "Restore it under Deleted projects, on the page of projects."


class ProjectUnknown(ProjectGone):
    """The error for an address at which this server has never seen a project; it may have been moved earlier."""

    words = "There is no project at this address.", "Choose one on the page of projects."


def refusal(scope: Scope, status: int, what: str, fix: str, present: Mapping[str, str] | None = None) -> Response:
    """Return an error as JSON or as a page, whichever the client reads.

    Parameters
    ----------
    scope : Scope
        The ASGI scope of the request.
    status : int
        The HTTP status.
    what : str
        What went wrong.
    fix : str
        What the user can do about it.
    present : mapping of str to str, optional
        What the values that a form did not know are now, as in `SavedMeanwhile`.

    Returns
    -------
    Response
        The response.
    """
    if wants_json(scope):
        about = {} if present is None else {"present": dict(present)}
        return JSONResponse({"error": what, "fix": fix} | about, status_code=status)
    root = scope.get("bemps.root", "")
    return HTMLResponse(render("refusal.html", what=what, fix=fix, status=status, root=root), status_code=status)


def refused(scope: Scope, error: BempsError) -> Response:
    """Answer with an error of bemps, in its own words; what could not be saved may be sent again."""
    if isinstance(error, BodyTooLarge):
        return refusal(scope, 413, "More than fits into one request.", "Send less.")
    if isinstance(error, NotSaved):
        return refusal(scope, 507, f"Not saved: {error.got}.", error.fix)
    if isinstance(error, NotRead):
        return refusal(scope, 503, f"The project cannot be read: {error.got}.", error.fix)
    if isinstance(error, ProjectGone):
        return refusal(scope, GONE, *error.words)
    if isinstance(error, InputError):
        what = f"{error.what}: expected {error.expected}; got {error.got}."
        present = error.present if isinstance(error, SavedMeanwhile) else None
        return refusal(scope, STATUS_CODES.get(error.what, 422), what[0].upper() + what[1:], error.fix, present)
    return refusal(scope, 422, str(error), "")


def malformed(scope: Scope, error: RequestValidationError) -> Response:
    """Answer a request that does not have the form that the page sends."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refusal(scope, 422, f"request: Invalid JSON: {first['ctx']['error']}.", "Reload the page.")
    part = ".".join(map(str, first["loc"][1:])) or "request"
    if first["type"] == "string_too_short" and not first["input"].strip():
        return refusal(scope, 422, f"{part[0].upper()}{part[1:]}: expected a text; got nothing.", "Write something.")
    if first["type"] == "string_too_long":
        what = f"{part[0].upper()}{part[1:].partition('.')[0]}"
        expected, got = first["ctx"]["max_length"], len(first["input"])
        return refusal(scope, 422, f"{what}: expected at most {expected:,} characters; got {got:,}.", "Shorten it.")
    return refusal(scope, 422, f"{part}: {first['msg']}.", "Reload the page.")


def defect(scope: Scope, error: Exception) -> Response:
    """Answer after an unexpected error; the browser keeps its answer and sends it again."""
    return refusal(
        scope, 500, f"The server failed: {type(error).__name__}.", "What was acknowledged is safe; try again."
    )


def wants_json(scope: Scope) -> bool:
    """Return whether the client of a request reads JSON."""
    return "/api/" in scope["path"] or "application/json" in Headers(scope=scope).get("accept", "")
