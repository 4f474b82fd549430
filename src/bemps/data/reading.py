"""`read`: a user's own data from one file with named columns, or from a folder of images or text files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bemps.data.folders import read_folder, refuse_columns
from bemps.data.identity import is_blank
from bemps.data.images import ImageFiles
from bemps.data.records import (
    UNNAMED,
    Dialect,
    NoColumnNamed,
    Records,
    read_delimited,
    read_json,
    read_jsonl,
    read_lines,
    read_parquet,
)
from bemps.data.spreadsheets import WORKBOOKS, read_workbook
from bemps.data.table import Table, empty_rows
from bemps.data.table_building import build_table
from bemps.errors import InputError, parameter, unknown_name

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
JSON, LINES = ".json", ".txt"
FORMATS = (*DELIMITERS, *JSON_LINES, JSON, LINES, *PARQUET, *WORKBOOKS)
OTHER_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")
LONGEST_HEADER = 3  # words: a longer one may be the first text of a file without a header


def read(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] | None = None,
    image: str | None = None,
    label: str | None = None,
    id: str | None = None,
    classes: Sequence[str] | None = None,
    duplicates: str = "keep",
    mode: str = "RGB",
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    columns: Sequence[str] | None = None,
    others: bool = True,
    sheet: str | None = None,
) -> Table:
    """Read a CSV, TSV, Excel, JSON, JSONL or Parquet file, or a folder of images or text files, as a `Table`.

    A file that ends with .txt has a text in each line.

    Parameters
    ----------
    path : path
        The file or folder.
    text : str or sequence of str, optional
        The column of the texts. Several are joined by a space (title and body).
    image : str, optional
        The column of image paths, relative to the file. Images are opened only when they are used.
    label : str, optional
        The column of the labels, empty where a row has none. "folder" in a folder takes the subfolder as the
        class; files outside a subfolder have no label.
    id : str, optional
        The column of unique ids; "path" in a folder takes the relative path. None takes hashes of the contents.
    classes : sequence of str, optional
        The ordered class names. None takes the names among the labels, in natural order.
    duplicates : {"keep", "drop"}
        What happens to a row whose content an earlier row has. `findings` of the table counts them either way.
    mode : {"RGB", "L"}
        Colours or grey levels, for images.
    encoding : str, optional
        The encoding of a text file. None takes that of the byte-order mark, else UTF-8, and checks the file.
    delimiter : str, optional
        The separator of a CSV or TSV file.
    quotes : bool
        Whether fields of a CSV or TSV file may be quoted.
    columns : sequence of str, optional
        The names of the columns of a CSV or TSV file that has no header.
    others : bool
        Whether the table keeps all columns: labels and predictions can then be written beside them. Those of a folder
        are `file` (of images: `image`), the relative path, and `folder` where it has subfolders.
    sheet : str, optional
        The sheet of a workbook. None takes the first that holds a table; `findings` of the table names the others.

    Returns
    -------
    Table
        The rows. Rows without content are left out and counted in `findings`.

    Raises
    ------
    InputError
        If the file or a column does not exist, or the content cannot be read.
    """
    read_with = _named(text=text, image=image, label=label, id=id, encoding=encoding, delimiter=delimiter, sheet=sheet)
    source = Path(path)
    if not os.path.exists(source):
        raise InputError("path", expected="a file or folder", got=f"{source}, which does not exist", fix="Correct it.")
    if mode not in ("RGB", "L"):
        raise unknown_name("mode", mode, ["RGB", "L"])
    if sheet and source.suffix.lower() not in WORKBOOKS:
        expected, fix = f"a workbook ({', '.join(WORKBOOKS)})", f"Leave {parameter('sheet') or 'the sheet'} out."
        raise InputError("sheet", expected=expected, got=str(source), fix=fix)
    if source.is_dir():
        refuse_columns(source, text=text, image=image)
        table = read_folder(
            source,
            label=label,
            id=id,
            classes=classes,
            duplicates=duplicates,
            mode=mode,
            encoding=encoding,
            others=others,
        )
    else:
        dialect = _dialect(source, delimiter, quotes, encoding, columns=tuple(columns or ()) or None, sheet=sheet)
        roles = _Roles((text,) if isinstance(text, str) else tuple(text or ()), image, label, id)
        roles = _with_text_column(source, dialect, roles)
        table = _read_file(source, dialect, roles, classes=classes, duplicates=duplicates, mode=mode, others=others)
    return replace(table, read_with=read_with)


def _dialect(
    path: Path,
    delimiter: str | None,
    quotes: bool,
    encoding: str | None,
    *,
    columns: tuple[str, ...] | None = None,
    sheet: str | None = None,
) -> Dialect:
    return Dialect(delimiter or DELIMITERS.get(path.suffix.lower(), ","), quotes, encoding, columns, sheet)


@dataclass(frozen=True)
class _Roles:
    """The columns of a file by what they are for: the texts or the image, the label, the id."""

    texts: tuple[str, ...]
    image: str | None
    label: str | None
    id: str | None

    @property
    def contents(self) -> tuple[str, ...]:
        return (self.image,) if self.image else self.texts

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name in (*self.texts, self.image, self.label, self.id) if name))


def _with_text_column(path: Path, dialect: Dialect, roles: _Roles) -> _Roles:
    """The columns that a user named, and the column of the texts where it goes without saying."""
    if roles.texts and roles.image:
        raise InputError(
            f"columns of {path}",
            expected=f"{parameter('text')} or {parameter('image')}",
            got="both",
            fix="Leave one out.",
        )
    if roles.contents:
        return roles
    return replace(roles, texts=(_only_column(path, dialect, {roles.label, roles.id}),))


def _read_file(
    path: Path,
    dialect: Dialect,
    roles: _Roles,
    *,
    classes: Sequence[str] | None,
    duplicates: str,
    mode: str,
    others: bool,
) -> Table:
    """The table of a file; rows without content are left out of it, and counted."""
    every = _records(path, roles.names, dialect, others)
    filled = _filled_rows(path, every, roles.contents)
    records = every if len(filled) == len(every.lines) else _only(every, filled)
    table = build_table(
        _files(path, records, roles.image, mode) if roles.image else _texts(path, records, roles.texts),
        labels=records.columns[roles.label] if roles.label else None,
        ids=records.columns[roles.id] if roles.id else None,
        classes=classes,
        duplicates=duplicates,
        where=lambda rows: f"{path}, {records.where(rows)}",
        columns=records.columns if others else {},
    )
    assert table.findings is not None
    findings = replace(
        table.findings,
        empty=len(every.lines) - len(records.lines),
        left_out=every.left_out,
        other_sheets=tuple(name for name in every.sheets if name != every.sheet),
    )
    empty = () if table.findings.dropped or not others else empty_rows(every.columns, filled)
    return replace(table, findings=findings, source=path, empty=empty)


def _named(**options: str | Sequence[str] | None) -> dict[str, str | list[str]]:
    """The options that are there, as JSON can write them."""
    return {name: value if isinstance(value, str) else list(value) for name, value in options.items() if value}


def read_columns(
    path: Path, encoding: str | None = None, delimiter: str | None = None, sheet: str | None = None
) -> Records:
    """All columns of a file as they are, to look at before one of them is chosen."""
    return _records(path, [], _dialect(path, delimiter, True, encoding, sheet=sheet), True)


def _filled_rows(path: Path, records: Records, names: tuple[str, ...]) -> list[int]:
    """The rows with something to read in one of these columns."""
    contents = [records.columns[name] for name in names]
    rows = [row for row in range(len(records.lines)) if any(_is_filled(values[row]) for values in contents)]
    if not rows:
        fix = "Name the column that holds the texts."
        raise InputError(str(path), expected="something to read in some row", got="only empty ones", fix=fix)
    return rows


def _only(records: Records, rows: Sequence[int]) -> Records:
    columns = {name: [values[row] for row in rows] for name, values in records.columns.items()}
    return replace(records, columns=columns, lines=[records.lines[row] for row in rows])


def _is_filled(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and is_blank(value))


def _only_column(path: Path, dialect: Dialect, named: set[str | None]) -> str:
    """The column of the texts when it has no name: the only other column, if it has a name like a column's."""
    try:
        _records(path, [UNNAMED], dialect, others=False)
    except NoColumnNamed as error:
        names = [name for name in error.columns if name not in named]
        if len(names) == 1 and 0 < len(names[0].split()) <= LONGEST_HEADER:
            return names[0]
        raise
    return UNNAMED


def _records(path: Path, requested: list[str], dialect: Dialect, others: bool) -> Records:
    suffix = path.suffix.lower()
    if suffix in DELIMITERS:
        records = read_delimited(path, requested, dialect, others=others)
    elif suffix in JSON_LINES:
        records = read_jsonl(path, requested, dialect.encoding, others=others)
    elif suffix == JSON:
        records = read_json(path, requested, dialect.encoding, others=others)
    elif suffix == LINES:
        records = read_lines(path, requested, dialect.encoding)
    elif suffix in PARQUET:
        records = read_parquet(path, requested, others=others)
    elif suffix in WORKBOOKS:
        records = read_workbook(path, requested, others=others, sheet=dialect.sheet)
    else:
        expected, got = f"one of {', '.join(sorted(FORMATS))}", repr(suffix or "no suffix")
        raise InputError(f"format of {path}", expected=expected, got=got, fix=_way_out(path))
    if not records.lines:
        raise InputError(str(path), expected="at least one row", got="none", fix="Is it the right file?")
    return records


def _way_out(path: Path) -> str:
    """What to do with a file of a format that bemps does not read."""
    suffix = path.suffix.lower()
    if suffix in OTHER_SPREADSHEETS:
        return "Save it as .xlsx, or as CSV UTF-8, from your spreadsheet."
    if suffix == ".zip":
        return "Unpack it and name the folder, or drop it on the page that `bemps` opens."
    if suffix in (".npy", ".npz"):
        return "Arrays of vectors are for bemps.ActiveLearner, and probabilities for bemps select."
    return "Convert the file to one of these."


def _texts(path: Path, records: Records, names: tuple[str, ...]) -> list[str]:
    parts = [records.columns[name] for name in names]
    for name, part in zip(names, parts, strict=True):
        wrong = [row for row, value in enumerate(part) if not isinstance(value, str) and value is not None]
        if wrong:
            raise InputError(
                f"column {name!r} of {path}",
                expected="texts",
                got=f"{part[wrong[0]]!r} at {records.where(wrong)}",
                fix="Name the column that holds the texts, or write the values as strings.",
            )
    if len(parts) == 1:
        return [value or "" for value in parts[0]]
    return [" ".join(value for value in row if value) for row in zip(*parts, strict=True)]


def _files(path: Path, records: Records, name: str, mode: str) -> ImageFiles:
    paths = tuple(str(path.parent / str(value or "")) for value in records.columns[name])
    missing = [row for row, file in enumerate(paths) if not os.path.isfile(file)]
    if missing:
        raise InputError(
            f"column {name!r} of {path}",
            expected="paths of image files, relative to the file's own folder",
            got=f"{len(missing):,} that do not exist, first {paths[missing[0]]}: {records.where(missing)}",
            fix="Correct the paths.",
        )
    return ImageFiles(paths, mode)
