"""A user's own data: one file with named columns, or a folder of images."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bemps.data.building import assemble
from bemps.data.identity import Items
from bemps.data.images import ImageFiles
from bemps.data.records import UNNAMED, Dialect, NoColumnNamed, Records, read_delimited, read_jsonl, read_parquet
from bemps.data.table import Table
from bemps.errors import InputError, parameter, unknown_name

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
FORMATS = (*DELIMITERS, *JSON_LINES, *PARQUET)
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
LONGEST_HEADER = 3  # words: a longer one may be the first text of a file without a header
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})


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
) -> Table:
    """The rows of a CSV, TSV, JSONL or Parquet file, or the images of a folder, as a `Table`.

    text        the column of the texts; several are joined by a space (title and body)
    image       the column of image paths, relative to the file; images are opened only when looked at
    label       the column of the labels, empty where a row has none; "folder" in a folder of images: the
                subfolder is the class, and images outside a subfolder have no label
    id          the column of unique ids; "path" in a folder: the relative path; without it content hashes
    classes     the ordered class names; without it those met, in natural order
    duplicates  "keep" or "drop" rows whose content was met before; the table's `found` counts them either way
    mode        "RGB" or "L" (grey), for images
    encoding    of a text file; without it a byte-order mark or UTF-8, proved on the whole file
    delimiter, quotes, columns    of a CSV or TSV: separator, whether fields may be quoted, names for no header
    others      keep all columns of the file, so that labels and predictions can be written beside them

    Rows with nothing to read in them are left out and counted.
    """
    place = Path(path)
    if not os.path.exists(place):
        raise InputError("path", expected="a file or folder", got=f"{place}, which does not exist", fix="Correct it.")
    if mode not in ("RGB", "L"):
        raise unknown_name("mode", mode, ["RGB", "L"])
    if place.is_dir():
        _refuse_columns(place, text=text, image=image)
        return _folder(place, label=label, id=id, classes=classes, duplicates=duplicates, mode=mode)
    dialect = Dialect(
        delimiter or DELIMITERS.get(place.suffix.lower(), ","), quotes, encoding, tuple(columns or ()) or None
    )
    texts = (text,) if isinstance(text, str) else tuple(text or ())
    if texts and image:
        raise InputError(
            f"columns of {place}",
            expected=f"{parameter('text')} or {parameter('image')}",
            got="both",
            fix="Leave one out.",
        )
    if not texts and not image:
        texts = (_only_column(place, dialect, {label, id}),)
    wanted = list(dict.fromkeys(name for name in (*texts, image, label, id) if name))
    every = _records(place, wanted, dialect, others)
    records = _without_empty(place, every, (image,) if image else texts)
    table = assemble(
        _files(place, records, image, mode) if image else _texts(place, records, texts),
        labels=records.columns[label] if label else None,
        ids=records.columns[id] if id else None,
        classes=classes,
        duplicates=duplicates,
        where=lambda rows: f"{place}, {records.where(rows)}",
        columns=records.columns if others else {},
    )
    assert table.found is not None
    findings = replace(table.found, empty=len(every.lines) - len(records.lines), left_out=records.left_out)
    return replace(table, found=findings, source=place)


def _without_empty(path: Path, records: Records, names: tuple[str, ...]) -> Records:
    """The rows with something to read in one of these columns."""
    contents = [records.columns[name] for name in names]
    rows = [row for row in range(len(records.lines)) if any(_is_filled(values[row]) for values in contents)]
    if len(rows) == len(records.lines):
        return records
    if not rows:
        fix = "Name the column that holds the texts."
        raise InputError(str(path), expected="something to read in some row", got="only empty ones", fix=fix)
    columns = {name: [values[row] for row in rows] for name, values in records.columns.items()}
    return replace(records, columns=columns, lines=[records.lines[row] for row in rows])


def _is_filled(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and (not value or value.isspace()))


def _only_column(path: Path, dialect: Dialect, named: set[str | None]) -> str:
    """The column of the texts where nobody named it: the only one that is left, if it is named like a column."""
    try:
        _records(path, [UNNAMED], dialect, others=False)
    except NoColumnNamed as error:
        names = [name for name in error.columns if name not in named]
        if len(names) == 1 and 0 < len(names[0].split()) <= LONGEST_HEADER:
            return names[0]
        raise
    return UNNAMED


def _records(path: Path, wanted: list[str], dialect: Dialect, others: bool) -> Records:
    suffix = path.suffix.lower()
    if suffix in DELIMITERS:
        records = read_delimited(path, wanted, dialect, others=others)
    elif suffix in JSON_LINES:
        records = read_jsonl(path, wanted, dialect.encoding, others=others)
    elif suffix in PARQUET:
        records = read_parquet(path, wanted, others=others)
    else:
        expected, got = f"one of {', '.join(sorted(FORMATS))}", repr(suffix or "no suffix")
        raise InputError(f"format of {path}", expected=expected, got=got, fix=_way_out(path))
    if not records.lines:
        raise InputError(str(path), expected="at least one row", got="none", fix="Is it the right file?")
    return records


def _way_out(path: Path) -> str:
    """What to do with a file of a format that is not read; it must work."""
    suffix = path.suffix.lower()
    if suffix in SPREADSHEETS:
        return "Save it as CSV UTF-8 from your spreadsheet."
    if suffix == ".json":
        return f"Write it as lines, one object in each line, and name the file {path.stem}.jsonl."
    if suffix == ".txt":
        return f"With a text in each line: put the word text in a first line, and name the file {path.stem}.tsv."
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


def _refuse_columns(folder: Path, **columns: Any) -> None:
    named = [name for name, value in columns.items() if value]
    if named:
        raise InputError(
            f"folder {folder}",
            expected="no column names: its images are the items",
            got=", ".join(parameter(name) for name in named),
            fix="Leave them out, or pass a file.",
        )


def _folder(
    folder: Path,
    *,
    label: str | None,
    id: str | None,
    classes: Sequence[str] | None,
    duplicates: str,
    mode: str,
) -> Table:
    if label not in (None, "folder"):
        raise unknown_name("label of a folder of images", label, ["folder"], "It takes the subfolder as the class.")
    if id not in (None, "path"):
        raise unknown_name("id of a folder of images", id, ["path"], "It takes the relative path as the id.")
    names = image_names(folder)
    items: Items = ImageFiles(tuple(str(folder / name) for name in names), mode)
    table = assemble(
        items,
        labels=[name.partition("/")[0] if "/" in name else "" for name in names] if label else None,
        ids=names if id else None,
        classes=classes,
        duplicates=duplicates,
        where=lambda rows: ", ".join(names[row] for row in rows[:10]),
    )
    return replace(table, source=folder)


def image_names(folder: Path) -> list[str]:
    """Relative paths (with /) of the images in a folder and below, sorted; hidden files are passed over."""
    others: set[str] = set()
    names = []
    for name in _walk(folder, ""):
        suffix = os.path.splitext(name)[1].lower()
        if suffix in IMAGES:
            names.append(name)
        else:
            others.add(suffix or "no suffix")
    if not names:
        raise InputError(
            f"folder {folder}",
            expected=f"image files ({', '.join(sorted(IMAGES))})",
            got=f"only {', '.join(sorted(others))}" if others else "no file at all",
            fix="Choose the folder that holds the images."
            if others != {".txt"}
            else "Texts come in one file: write them into one CSV file with a column of texts.",
        )
    return sorted(names)


def _walk(folder: Path, prefix: str) -> Iterator[str]:
    """Files below a folder; links that lead nowhere, or to themselves, are passed over."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"folder {folder}", expected="to list it", got=got, fix="Check its rights.") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
        elif os.path.isfile(entry.path):
            yield _in_unicode(prefix + entry.name, folder)


def _in_unicode(name: str, folder: Path) -> str:
    """A name as it is; one that is not valid in the encoding of file names is refused: no project could hold it."""
    if name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name):
        return name
    raise InputError(
        f"folder {ascii(str(folder))[1:-1]}",
        expected="file names in UTF-8",
        got=ascii(name),
        fix="Rename the file.",
    )
