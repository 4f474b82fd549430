"""What is in a file that somebody dropped: its columns, its first rows, and which column is probably to be read."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bemps.data.folders import IMAGES, TEXTS, folder_files, read_text
from bemps.data.reading import DELIMITERS, FORMATS, LINES, read_columns
from bemps.data.records import Records
from bemps.data.table import ending_words, endings_of
from bemps.data.table_building import natural_order
from bemps.data.text_encoding import encoding_of
from bemps.errors import InputError

ROWS = 5  # that are shown
LOOKED_AT = 1_000  # rows that a guess is made from
LONGEST = 300  # characters of a cell that are shown
MOST_CLASSES = 100  # different values of a column of classes
SHARE_OF_CLASSES = 0.5  # of the rows: a column with more different values than that holds no classes
TEXT_NAMES = (
    "text",
    "body",
    "message",
    "content",
    "comment",
    "review",
    "description",
    "sentence",
    "abstract",
    "answer",
)
ENCODINGS = {
    "cp1252": "Western European",
    "cp1250": "Central European",
    "cp1251": "Cyrillic",
    "cp1253": "Greek",
    "cp1254": "Turkish",
    "shift_jis": "Japanese",
    "gb18030": "Chinese",
}
WITHOUT_ENCODING = (".parquet", ".pq", ".xlsx", ".xlsm")


@dataclass(frozen=True)
class PreviewColumn:
    """A column of a file.

    Attributes
    ----------
    name : str
        The name of the column.
    examples : tuple of str
        The first values.
    filled : int
        The number of rows that have a value.
    classes : tuple of str
        The distinct values, if the column may hold classes.
    are_images : bool
        Whether the values are paths of images.
    """

    name: str
    examples: tuple[str, ...]
    filled: int
    classes: tuple[str, ...] = ()
    are_images: bool = False


@dataclass(frozen=True)
class Preview:
    """What a file or folder holds.

    Attributes
    ----------
    path : Path
        The file or folder that is read.
    kind : str
        `table`, `texts` (a folder of them) or `images`.
    rows : int
        Rows or files.
    columns : tuple of PreviewColumn
        The columns of a table; one for the files of a folder.
    reading : str
        The column to read, guessed.
    encoding, delimiter : str or None
        Where the file needs them named.
    folders : tuple of str
        The subfolders of a folder, which may be classes.
    above : tuple of str
        Lines above the table that are not read.
    sheets : tuple of str
        The sheets of a workbook that have rows.
    sheet : str
        The one of these that is read.
    other_files : mapping of str to int
        How many files of other kinds are left out, by ending.
    """

    path: Path
    kind: str
    rows: int
    columns: tuple[PreviewColumn, ...]
    reading: str = ""
    encoding: str | None = None
    delimiter: str | None = None
    folders: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    sheet: str = ""
    other_files: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out_words(self) -> str:
        """What is said of files of other kinds; empty if there are none."""
        count = sum(self.other_files.values())
        files = f"{count:,} file{'s' if count != 1 else ''} of other kinds"
        return f"Left out: {files} ({ending_words(self.other_files)})." if count else ""

    @property
    def shown_rows(self) -> list[tuple[str, ...]]:
        """The first rows, cell by cell."""
        return list(zip(*(column.examples for column in self.columns), strict=True))

    @property
    def class_columns(self) -> list[PreviewColumn]:
        """The columns that may hold classes."""
        return [column for column in self.columns if column.classes and column.name != self.reading]


def preview(folder: Path, encoding: str | None = None, sheet: str | None = None) -> Preview:
    """Look at what was uploaded into a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    encoding : str, optional
        The encoding of text files that are not in UTF-8.
    sheet : str, optional
        The sheet of a workbook. None: the first that holds a table.

    Returns
    -------
    Preview
        What the folder holds.

    Raises
    ------
    InputError
        If the folder holds nothing to label, or it cannot be read.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    tables = [path for path in files if path.suffix.lower() in FORMATS and (path.suffix.lower() != LINES)]
    if not tables and len(files) == 1 and files[0].suffix.lower() == LINES:
        tables = files
    others = [path for path in files if path.suffix.lower() in IMAGES | TEXTS and path not in tables]
    if len(tables) == 1:
        table = _table(tables[0], encoding, sheet)
        if not others or any(column.are_images for column in table.columns):
            texts = [path.name for path in others if path.suffix.lower() in TEXTS]  # the images are in the table
            return replace(table, other_files=endings_of(texts))
    if tables and not others:
        got = ", ".join(path.name for path in tables[:5])
        raise InputError("files", expected="one table, or texts, or images", got=got, fix="Choose one of them.")
    return _folder(_only_folder(folder), encoding)


def _only_folder(folder: Path) -> Path:
    """The folder that holds more than one thing: archives often have everything in one folder."""
    entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return _only_folder(entries[0]) if len(entries) == 1 and entries[0].is_dir() else folder


def _folder(folder: Path, encoding: str | None) -> Preview:
    files = folder_files(folder)
    kind, name = ("images", "image") if files.are_images else ("texts", "text")
    if kind == "texts":
        encoding = encoding or next(
            (_encoding(folder / name) for name in files.names if _encoding(folder / name)), None
        )
    shown = files.names[:ROWS]
    columns = [PreviewColumn("file", shown, len(files.names))]
    if kind == "texts":
        texts = tuple(_cell(read_text(folder / each, encoding)) for each in shown)
        columns.append(PreviewColumn(name, texts, len(files.names)))
    folders = natural_order({each.partition("/")[0] for each in files.names if "/" in each})
    classes = folders if len(folders) > 1 else ()
    left_out = endings_of(files.left_out)
    return Preview(
        folder, kind, len(files.names), tuple(columns), name, encoding, folders=classes, other_files=left_out
    )


def _table(path: Path, encoding: str | None, sheet: str | None) -> Preview:
    encoding, delimiter = encoding or _encoding(path), None
    if path.suffix.lower() in DELIMITERS:
        delimiter = _delimiter(path, encoding)
    records = read_columns(path, encoding, delimiter, sheet)
    columns = tuple(_column(path, name, values) for name, values in records.columns.items())
    above = tuple(map(_cell, records.above))
    guess = _guess(records, columns)
    table = Preview(path, "table", len(records.lines), columns, guess, encoding, delimiter)
    return replace(table, above=above, sheets=records.sheets, sheet=records.sheet)


def _encoding(path: Path) -> str | None:
    """None where the file says its own encoding or is in UTF-8; else the usual one of spreadsheets."""
    if path.suffix.lower() in WITHOUT_ENCODING or not path.stat().st_size:
        return None
    try:
        encoding_of(path)
    except InputError:
        usual = next(iter(ENCODINGS))
        encoding_of(path, usual)
        return usual
    return None


def _delimiter(path: Path, encoding: str | None) -> str | None:
    """None where the usual one of the format is right; else the one that its header has."""
    usual = DELIMITERS[path.suffix.lower()]
    with path.open(encoding=encoding_of(path, encoding), newline="") as file:
        header = next((line for line in file if line.strip()), "")
    counts = {sign: len(next(csv.reader([header], delimiter=sign), [])) for sign in (usual, ";", "\t", ",", "|")}
    best = max(counts, key=lambda sign: counts[sign])
    return None if counts[usual] > 1 else (best if counts[best] > 1 else None)


def _column(path: Path, name: str, values: Sequence[Any]) -> PreviewColumn:
    filled = [str(value).strip() for value in values if value is not None and str(value).strip()]
    different = set(filled)
    few = 2 <= len(different) <= min(MOST_CLASSES, SHARE_OF_CLASSES * len(filled))
    images = filled[:LOOKED_AT]
    are_images = bool(images) and all(Path(each).suffix.lower() in IMAGES for each in images)
    return PreviewColumn(
        name,
        tuple(_cell(value) for value in values[:ROWS]),
        len(filled),
        natural_order(different) if few else (),
        are_images and (path.parent / images[0]).is_file(),
    )


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value)[: 2 * LONGEST].split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _guess(records: Records, columns: Sequence[PreviewColumn]) -> str:
    """The column with the longest texts that are not all the same, or that is called like one of texts."""
    images = [column.name for column in columns if column.are_images]
    if images:
        return images[0]
    return max(records.columns, key=lambda name: _textlike(name, records.columns[name][:LOOKED_AT]))


def _textlike(name: str, values: Sequence[Any]) -> float:
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if not texts:
        return -1.0
    words = sum(len(text.split()) for text in texts) / len(values)
    named = 3.0 if any(part in name.casefold() for part in TEXT_NAMES) else 1.0
    return named * words * len(set(texts)) / len(texts)
