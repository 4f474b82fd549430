"""Out of a project: labels, predictions, or the whole log."""

from collections.abc import Iterable
from pathlib import Path

from bemps.errors import InputError
from bemps.exchange.entries import About, Predicted, about, labelled
from bemps.exchange.files import whole
from bemps.exchange.formats import FORMATS, format_to_write
from bemps.exchange.tables import event_rows
from bemps.store import Answer, Store
from bemps.store.words import LABEL


def export_labels(store: Store, path: str | Path, format: str | None = None, *, resolved: bool = False) -> int:
    """Every answer of every annotator; with `resolved` the one label that holds for each item. Returns how many."""
    out = Path(path)
    how = format_to_write(format, out)
    answers = _resolved(store) if resolved else store.answers()
    full = any(answer.kind != LABEL or answer.note is not None for answer in answers)
    with whole(out) as draft:
        how.labels(labelled(store, answers), about(store, full=full), draft)
    return len(answers)


def export_predictions(
    store: Store, predictions: Iterable[Predicted], path: str | Path, format: str | None = None, *, model: str = ""
) -> None:
    """Items with the probability of every class."""
    write_predictions(predictions, about(store, model=model), path, format)


def write_predictions(found: Iterable[Predicted], about: About, path: str | Path, format: str | None = None) -> None:
    """The same without a project."""
    out = Path(path)
    how = format_to_write(format, out)
    with whole(out) as draft:
        how.predictions(found, about, draft)


def export_events(store: Store, path: str | Path, format: str | None = None) -> int:
    """The log, line by line; returns how many."""
    out = Path(path)
    how = format_to_write(format, out)
    if how.rows is None or how is FORMATS["huggingface"]:
        fix = "The log has no place in the formats of other tools."
        raise InputError("format", expected="csv, jsonl or parquet", got=str(format or out), fix=fix)
    events = store.events()
    with whole(out) as draft:
        how.rows(event_rows(events), draft)
    return len(events)


def _resolved(store: Store) -> list[Answer]:
    return [answer for answer in store.current().values() if answer.label is not None]
