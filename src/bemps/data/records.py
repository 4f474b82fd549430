"""The unchanged columns of a file, with the line of each row. One reader for each format."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.data.json_text import object_of, parse_json, parse_object
from bemps.data.parquet_files import opened_parquet, refuse_repeated_columns
from bemps.data.text_encoding import opened_text
from bemps.errors import InputError, hint, parameter

FIELD_LIMIT = 50_000_000  # characters of one CSV field; the csv module's own limit of 131,072 is below long documents
SHOWN = 10
DELIMITERS = (",", ";", "\t", "|")  # that files are written with
LINES_COLUMN = "text"  # the name of the only column of a file of lines
UNNAMED = ""  # the name of the column when the caller gives none


@dataclass(frozen=True)
class Records:
    """Columns of a file.

    Attributes
    ----------
    columns : dict of str to list
        The values by the name of the column: the requested columns, or all of the file.
    lines : list of int
        The line, or the row of a Parquet file, of each record.
    unit : {'line', 'row'}
        What `lines` counts.
    left_out : tuple of str
        Columns of the file that cannot be read.
    above : tuple of str
        Lines above the row that names the columns, which are not read.
    sheets : tuple of str
        The sheets of a workbook that have rows.
    sheet : str
        The one of these that was read.
    """

    columns: dict[str, list[Any]]
    lines: list[int]
    unit: str = "line"
    left_out: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    sheet: str = ""

    def where(self, rows: Sequence[int]) -> str:
        """Name rows in messages: `lines 3, 17, 29 and 4 more`."""
        numbers = [f"{self.lines[row]:,}" for row in rows[:SHOWN]]
        more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        return f"{self.unit}{'s' if len(rows) > 1 else ''} {', '.join(numbers)}{more}"


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Attributes
    ----------
    delimiter : str
        The separator of the fields.
    quotes : bool
        Whether fields may be quoted.
    encoding : str, optional
        The encoding. None: it is detected.
    header : tuple of str, optional
        The names of the columns, if the file has no header line.
    sheet : str, optional
        The sheet of a workbook. None: the first that holds a table.
    """

    delimiter: str = ","
    quotes: bool = True
    encoding: str | None = None
    header: tuple[str, ...] | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise InputError(
                "delimiter",
                expected="one character that is neither a quote nor a line's end",
                got=repr(self.delimiter)[:40],
                fix="For example ',', ';', '|' or '\\t'.",
            )


def read_delimited(path: Path, requested: Sequence[str], dialect: Dialect, *, others: bool = False) -> Records:
    """Read a CSV or TSV file. Blank lines are skipped. A row of another width is refused with its line.

    Parameters
    ----------
    path : Path
        The file.
    requested : sequence of str
        Columns that must exist.
    dialect : Dialect
        How the file is written.
    others : bool
        Whether to return all columns.

    Returns
    -------
    Records
        The columns.

    Raises
    ------
    InputError
        A column is missing, or the file is malformed.
    """
    with opened_text(path, dialect.encoding) as file, _long_fields():
        reader = csv.reader(
            file,
            delimiter=dialect.delimiter,
            quoting=csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE,
            strict=True,
        )
        try:
            header = dialect.header or _header(path, reader)
            positions = [_position(path, header, name, dialect.delimiter) for name in requested]
            names: Sequence[str] = requested
            if others:
                names, positions = distinct_names(header), list(range(len(header)))
            return _rows(path, reader, names, positions, len(header))
        except csv.Error as failure:
            raise _malformed(path, reader.line_num, failure) from failure


def _rows(path: Path, reader: Any, names: Sequence[str], positions: list[int], width: int) -> Records:
    columns: dict[str, list[Any]] = {name: [] for name in names}
    appends = [(columns[name].append, position) for name, position in zip(names, positions, strict=True)]
    lines: list[int] = []
    line = reader.line_num + 1
    for row in reader:
        if len(row) == width:
            for append, position in appends:
                append(row[position])
            lines.append(line)
        elif row:
            raise _ragged(path, line, row, width)
        line = reader.line_num + 1
    return Records(columns, lines)


def distinct_names(header: Sequence[str]) -> list[str]:
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


def _position(path: Path, header: Sequence[str], name: str, delimiter: str) -> int:
    """The position of a column; the error lists the columns, and says when the delimiter looks wrong."""
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise InputError(
            f"column {name!r} of {path}",
            expected="a name that stands once in the header",
            got=f"{header.count(name)} columns of that name",
            fix="Rename all but one.",
        )
    others = [other for other in DELIMITERS if other != delimiter and len(header) == 1 and other in header[0]]
    if others:
        fix = f"The columns look separated by {others[0]!r}{hint(': pass {}', 'delimiter', others[0])}."
        raise InputError(f"column {name!r} of {path}", expected="a header line", got=repr(header[0]), fix=fix)
    raise missing_column_error(path, name, header)


class NoColumnNamed(InputError):
    """The error if no column of items was named. `columns` are those of the file."""

    columns: tuple[str, ...] = ()


def _no_name(path: Path, names: Sequence[str], where: str) -> NoColumnNamed:
    error = NoColumnNamed(
        f"columns of {path}",
        expected=f"{parameter('text')}{hint(' (or {})', 'image')} to name one of {', '.join(map(repr, names))}",
        got="neither",
        fix=f"Name the column that holds the texts ({parameter('text', '...')})"
        f"{hint(' or the image paths ({})', 'image', '...')}.{where}",
    )
    error.columns = tuple(names)
    return error


def missing_column_error(path: Path, name: str, existing: Iterable[str], where: str = "") -> InputError:
    """The error for a column that the file does not have, or for no column at all.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The column; empty if none was named.
    existing : iterable of str
        The columns of the file.
    where : str
        A sentence that says where in the file these columns are.

    Returns
    -------
    InputError
        The error. It lists the columns of the file.
    """
    if name == UNNAMED:
        return _no_name(path, list(existing), where)
    return InputError(
        f"column {name!r} of {path}",
        expected=f"one of {', '.join(map(repr, existing))}",
        got=repr(name),
        fix=f"Pass the name of a column that exists (names are case-sensitive).{where}",
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


def read_jsonl(path: Path, requested: Sequence[str], encoding: str | None = None, *, others: bool = False) -> Records:
    """One JSON object per line; blank lines are passed over."""
    with opened_text(path, encoding, newline="\n") as file:
        texts = ((line, text) for line, text in enumerate(file, start=1) if text.strip())
        objects = ((line, parse_object(text, f"{path}, line {line:,}")) for line, text in texts)
        return _joined_objects(path, objects, requested, others, "line")


def read_json(path: Path, requested: Sequence[str], encoding: str | None = None, *, others: bool = False) -> Records:
    """One JSON array of objects; a file that begins with an object is read as lines."""
    with opened_text(path, encoding) as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        return read_jsonl(path, requested, encoding, others=others)
    rows = parse_json(text, str(path), "a JSON array of objects")
    if not isinstance(rows, list):
        fix = "Write the rows as [{...}, {...}]."
        raise InputError(str(path), expected="a JSON array of objects", got=f"a JSON {type(rows).__name__}", fix=fix)
    objects = ((row, object_of(value, f"{path}, object {row:,}")) for row, value in enumerate(rows, start=1))
    return _joined_objects(path, objects, requested, others, "object")


def _joined_objects(
    path: Path, objects: Iterable[tuple[int, dict[str, Any]]], requested: Sequence[str], others: bool, unit: str
) -> Records:
    """The columns of numbered objects; None where an object does not have one that was not requested."""
    columns: dict[str, list[Any]] = {} if others else {name: [] for name in requested}
    numbers: list[int] = []
    for number, record in objects:
        for name in requested:
            if name not in record:
                raise missing_column_error(Path(f"{path}, {unit} {number:,}"), name, record)
        for name in record if others else requested:
            column = columns.setdefault(name, [])
            column.extend([None] * (len(numbers) - len(column)))  # objects that did not have it
            column.append(record[name])
        numbers.append(number)
    for column in columns.values():
        column.extend([None] * (len(numbers) - len(column)))
    return Records(columns, numbers, unit=unit)


def read_lines(path: Path, requested: Sequence[str], encoding: str | None = None) -> Records:
    """A text in each line, as the column `text`; blank lines are passed over."""
    for name in requested:
        if name != LINES_COLUMN:
            raise missing_column_error(path, name, [LINES_COLUMN])
    with opened_text(path, encoding, newline=None) as file:
        rows = [(line, text.strip()) for line, text in enumerate(file, start=1) if text.strip()]
    return Records({LINES_COLUMN: [text for _, text in rows]}, [line for line, _ in rows])


def read_parquet(path: Path, requested: Sequence[str], *, others: bool = False) -> Records:
    """Read columns of a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    requested : sequence of str
        Columns that must exist.
    others : bool
        Whether to return all columns, except columns of bytes and repeated names.

    Returns
    -------
    Records
        The columns.

    Raises
    ------
    InputError
        A column is missing, or the file is damaged.
    """
    with opened_parquet(path) as file:
        names = file.schema_arrow.names
        refuse_repeated_columns(path, names, requested)
        for name in requested:
            if name not in names:
                raise missing_column_error(path, name, names)
        binary = {field.name for field in file.schema_arrow if "binary" in str(field.type)}
        further = [name for name in names if name not in binary and names.count(name) == 1] if others else []
        table = file.read(columns=list(dict.fromkeys([*further, *requested])))
        columns = {name: table.column(name).to_pylist() for name in dict.fromkeys([*further, *requested])}
    left_out = tuple(name for name in dict.fromkeys(names) if others and name not in columns)
    return Records(columns, list(range(1, table.num_rows + 1)), unit="row", left_out=left_out)
