"""CSV files: exact for programs, or safe for people who open them in a spreadsheet."""

import csv
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bemps.data.records import DELIMITERS, Dialect, Records, read_delimited
from bemps.data.text_encoding import opened_text
from bemps.errors import InputError
from bemps.formats.entries import ImportedAnswer, imported_answer
from bemps.formats.export_tables import ExportTable, RowFormat
from bemps.formats.user_columns import answer_columns, other_fields, own_fields

# what a spreadsheet may calculate, also behind white space and marks that nobody sees, and in full width
FORMULA = re.compile(
    r"[\t\r\n]|[\s\ufeff\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
)


def write_csv(rows: ExportTable, path: Path) -> None:
    """Write a CSV file in UTF-8. Reading returns the same values."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows.names)
        writer.writerows([_cell(value) for value in row] for row in rows.rows)


def write_for_spreadsheets(rows: ExportTable, path: Path) -> None:
    """Write a CSV file for Excel: with a mark for UTF-8, and an apostrophe before texts that Excel would calculate."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_harmless(name) for name in rows.names])
        writer.writerows([_harmless(_cell(value)) for value in row] for row in rows.rows)


def _cell(value: object) -> Any:
    """A value as text; what JSON has and a CSV has not is written as JSON."""
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, datetime) else value


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and is_formula(value) else value


def _restored(value: Any) -> Any:
    """The cell before `_harmless`."""
    return value[1:] if isinstance(value, str) and value.startswith("'") and is_formula(value) else value


def is_formula(value: str) -> bool:
    """Whether a spreadsheet may calculate a text.

    Apostrophes before it do not count: each that is put before such a text can be taken away again.
    """
    return FORMULA.match(value.lstrip("'")) is not None


def read_for_spreadsheets(path: Path) -> Iterator[ImportedAnswer]:
    """Read a file of `write_for_spreadsheets`, without the apostrophes that it added."""
    return read_csv(path, _restored)


def is_for_spreadsheets(path: Path) -> bool:
    """Whether a file is a CSV that begins with the mark for UTF-8 that spreadsheets use."""
    if path.suffix.lower() != ".csv":
        return False
    with path.open("rb") as file:
        return file.read(len(BOM_UTF8)) == BOM_UTF8


def read_csv(path: Path, cell: Callable[[Any], Any] = lambda value: value) -> Iterator[ImportedAnswer]:
    """Read a CSV file with a column `label`, and `id` or `text` to find the items. `cell` converts each value."""
    delimiter = _delimiter(path)
    ours = answer_columns(_header(path, delimiter), str(path))
    records = read_delimited(path, list(ours.values()), Dialect(delimiter), others=True)
    return answers_in_records(path, records, ours, cell)


def answers_in_records(
    path: Path, records: Records, ours: dict[str, str], cell: Callable[[Any], Any] = lambda value: value
) -> Iterator[ImportedAnswer]:
    """Read the answers of a table. Rows that nobody has answered are passed over.

    Parameters
    ----------
    path : Path
        The file, for messages.
    records : Records
        The table.
    ours : dict of str to str
        The result of `answer_columns`.
    cell : callable
        Converts each value.

    Yields
    ------
    ImportedAnswer
        One answer for each answered row.
    """
    for row, line in enumerate(records.lines):
        record = {cell(name): cell(values[row]) for name, values in records.columns.items()}
        own = {name: record[cell(column)] for name, column in ours.items()}
        if not (own["label"] or own.get("kind") or own.get("note")):
            continue
        content = own.get("text", own.get("image"))
        yield imported_answer(
            own.get("id") or None, content, own, f"{path}, {records.unit} {line:,}", other_fields(record, ours)
        )


def _delimiter(path: Path) -> str:
    """The sign that makes a column `label` of the header; spreadsheets of many countries write semicolons."""
    return next((sign for sign in DELIMITERS if "label" in own_fields(_header(path, sign))), ",")


def _header(path: Path, delimiter: str) -> list[str]:
    with opened_text(path) as file:
        try:
            return [name.strip() for name in next(csv.reader(file, delimiter=delimiter), [])]
        except csv.Error as error:
            raise InputError(str(path), expected="CSV", got=str(error), fix="Is it the right file?") from error


CSV = RowFormat(write_csv, read_csv)
SPREADSHEET = RowFormat(write_for_spreadsheets, read_for_spreadsheets, is_for_spreadsheets)
