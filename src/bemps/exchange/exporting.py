"""Out of a project: labels, predictions, or the whole log."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bemps._io import check_output, mark_folder, written_whole
from bemps.errors import InputError
from bemps.exchange.entries import About, Predicted, about, labelled
from bemps.exchange.formats import FORMATS, Format, format_to_write
from bemps.exchange.tables import event_rows
from bemps.store import Answer, Store
from bemps.store.words import LABEL

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
    """Find the format and refuse a path that may not be written, before any work is done."""
    out = Path(path)
    how = format_to_write(format, out)
    check_output(out, inputs=inputs, folder=how.folder, file=how.file, force=force)
    return Output(out, how)


def project_files(store: Store) -> list[Path]:
    """What no output may replace: the project and what belongs to it, and the files that it was made from."""
    settings, files = store.settings, []
    if store.path is not None:
        files = [store.path, *(store.path.with_name(store.path.name + ending) for ending in COMPANIONS)]
    stamp = settings.get("stamp") or []  # projects of earlier releases have only this
    sources = [*settings.get("sources", ()), *stamp[:1]]
    if settings.get("kind") == "image":
        sources.append(settings.get("folder", ""))
    return files + [Path(source) for source in sources if source]


def export_labels(
    store: Store, path: str | Path, format: str | None = None, *, resolved: bool = False, force: bool = False
) -> int:
    """Write every answer of every annotator, or with `resolved` the one label that holds for each item.

    Parameters
    ----------
    store
        The project.
    path, format
        Where to, and the name of a format; without it the ending of the path tells.
    resolved
        Whether to write one label for each item.
    force
        Whether to replace an earlier export at that path.

    Returns
    -------
    int
        How many answers were written.
    """
    output = check_export(path, format, inputs=project_files(store), force=force)
    answers = _resolved(store) if resolved else store.answers()
    full = any(answer.kind != LABEL or answer.note is not None for answer in answers)
    output.write(lambda draft: output.format.labels(labelled(store, answers), about(store, full=full), draft))
    return len(answers)


def export_predictions(
    store: Store,
    predictions: Iterable[Predicted],
    path: str | Path,
    format: str | None = None,
    *,
    model: str = "",
    force: bool = False,
) -> None:
    """Write items with the probability of every class."""
    output = check_export(path, format, inputs=project_files(store), force=force)
    write_predictions(predictions, about(store, model=model), output)


def write_predictions(predictions: Iterable[Predicted], about: About, output: Output) -> None:
    """Write predictions to a path that was checked."""
    output.write(lambda draft: output.format.predictions(predictions, about, draft))


def export_events(store: Store, path: str | Path, format: str | None = None, *, force: bool = False) -> int:
    """Write the log, line by line, and return how many lines."""
    output = check_export(path, format, inputs=project_files(store), force=force)
    write_rows = output.format.rows
    if write_rows is None or output.format is FORMATS["huggingface"]:
        fix = "The log has no place in the formats of other tools."
        raise InputError("format", expected="csv, jsonl or parquet", got=str(format or path), fix=fix)
    events = store.events()
    output.write(lambda draft: write_rows(event_rows(events), draft))
    return len(events)


def _resolved(store: Store) -> list[Answer]:
    return [answer for answer in store.current().values() if answer.label is not None]
