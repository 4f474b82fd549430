"""CSV: exact for programs, or made safe for people who open it in a spreadsheet."""

import csv
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bemps.data.encoding import opened_text
from bemps.data.records import Dialect, no_column, read_delimited
from bemps.errors import InputError
from bemps.exchange.columns import other_fields, own_fields
from bemps.exchange.entries import Entry, entry_of
from bemps.exchange.tables import Rows

# what a spreadsheet may calculate, also behind white space and marks that nobody sees, and in full width
FORMULA = re.compile(
    r"[\t\r\n]|[\s\ufeff\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
)


def write_csv(rows: Rows, path: Path) -> None:
    """UTF-8, fields quoted where needed; every character as it is, so that reading gives back the same."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows.names)
        writer.writerows([_cell(value) for value in row] for row in rows.rows)


def write_for_spreadsheets(rows: Rows, path: Path) -> None:
    """The same, with a mark that Excel knows UTF-8 by, and an apostrophe before texts that it would calculate."""
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
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def read_csv(path: Path) -> Iterator[Entry]:
    """A file with a column `label`, and `id` or `text` to know the items by."""
    columns = _header(path)
    ours = own_fields(columns)
    if "label" not in ours:
        raise no_column(path, "label", columns)
    if not {"id", "text", "image"} & ours.keys():
        raise no_column(path, "id", columns)
    records = read_delimited(path, list(ours.values()), Dialect(), others=True)
    for row, line in enumerate(records.lines):
        record = {name: values[row] for name, values in records.columns.items()}
        own = {name: record[column] for name, column in ours.items()}
        if not (own["label"] or own.get("kind") or own.get("note")):
            continue  # an item that nobody has answered
        content = own.get("text", own.get("image"))
        yield entry_of(own.get("id") or None, content, own, f"{path}, line {line:,}", other_fields(record, ours))


def _header(path: Path) -> list[str]:
    with opened_text(path) as file:
        try:
            return [name.strip() for name in next(csv.reader(file), [])]
        except csv.Error as error:
            raise InputError(str(path), expected="CSV", got=str(error), fix="Is it the right file?") from error
