"""Folders of images or of text files: every file is an item, and its subfolder may be its class."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bemps.data.identity import Items, is_blank
from bemps.data.images import ImageFiles
from bemps.data.table import Table, empty_rows
from bemps.data.table_building import build_table
from bemps.data.text_encoding import opened_text
from bemps.errors import InputError, parameter, unknown_name

IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})
TEXTS = frozenset({".txt"})


@dataclass(frozen=True)
class FolderFiles:
    """The files of a folder that are its items: relative paths (with /), sorted, and whether they are images.

    `left_out` are the other files.
    """

    names: tuple[str, ...]
    are_images: bool
    left_out: tuple[str, ...] = ()


def read_folder(
    folder: Path,
    *,
    label: str | None,
    id: str | None,
    classes: Sequence[str] | None,
    duplicates: str,
    mode: str,
    encoding: str | None,
    others: bool,
) -> Table:
    """The table of a folder; see `bemps.data.read`."""
    if label not in (None, "folder"):
        raise unknown_name("label of a folder", label, ["folder"], "It takes the subfolder as the class.")
    if id not in (None, "path"):
        raise unknown_name("id of a folder", id, ["path"], "It takes the relative path as the id.")
    files = folder_files(folder)
    columns = _columns(files) if others else {}
    texts = None if files.are_images else [read_text(folder / name, encoding) for name in files.names]
    filled = [row for row in range(len(files.names)) if texts is None or not is_blank(texts[row])]
    names = [files.names[row] for row in filled]
    table = build_table(
        _images(folder, names, mode) if texts is None else [texts[row] for row in filled],
        labels=[name.partition("/")[0] if "/" in name else "" for name in names] if label else None,
        ids=names if id else None,
        classes=classes,
        duplicates=duplicates,
        where=lambda rows: ", ".join(names[row] for row in rows[:10]),
        columns={name: [values[row] for row in filled] for name, values in columns.items()},
    )
    assert table.findings is not None
    findings = replace(table.findings, empty=len(files.names) - len(names), other_files=files.left_out)
    empty = () if findings.dropped else empty_rows(columns, filled)
    return replace(table, findings=findings, source=folder, empty=empty)


def _columns(files: FolderFiles) -> dict[str, list[str]]:
    """The path of each file, in the column that exports have for it, and its subfolder where there are any."""
    folders = [name.rpartition("/")[0] for name in files.names]
    paths = {"image" if files.are_images else "file": list(files.names)}
    return paths | ({"folder": folders} if any(folders) else {})


def _images(folder: Path, names: Sequence[str], mode: str) -> Items:
    return ImageFiles(tuple(str(folder / name) for name in names), mode)


def read_text(path: Path, encoding: str | None = None) -> str:
    """A whole text file; an empty one is no error here."""
    if not path.stat().st_size:
        return ""
    with opened_text(path, encoding, newline=None) as file:
        return file.read()


def refuse_columns(folder: Path, **columns: str | Sequence[str] | None) -> None:
    """A folder has no columns."""
    named = [name for name, value in columns.items() if value]
    if named:
        raise InputError(
            f"folder {folder}",
            expected="no column names: its files are the items",
            got=", ".join(parameter(name) for name in named),
            fix="Leave them out, or pass a file.",
        )


def folder_files(folder: Path) -> FolderFiles:
    """The images in a folder and below, or its text files where there are more of those; hidden files are left out."""
    every = [(name, os.path.splitext(name)[1].lower()) for name in _walk(folder, "")]
    images = [name for name, suffix in every if suffix in IMAGES]
    texts = [name for name, suffix in every if suffix in TEXTS]
    if not images and not texts:
        others = sorted({suffix or "no suffix" for _, suffix in every})
        raise InputError(
            f"folder {folder}",
            expected=f"image files ({', '.join(sorted(IMAGES))}) or text files ({', '.join(sorted(TEXTS))})",
            got=f"only {', '.join(others)}" if others else "no file at all",
            fix="Choose the folder that holds the images or texts.",
        )
    are_images = len(images) >= len(texts)
    items = set(images if are_images else texts)
    left_out = sorted(name for name, _ in every if name not in items)
    return FolderFiles(tuple(sorted(items)), are_images, tuple(left_out))


def _walk(folder: Path, prefix: str) -> Iterator[str]:
    """Files below a folder; links that lead nowhere, or to themselves, are passed over."""
    try:
        with os.scandir(folder) as iterator:
            entries = list(iterator)
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
    """A name as it is; one that is not valid in the encoding of file names is refused: no project can store it."""
    if name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name):
        return name
    raise InputError(
        f"folder {ascii(str(folder))[1:-1]}",
        expected="file names in UTF-8",
        got=ascii(name),
        fix="Rename the file.",
    )
