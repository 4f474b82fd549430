"""Columns of a file as they stand there, with the line each row came from. One reader per format."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.data.encoding import opened_text
from bemps.data.json_text import parse_object
from bemps.data.parquet import opened_parquet, refuse_twice
from bemps.errors import InputError, hint, parameter

FIELD_LIMIT = 50_000_000  # characters of one CSV field; the csv module's own limit of 131,072 is below long documents
SHOWN = 10
UNNAMED = ""  # stands for the column that the caller forgot to name


@dataclass(frozen=True)
class Records:
    """The wanted columns, and the line (`unit` "line") or row (Parquet, `unit` "row") of each record.

    With `others` a reader gives all columns of the file in their order; `left_out` names those that it could not.
    """

    columns: dict[str, list[Any]]
    lines: list[int]
    unit: str = "line"
    left_out: tuple[str, ...] = ()

    def where(self, rows: Sequence[int]) -> str:
        """`lines 3, 17, 29 and 4 more`, for messages."""
        numbers = [f"{self.lines[row]:,}" for row in rows[:SHOWN]]
        more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        return f"{self.unit}{'s' if len(rows) > 1 else ''} {', '.join(numbers)}{more}"


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written. `header` names the columns of a file that has no header line."""

    delimiter: str = ","
    quotes: bool = True
    encoding: str | None = None
    header: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise InputError(
                "delimiter",
                expected="one character that is neither a quote nor a line's end",
                got=repr(self.delimiter)[:40],
                fix="For example ',', ';', '|' or '\\t'.",
            )


def read_delimited(path: Path, wanted: Sequence[str], dialect: Dialect, *, others: bool = False) -> Records:
    """CSV or TSV. Blank lines are passed over; a row of another width is refused with its line."""
    with opened_text(path, dialect.encoding) as file, _long_fields():
        reader = csv.reader(
            file,
            delimiter=dialect.delimiter,
            quoting=csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE,
            strict=True,
        )
        try:
            header = dialect.header or _header(path, reader)
            places = [_place(path, header, name, dialect.delimiter) for name in wanted]
            names: Sequence[str] = wanted
            if others:
                names, places = _distinct(header), list(range(len(header)))
            return _rows(path, reader, names, places, len(header))
        except csv.Error as failure:
            raise _malformed(path, reader.line_num, failure) from failure


def _rows(path: Path, reader: Any, wanted: Sequence[str], places: list[int], width: int) -> Records:
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    appends = [(columns[name].append, place) for name, place in zip(wanted, places, strict=True)]
    lines: list[int] = []
    line = reader.line_num + 1
    for row in reader:
        if len(row) == width:
            for append, place in appends:
                append(row[place])
            lines.append(line)
        elif row:
            raise _ragged(path, line, row, width)
        line = reader.line_num + 1
    return Records(columns, lines)


def _distinct(header: Sequence[str]) -> list[str]:
    """Every name once: the second column of a name is called `name (2)`."""
    names: list[str] = []
    for name in header:
        number, free = 1, name
        while free in names or (number > 1 and free in header):
            number += 1
            free = f"{name} ({number})"
        names.append(free)
    return names


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module keeps one limit for the whole process: raise it here, and put it back."""
    before = csv.field_size_limit(FIELD_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _header(path: Path, reader: Any) -> tuple[str, ...]:
    for row in reader:
        if row:
            return tuple(name.strip() for name in row)
    raise InputError(str(path), expected="a header line and rows", got="only blank lines", fix="Is it the right file?")


def _place(path: Path, header: Sequence[str], name: str, delimiter: str) -> int:
    """Where a column stands; the error says which there are, and when the delimiter looks wrong."""
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise InputError(
            f"column {name!r} of {path}",
            expected="a name that stands once in the header",
            got=f"{header.count(name)} columns of that name",
            fix="Rename all but one.",
        )
    others = [
        other for other in (";", "\t", ",", "|") if other != delimiter and len(header) == 1 and other in header[0]
    ]
    if others:
        fix = f"The columns look separated by {others[0]!r}{hint(': pass {}', 'delimiter', others[0])}."
        raise InputError(f"column {name!r} of {path}", expected="a header line", got=repr(header[0]), fix=fix)
    raise no_column(path, name, header)


class NoColumnNamed(InputError):
    """Nobody said which column holds the items; `columns` are those that there are."""

    columns: tuple[str, ...] = ()


def _no_name(path: Path, names: Sequence[str]) -> NoColumnNamed:
    error = NoColumnNamed(
        f"columns of {path}",
        expected=f"{parameter('text')}{hint(' (or {})', 'image')} to name one of {', '.join(map(repr, names))}",
        got="neither",
        fix=f"Name the column that holds the texts ({parameter('text', '...')})"
        f"{hint(' or the image paths ({})', 'image', '...')}.",
    )
    error.columns = tuple(names)
    return error


def no_column(path: Path, name: str, there: Iterable[str]) -> InputError:
    """The error for a column that is not in the file, or when none was named: it says which there are."""
    if name == UNNAMED:
        return _no_name(path, list(there))
    return InputError(
        f"column {name!r} of {path}",
        expected=f"one of {', '.join(map(repr, there))}",
        got=repr(name),
        fix="Pass the name of a column that exists (names are case-sensitive).",
    )


def _ragged(path: Path, line: int, row: list[str], width: int) -> InputError:
    return InputError(
        f"{path}, line {line:,}",
        expected=f"{width} fields, as in the header",
        got=f"{len(row)}, beginning with {row[0][:40]!r}",
        fix='Quote a field that holds the delimiter or a newline ("..."), and double the quotes in it.',
    )


def _malformed(path: Path, line: int, failure: csv.Error) -> InputError:
    return InputError(
        f"{path}, line {line:,}",
        expected='fields quoted as "..." with quotes inside doubled, or not at all',
        got=str(failure),
        fix="Correct the quotes at or before this line"
        + (", or pass quotes=False if the file has no quoting." if parameter("quotes") else "."),
    )


def read_jsonl(path: Path, wanted: Sequence[str], encoding: str | None = None, *, others: bool = False) -> Records:
    """One JSON object per line; blank lines are passed over."""
    columns: dict[str, list[Any]] = {} if others else {name: [] for name in wanted}
    lines: list[int] = []
    with opened_text(path, encoding, newline="\n") as file:
        for line, text in enumerate(file, start=1):
            if text.strip():
                record = parse_object(text, f"{path}, line {line:,}")
                for name in wanted:
                    if name not in record:
                        raise no_column(Path(f"{path}, line {line:,}"), name, record)
                for name in record if others else wanted:
                    column = columns.setdefault(name, [])
                    column.extend([None] * (len(lines) - len(column)))  # lines that did not have it
                    column.append(record[name])
                lines.append(line)
    for column in columns.values():
        column.extend([None] * (len(lines) - len(column)))
    return Records(columns, lines)


def read_parquet(path: Path, wanted: Sequence[str], *, others: bool = False) -> Records:
    """Only the wanted columns are read; of others not those of bytes, and none whose name stands twice."""
    with opened_parquet(path) as file:
        names = file.schema_arrow.names
        refuse_twice(path, names, wanted)
        for name in wanted:
            if name not in names:
                raise no_column(path, name, names)
        binary = {field.name for field in file.schema_arrow if "binary" in str(field.type)}
        further = [name for name in names if name not in binary and names.count(name) == 1] if others else []
        table = file.read(columns=list(dict.fromkeys([*further, *wanted])))
        columns = {name: table.column(name).to_pylist() for name in dict.fromkeys([*further, *wanted])}
    left_out = tuple(name for name in dict.fromkeys(names) if others and name not in columns)
    return Records(columns, list(range(1, table.num_rows + 1)), unit="row", left_out=left_out)
