"""Excel workbooks: one sheet with a table, every cell as the text that a CSV file would hold."""

import datetime
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median_low
from typing import Any

from bemps._utils.archives import check_archive
from bemps._utils.extras import optional_import
from bemps.data.records import Records, distinct_names, missing_column_error
from bemps.errors import BempsError, InputError, hint, unknown_name

# what openpyxl and the parsers below it raise for workbooks that are cut or changed
DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, SyntaxError, EOFError, RuntimeError),
    *(ArithmeticError, AssertionError, zipfile.BadZipFile, zlib.error, MemoryError),
)
WORKBOOKS = (".xlsx", ".xlsm")
ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EFef])_")  # characters that XML cannot hold, and `_` itself
MOST_COLUMNS = 2_000
MOST_TITLES = 20  # rows in which the one that names the columns is sought
MOST_COUNTED = 1_000  # rows that say how many cells are usually filled


def read_workbook(path: Path, requested: Sequence[str], *, others: bool = False, sheet: str | None = None) -> Records:
    """The columns of a sheet, or of the first that holds a table (`_like_a_table`).

    A column without a name that holds something is `column N`.
    """
    sheets, name, rows = _rows(path, sheet)
    header = _header_position(rows)
    (_, titles), body = rows[header], rows[header + 1 :]
    named = {position for position, title in enumerate(titles) if title.strip()}
    positions = sorted(named | {i for _, row in body for i, cell in enumerate(row) if cell.strip()})
    names = distinct_names([_at(titles, i).strip() or f"column {i + 1}" for i in positions])
    for column in requested:
        if column not in names:
            raise missing_column_error(path, column, names, _other_sheets(name, sheets))
    read = names if others else list(dict.fromkeys(requested))
    places = {name: positions[names.index(name)] for name in read}
    columns: dict[str, list[Any]] = {name: [_at(row, places[name]) for _, row in body] for name in read}
    above = tuple(" ".join(filter(None, map(str.strip, row))) for _, row in rows[:header])
    return Records(columns, [number for number, _ in body], unit="row", above=above, sheets=sheets, sheet=name)


def _header_position(rows: Sequence[tuple[int, list[str]]]) -> int:
    """Which row names the columns: titles above a table fill fewer cells than its rows do.

    It is the first of the first rows with half as many filled cells as rows usually have (the median), and with two
    where they usually have several; else the first.
    """
    filled = [sum(bool(cell.strip()) for cell in row) for _, row in rows[:MOST_COUNTED]]
    usual = median_low(filled)
    least = max(usual / 2, min(usual, 2))
    return next((i for i, count in enumerate(filled[:MOST_TITLES]) if count >= least), 0)


def _at(row: list[str], position: int) -> str:
    return row[position] if position < len(row) else ""


def _rows(path: Path, sheet: str | None) -> tuple[tuple[str, ...], str, list[tuple[int, list[str]]]]:
    """The names of the sheets with cells, that of the one to read, and its rows: numbers, and cells as texts."""
    library = optional_import("openpyxl", "label", "reading Excel workbooks")
    check_archive(path, "an Excel workbook")
    try:
        with warnings.catch_warnings(), path.open("rb") as file, closing(_opened(library, file)) as workbook:
            warnings.simplefilter("ignore")  # of styles and checks of input that are of no interest here
            sheets = {each.title: each for each in workbook.worksheets if next(_filled(each), None)}
            name = _checked_sheet(path, sheet, tuple(sheets)) or max(
                sheets, key=lambda name: _like_a_table(sheets[name])
            )
            return tuple(sheets), name, list(_filled(sheets[name]))
    except BempsError:
        raise
    except DAMAGE as error:
        got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        fix = "Open it in your spreadsheet and save it again, without a password, or as CSV UTF-8."
        raise InputError(str(path), expected="an Excel workbook", got=got, fix=fix) from error


def _checked_sheet(path: Path, sheet: str | None, names: tuple[str, ...]) -> str | None:
    """The sheet that was named, if it is one of those with cells."""
    if not names:
        raise InputError(str(path), expected="a sheet with rows", got="only empty cells", fix="Is it the right file?")
    if sheet is not None and sheet not in names:
        raise unknown_name(f"sheet of {path}", sheet, names)
    return sheet


def _like_a_table(sheet: Any) -> int:
    """How much a sheet is like a table: 2 with several columns, 1 with one, 0 without a row below its header."""
    rows = list(islice(_filled(sheet), MOST_TITLES + 1))
    header = _header_position(rows)
    columns = sum(bool(cell.strip()) for cell in rows[header][1])
    return min(columns, 2) if len(rows) > header + 1 else 0


def _other_sheets(name: str, sheets: Sequence[str]) -> str:
    """A sentence that names the sheets beside the one that was read; empty without any."""
    others = ", ".join(repr(each) for each in sheets if each != name)
    if not others:
        return ""
    return f" These are the columns of the sheet {name!r}; the workbook also has {others}{hint(' ({})', 'sheet')}."


def _opened(library: Any, file: Any) -> Any:
    """The workbook in an open file: by a path, the library would refuse some names."""
    return library.load_workbook(file, read_only=True, data_only=True, keep_links=False)


def _filled(sheet: Any) -> Iterator[tuple[int, list[str]]]:
    sheet.reset_dimensions()  # the size that a file claims may be wrong
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_text(cell) for cell in row[:MOST_COLUMNS]]
        while cells and not cells[-1]:
            cells.pop()
        if any(map(str.strip, cells)):
            yield number, cells


def _text(cell: Any) -> str:
    """A cell as a spreadsheet writes it to a CSV file."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return str(cell.date() if cell.time() == datetime.time.min else cell.replace(microsecond=0))
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), str(cell))
