"""CSV: exact for programs, or made safe for people who open it in a spreadsheet."""

import csv
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bemps.data.encoding import opened_text
from bemps.data.records import Dialect, no_column, read_delimited
from bemps.errors import InputError
from bemps.exchange.entries import Entry, entry_of
from bemps.exchange.tables import Rows

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
OPTIONAL = ("text", "image", "annotator", "time", "kind", "note")


def write_csv(rows: Rows, path: Path) -> None:
    """UTF-8, fields quoted where needed; every character as it is, so that reading gives back the same."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows.columns)
        writer.writerows([_cell(value) for value in row] for row in rows.rows)


def write_for_spreadsheets(rows: Rows, path: Path) -> None:
    """The same, with a mark that Excel knows UTF-8 by, and an apostrophe before texts that it would calculate."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_harmless(name) for name in rows.columns])
        writer.writerows([_harmless(_cell(value)) for value in row] for row in rows.rows)


def _cell(value: object) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def read_csv(path: Path) -> Iterator[Entry]:
    """A file with a column `label`, and `id` or `text` to know the items by."""
    columns = _header(path)
    known = [name for name in ("id", *OPTIONAL) if name in columns]
    if "label" not in columns:
        raise no_column(path, "label", columns)
    if not {"id", "text", "image"} & set(known):
        raise no_column(path, "id", columns)
    records = read_delimited(path, ["label", *known], Dialect())
    for row, line in enumerate(records.lines):
        found = {name: values[row] for name, values in records.columns.items()}
        if not (found["label"] or found.get("kind") or found.get("note")):
            continue  # an item that nobody has answered
        content = found.get("text", found.get("image"))
        yield entry_of(found.get("id") or None, content, found, f"{path}, line {line:,}")


def _header(path: Path) -> list[str]:
    with opened_text(path) as file:
        try:
            return [name.strip() for name in next(csv.reader(file), [])]
        except csv.Error as error:
            raise InputError(str(path), expected="CSV", got=str(error), fix="Is it the right file?") from error
