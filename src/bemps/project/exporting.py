"""Out of a project: labels, predictions, or the whole log."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bemps._utils.files import check_output, mark_folder, written_whole
from bemps.errors import InputError
from bemps.formats.entries import ExportInfo, PredictedItem, export_info, labelled_items
from bemps.formats.export_tables import event_rows
from bemps.formats.format_detection import format_to_write
from bemps.formats.format_registry import Format
from bemps.store import Answer, Store
from bemps.store.events import LABEL

COMPANIONS = ("-wal", "-shm", ".lock", ".vectors")  # what lies beside a project file and belongs to it


@dataclass(frozen=True)
class Output:
    """A path that may be written, and the format to write there."""

    path: Path
    format: Format

    def write(self, writer: Callable[[Path], None]) -> None:
        """Write everything or nothing."""
        with written_whole(self.path, "export to") as draft:
            writer(draft)
            if self.format.folder is not None:
                mark_folder(draft, self.format.folder)


def check_export(
    path: str | Path, format: str | None = None, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output:
    """Find the format of an export and check its path, before any work is done.

    Parameters
    ----------
    path : path or str
        The file or folder to write.
    format : str, optional
        The name of a format. By default the ending of the path decides.
    inputs : iterable of Path
        Files that may not be overwritten.
    force : bool
        Whether to replace an earlier export.

    Returns
    -------
    Output
        The path and the format.

    Raises
    ------
    InputError
        If the format is unknown or the path may not be written.
    """
    out = Path(path)
    how = format_to_write(format, out)
    check_output(out, inputs=inputs, folder=how.folder, file=how.file, force=force)
    return Output(out, how)


def project_files(store: Store) -> list[Path]:
    """Return the files that no output may replace: the project with its parts, and the files that it was made from."""
    settings, files = store.read_settings(), []
    if store.path is not None:
        files = [store.path, *(store.path.with_name(store.path.name + ending) for ending in COMPANIONS)]
    stamp = settings.stamp or []  # projects of earlier releases have only this
    sources = [*settings.sources, *stamp[:1]]
    if settings.kind == "image":
        sources.append(settings.folder)
    return files + [Path(source) for source in sources if source]


def export_labels(
    store: Store, path: str | Path, format: str | None = None, *, resolved: bool = False, force: bool = False
) -> int:
    """Write every answer of every annotator, or with `resolved` the one label that holds for each item.

    Parameters
    ----------
    store : Store
        The project.
    path : path
        The file or folder to write.
    format : str, optional
        The name of a format of `FORMATS`. By default the ending of the path decides.
    resolved : bool
        Whether to write one label for each item.
    force : bool
        Whether to replace an earlier export at that path.

    Returns
    -------
    int
        The number of answers that were written.

    Raises
    ------
    InputError
        If the format is unknown or the path may not be written.
    """
    output = check_export(path, format, inputs=project_files(store), force=force)
    answers = _resolved(store) if resolved else store.answers()
    full = any(answer.kind != LABEL or answer.note is not None for answer in answers)
    about = export_info(store, full=full, methods=any(answer.method is not None for answer in answers))
    output.write(lambda draft: output.format.labels(labelled_items(store, answers), about, draft))
    return len(answers)


def export_predictions(
    store: Store,
    predictions: Iterable[PredictedItem],
    path: str | Path,
    format: str | None = None,
    *,
    model: str = "",
    force: bool = False,
) -> None:
    """Write items with the probability of every class.

    Parameters
    ----------
    store : Store
        The project.
    predictions : iterable of PredictedItem
        The items with their probabilities.
    path : path
        The file or folder to write.
    format : str, optional
        The name of a format of `FORMATS`. By default the ending of the path decides.
    model : str
        The name of the model, for formats that store it.
    force : bool
        Whether to replace an earlier export at that path.

    Raises
    ------
    InputError
        If the format is unknown or the path may not be written.
    """
    output = check_export(path, format, inputs=project_files(store), force=force)
    write_predictions(predictions, export_info(store, model=model), output)


def write_predictions(predictions: Iterable[PredictedItem], about: ExportInfo, output: Output) -> None:
    """Write predictions to a path that was checked.

    Parameters
    ----------
    predictions : iterable of PredictedItem
        The predictions.
    about : ExportInfo
        The description of the project.
    output : Output
        The result of `check_export`.
    """
    output.write(lambda draft: output.format.predictions(predictions, about, draft))


def export_events(store: Store, path: str | Path, format: str | None = None, *, force: bool = False) -> int:
    """Write the log of events, one row for each event.

    Parameters
    ----------
    store : Store
        The project.
    path : path
        The file to write.
    format : str, optional
        `csv`, `jsonl`, `parquet` or `xlsx`. By default the ending of the path decides.
    force : bool
        Whether to replace an earlier export at that path.

    Returns
    -------
    int
        The number of events that were written.

    Raises
    ------
    InputError
        If the format cannot store events or the path may not be written.
    """
    output = check_export(path, format, inputs=project_files(store), force=force)
    write_rows = output.format.rows
    if write_rows is None or output.format.folder is not None:
        fix = "The log has no place in the formats of other tools."
        raise InputError("format", expected="csv, jsonl, parquet or xlsx", got=str(format or path), fix=fix)
    events = store.events()
    output.write(lambda draft: write_rows(event_rows(events), draft))
    return len(events)


def _resolved(store: Store) -> list[Answer]:
    return [answer for answer in store.current().values() if answer.label is not None]
