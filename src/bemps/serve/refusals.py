"""Answers that say no: JSON for the page's own requests, a plain page for people."""

from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from bemps.errors import BempsError, InputError
from bemps.serve.pages import render
from bemps.store.failures import NotRead, NotSaved


class BodyTooLarge(BempsError):
    """A body without a length that grew beyond the limit."""


def refusal(scope: Scope, status: int, what: str, fix: str) -> Response:
    """What went wrong and what to do, in the form that the asker reads."""
    if wants_json(scope):
        return JSONResponse({"error": what, "fix": fix}, status_code=status)
    root = scope.get("bemps.root", "")
    return HTMLResponse(render("refusal.html", what=what, fix=fix, status=status, root=root), status_code=status)


def refused(scope: Scope, error: BempsError | ValidationError) -> Response:
    """What bemps refuses: in its own words. What could not be saved may be sent again."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "request"
        return refusal(scope, 422, f"{place}: {first['msg']}.", "Reload the page.")
    if isinstance(error, BodyTooLarge):
        return refusal(scope, 413, "More than fits into one request.", "Send less.")
    if isinstance(error, NotSaved):
        return refusal(scope, 507, f"Not saved: {error.got}.", error.fix)
    if isinstance(error, NotRead):
        return refusal(scope, 503, f"The project cannot be read: {error.got}.", error.fix)
    if isinstance(error, InputError):
        what = f"{error.what}: expected {error.expected}; got {error.got}."
        return refusal(scope, 404 if error.what in ("item", "id") else 422, what[0].upper() + what[1:], error.fix)
    return refusal(scope, 422, str(error), "")


def defect(scope: Scope, error: Exception) -> Response:
    """A failure that nobody foresaw; the browser keeps the answer and sends it again."""
    return refusal(
        scope, 500, f"The server failed: {type(error).__name__}.", "What was acknowledged is safe; try again."
    )


def wants_json(scope: Scope) -> bool:
    return "/api/" in scope["path"] or "application/json" in Headers(scope=scope).get("accept", "")
