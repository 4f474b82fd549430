"""Excel workbooks: one sheet, in which every text stays a text.

The few parts of the file are written here. A library would take texts that begin with `=` for formulas and cut long
ones without a word.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from bemps.data.spreadsheets import WORKBOOKS, read_workbook
from bemps.errors import InputError
from bemps.formats.csv_format import answers_in_records, is_formula
from bemps.formats.entries import ImportedAnswer
from bemps.formats.export_tables import ExportTable, RowFormat
from bemps.formats.user_columns import DATES, FIGURES, answer_columns, as_date, is_figure

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767  # as much as Excel opens
MOST_BYTES = 2**31 - 1  # of the sheet; zip files beyond need a form that Excel does not open
EXACT_DIGITS = 15  # of a number; a cell loses the others
UNWRITABLE = r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]"  # in XML; and its parsers change \r
ESCAPE = re.compile(rf"{UNWRITABLE}|_(?=x[0-9A-Fa-f]{{4}}(?:_|{UNWRITABLE}))")  # also what reads as an escape
OTHER_FORMATS = "Choose the format csv, jsonl or parquet, which have no such limit."

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
SHEET, BOOK, STYLES = "xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/{BOOK}" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/{SHEET}" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/{STYLES}" ContentType="{KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{LINKS}/officeDocument" Target="{BOOK}"/></Relationships>',
    BOOK: f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">'
    '<sheets><sheet name="bemps" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{LINKS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{LINKS}/styles" Target="styles.xml"/></Relationships>',
    STYLES: f'<styleSheet xmlns="{MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
TOP = (
    f'{DECLARATION}<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)
BOTTOM = "</sheetData></worksheet>"
FIRST_DATE = datetime(1899, 12, 30)  # day 0 of a workbook
DAY, SECOND = ' s="2"', ' s="3"'  # the styles of dates without and with a time
NEVER_CALCULATED = ' s="1"'  # the style with `quotePrefix`: the text stays one when somebody edits its cell


def write_workbook(table: ExportTable, path: Path) -> None:
    """Write a workbook. Reading returns the same texts; what Excel cannot hold is refused, never cut."""
    if len(table.names) > MOST_COLUMNS:
        raise _too_large("columns", MOST_COLUMNS, len(table.names))
    with ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name, content in PARTS.items():
            book.writestr(name, DECLARATION + content)
        with book.open(SHEET, "w") as sheet:
            _write_rows(table, sheet.write)


def _write_rows(table: ExportTable, write: Callable[[bytes], int]) -> None:
    columns = [(_letters(position), column.type) for position, column in enumerate(table.columns, start=1)]
    size = write(TOP.encode())
    for number, row in enumerate(chain([table.names], table.rows), start=1):
        if number > MOST_ROWS:
            raise _too_large("rows", MOST_ROWS, f"more than {MOST_ROWS:,}")
        size += write(_row(number, columns, row).encode())
        if size > MOST_BYTES:
            raise _too_large("bytes", MOST_BYTES, f"more in row {number:,}")
    write(BOTTOM.encode())


def _too_large(what: str, most: int, got: object) -> InputError:
    return InputError("workbook", expected=f"at most {most:,} {what}", got=str(got), fix=OTHER_FORMATS)


def _letters(position: int) -> str:
    """The name of a column: A, B, ..., Z, AA, ..."""
    before, last = divmod(position - 1, 26)
    return (_letters(before) if before else "") + chr(ord("A") + last)


def _row(number: int, columns: Sequence[tuple[str, str]], values: Sequence[Any]) -> str:
    """A row. The type of a column says which of its texts are numbers or dates."""
    cells = (
        _cell(f"{letters}{number}", _typed(value, type_))
        for (letters, type_), value in zip(columns, values, strict=True)
    )
    return f'<row r="{number}">{"".join(cells)}</row>'


def _typed(value: Any, type_: str) -> Any:
    """A text as the number or the date that a user's workbook had there."""
    if type_ == FIGURES and is_figure(value):
        return float(value)
    return (as_date(value) or value) if type_ == DATES else value


def _cell(name: str, value: Any) -> str:
    """A number as number, if the cell keeps all of its digits; a date as date; anything else as text."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return f'<c r="{name}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float) and _is_exact(value):
        return f'<c r="{name}"><v>{value:.17g}</v></c>'
    if isinstance(value, datetime) and value.tzinfo is None:
        days = (value - FIRST_DATE) / timedelta(days=1)
        return f'<c r="{name}"{DAY if days.is_integer() else SECOND}><v>{days:.17g}</v></c>'
    text = _text(value)
    if (length := len(text.encode("utf-16-le", "surrogatepass")) // 2) > MOST_CHARACTERS:
        expected = f"at most {MOST_CHARACTERS:,} characters, as many as Excel shows"
        raise InputError(f"cell {name} of the workbook", expected=expected, got=f"{length:,}", fix=OTHER_FORMATS)
    style = NEVER_CALCULATED if is_formula(text) else ""
    return f'<c r="{name}"{style} t="inlineStr"><is><t xml:space="preserve">{_in_xml(text)}</t></is></c>'


def _is_exact(value: float) -> bool:
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 10**EXACT_DIGITS


def _text(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _in_xml(text: str) -> str:
    """A text with `_xHHHH_` for what XML cannot hold, as Excel writes it."""
    return escape(ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text))


def read_answers(path: Path) -> Iterator[ImportedAnswer]:
    """Read the first sheet: a column `label`, and `id` or `text` to find the items."""
    records = read_workbook(path, (), others=True)
    return answers_in_records(path, records, answer_columns(list(records.columns), str(path)))


def is_workbook(path: Path) -> bool:
    """Whether the name of a file is that of a workbook, with or without macros."""
    return path.suffix.lower() in WORKBOOKS


XLSX = RowFormat(write_workbook, read_answers, is_workbook)
