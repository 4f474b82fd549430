"""The table of formats: what each is called, how its files end, how it is written and read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bemps._io import PARQUET, TEXT
from bemps.data.reading import JSON_LINES
from bemps.errors import InputError, unknown_name
from bemps.exchange import delimited, parquet
from bemps.exchange.argilla import ARGILLA
from bemps.exchange.doccano import DOCCANO
from bemps.exchange.entries import About, Entry, Labelled, Predicted
from bemps.exchange.files import is_array, read_json, write_json
from bemps.exchange.json_format import JsonFormat
from bemps.exchange.label_studio import LABEL_STUDIO
from bemps.exchange.own_lines import OWN
from bemps.exchange.prodigy import PRODIGY
from bemps.exchange.tables import Rows, label_rows, prediction_rows


@dataclass(frozen=True)
class Format:
    """How a kind of file is written and read; `rows` writes any table (the log), `read` is None for one-way formats.

    file     the kind of file, as `bemps._io.file_kind` says
    folder   the kind of folder where it is one, as its marker says
    """

    help: str
    suffixes: tuple[str, ...]
    labels: Callable[[Iterable[Labelled], About, Path], None]
    predictions: Callable[[Iterable[Predicted], About, Path], None]
    read: Callable[[Path], Iterator[Entry]] | None
    rows: Callable[[Rows, Path], None] | None = None
    file: str = TEXT
    folder: str | None = None


def _of_rows(
    help: str,
    suffixes: tuple[str, ...],
    write: Callable[[Rows, Path], None],
    read: Callable[[Path], Iterator[Entry]] | None,
    *,
    file: str = TEXT,
    folder: str | None = None,
) -> Format:
    return Format(
        help,
        suffixes,
        lambda found, about, path: write(label_rows(found, about), path),
        lambda found, about, path: write(prediction_rows(found, about), path),
        read,
        write,
        file,
        folder,
    )


def _of_objects(help: str, suffixes: tuple[str, ...], how: JsonFormat, rows: bool = False) -> Format:
    def labels(found: Iterable[Labelled], about: About, path: Path) -> None:
        write_json((one for labelled in found for one in how.labelled(labelled, about)), path, _lines(how, path))

    def predictions(found: Iterable[Predicted], about: About, path: Path) -> None:
        write_json((how.predicted(one, about) for one in found), path, _lines(how, path))

    return Format(help, suffixes, labels, predictions, partial(_entries, how), _row_lines if rows else None)


def _entries(how: JsonFormat, path: Path) -> Iterator[Entry]:
    for found, where in read_json(path, how.lines or (_lines(how, path) and not is_array(path))):
        yield from how.entries(found, where)


def _lines(how: JsonFormat, path: Path) -> bool:
    """Whether it is one object a line: always, or by the name of the file."""
    return how.lines or path.suffix.lower() in JSON_LINES


def _row_lines(rows: Rows, path: Path) -> None:
    texts = ([value.isoformat() if hasattr(value, "isoformat") else value for value in row] for row in rows.rows)
    write_json((dict(zip(rows.names, row, strict=True)) for row in texts), path, lines=True)


FORMATS = {
    "csv": _of_rows("columns id, text, label, annotator, time", (".csv",), delimited.write_csv, delimited.read_csv),
    "csv-spreadsheet": _of_rows(
        "the same for Excel: formulas made harmless; cannot be imported", (), delimited.write_for_spreadsheets, None
    ),
    "jsonl": _of_objects("one answer a line", JSON_LINES, OWN, rows=True),
    "parquet": _of_rows(
        "the columns of csv, typed", (".parquet", ".pq"), parquet.write_parquet, parquet.read_parquet, file=PARQUET
    ),
    "label-studio": _of_objects("tasks with annotations or predictions", (), LABEL_STUDIO),
    "doccano": _of_objects("lines with a list of labels", (), DOCCANO),
    "prodigy": _of_objects("tasks of the choice interface", (), PRODIGY),
    "argilla": _of_objects("records with responses or suggestions", (), ARGILLA),
    "huggingface": _of_rows(
        "a folder for datasets.load_dataset", (), parquet.write_dataset, parquet.read_dataset, folder="dataset"
    ),
}


def format_to_write(name: str | None, path: Path) -> Format:
    """By name, else by how the file's name ends; a name without an ending is a Hugging Face folder."""
    if name is not None:
        return named(name)
    suffix = path.suffix.lower()
    if not suffix:
        return FORMATS["huggingface"]
    for known in FORMATS.values():
        if suffix in known.suffixes:
            return known
    raise InputError(
        f"format of {path}",
        expected="a name that ends in .csv, .jsonl or .parquet, or --format",
        got=suffix,
        fix=f"Choose one of {', '.join(FORMATS)}.",
    )


def format_to_read(name: str | None, path: Path) -> Format:
    """By name, else by how the file's name ends and what its first object looks like."""
    if not path.exists():
        raise InputError("file", expected="a file or folder", got=f"{path}, which does not exist", fix="Correct it.")
    if name is not None:
        return named(name)
    if path.is_dir():
        return FORMATS["huggingface"]
    if path.suffix.lower() in (".json", *JSON_LINES):
        return FORMATS[_recognised(path)]
    return format_to_write(None, path) if path.suffix else named("")


def _recognised(path: Path) -> str:
    """Arrays are Label Studio's or Argilla's, lines are of any."""
    lines = path.suffix.lower() in JSON_LINES and not is_array(path)
    found, _ = next(read_json(path, lines), ({}, ""))
    if isinstance(found.get("fields"), dict):
        return "argilla"
    if not lines or (isinstance(found.get("data"), dict) and {"annotations", "predictions"} & found.keys()):
        return "label-studio"
    if "_input_hash" in found or "answer" in found:
        return "prodigy"
    return "doccano" if isinstance(found.get("label", found.get("labels")), list) else "jsonl"


def named(name: str) -> Format:
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return FORMATS[name]
