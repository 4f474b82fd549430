"""What `Project.export` writes. To add something, write a function and a row of `EXPORTS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bemps._utils.files import check_output, written_whole
from bemps._utils.protected_files import PAGE
from bemps.errors import InputError, unknown_name
from bemps.formats.class_file import class_file_text
from bemps.formats.entries import export_info
from bemps.project import empty_rows
from bemps.project.exporting import check_export, export_events, export_labels, project_files, write_predictions
from bemps.project.model_arrays import KIND as ARRAYS
from bemps.project.model_arrays import write_arrays
from bemps.project.portable_model import save_portable
from bemps.project.project_models import model_version
from bemps.project.report.project_report import report_page
from bemps.project.report.report_content import report_content

if TYPE_CHECKING:
    from bemps.project.project import Project


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """Where and how to write. The attributes are the parameters of `Project.export`."""

    path: str | Path
    format: str | None
    resolved: bool
    audit: bool
    force: bool

    @property
    def file(self) -> Path:
        """The path as a path."""
        return Path(self.path)


def _labels(project: "Project", request: ExportRequest) -> None:
    export_labels(project.store, request.path, request.format, resolved=request.resolved, force=request.force)


def _predictions(project: "Project", request: ExportRequest) -> None:
    output = check_export(request.path, request.format, inputs=project_files(project.store), force=request.force)
    rows = project.predict(empty_rows.rows_of_project(project.store), audit=request.audit)
    about = export_info(project.store, model=model_version(project.store, request.audit))
    write_predictions(project.with_progress(rows), about, output)


def _report(project: "Project", request: ExportRequest) -> None:
    if request.format not in (None, "html"):
        raise InputError("format", expected="html, or none", got=str(request.format), fix="A report is one HTML file.")
    check_output(request.file, inputs=project_files(project.store), file=PAGE, force=request.force)
    page = report_page(report_content(project))
    with written_whole(request.file, "export to") as draft:
        draft.write_text(page, encoding="utf-8")


def _model(project: "Project", request: ExportRequest) -> None:
    check_output(request.file, inputs=project_files(project.store), folder="saved learner", force=request.force)
    save_portable(project.learner(request.audit, final=True), request.file, force=request.force)


def _arrays(project: "Project", request: ExportRequest) -> None:
    check_output(request.file, inputs=project_files(project.store), folder=ARRAYS, force=request.force)
    with written_whole(request.file, "export to") as draft:
        write_arrays(project.current_learner(request.audit), draft, title=project.store.read_settings().title)


def _classes(project: "Project", request: ExportRequest) -> None:
    if request.format not in (None, "csv"):
        raise InputError("format", expected="csv, or none", got=str(request.format), fix="A class file is CSV.")
    check_output(request.file, inputs=project_files(project.store), force=request.force)
    with written_whole(request.file, "export to") as draft:
        draft.write_text(class_file_text(project.store.classes()), encoding="utf-8", newline="")


def _events(project: "Project", request: ExportRequest) -> None:
    export_events(project.store, request.path, request.format, force=request.force)


Exporter = Callable[["Project", ExportRequest], None]
EXPORTS: dict[str, Exporter] = {
    "labels": _labels,
    "predictions": _predictions,
    "report": _report,
    "model": _model,
    "arrays": _arrays,
    "classes": _classes,
    "events": _events,
}
FOLDERS = ("model", "arrays")  # which have one format


def exporter(what: str, format: str | None) -> Exporter:
    """Return what writes an export; an unknown name, and a format where there is no choice, are refused."""
    if what not in EXPORTS:
        raise unknown_name("what to export", what, EXPORTS)
    if what in FOLDERS and format is not None:
        raise InputError("format", expected=f"none for {what}, which is a folder", got=format, fix="Leave it out.")
    return EXPORTS[what]
