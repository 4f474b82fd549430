"""The format of a file, by its name, its ending, or its first object."""

from pathlib import Path

from bemps._utils.existing_paths import path_exists
from bemps.data.reading import JSON_LINES
from bemps.errors import InputError, unknown_name
from bemps.formats.format_registry import FORMATS, UNRECOGNISED, Format
from bemps.formats.json_files import is_in_lines, read_json


def format_to_write(name: str | None, path: Path) -> Format:
    """Return the format by name, or by the ending of the file. Without an ending it is a Hugging Face folder."""
    if name is not None:
        return format_named(name)
    suffix = path.suffix.lower()
    if not suffix:
        return _folder_format()
    for known in FORMATS.values():
        if suffix in known.suffixes:
            return known
    *others, last = (known.suffixes[0] for known in FORMATS.values() if known.suffixes)
    raise InputError(
        f"format of {path}",
        expected=f"a name that ends in {', '.join(others)} or {last}, or --format",
        got=suffix,
        fix=f"Choose one of {', '.join(FORMATS)}.",
    )


def format_to_read(name: str | None, path: Path) -> Format:
    """Return the format by name, or by the ending of the file and its first object."""
    if not path_exists(path):
        raise InputError("file", expected="a file or folder", got=f"{path}, which does not exist", fix="Correct it.")
    if name is not None:
        return format_named(name)
    if path.is_dir():
        return _folder_format()
    if path.suffix.lower() in (".json", *JSON_LINES):
        return _recognised(path)
    matching = (row for row in FORMATS.values() if row.recognises_file(path))
    return next(matching, None) or _by_ending(path)


def _by_ending(path: Path) -> Format:
    return format_to_write(None, path) if path.suffix else format_named("")


def _recognised(path: Path) -> Format:
    """The first format that recognises the first object; arrays that none does are Label Studio's, lines our own."""
    lines = is_in_lines(path)
    record, _ = next(read_json(path, lines), ({}, ""))
    matching = (row for row in FORMATS.values() if row.recognises(record, lines))
    return next(matching, FORMATS[UNRECOGNISED[lines]])


def _folder_format() -> Format:
    """The format whose files are folders."""
    return next(row for row in FORMATS.values() if row.folder is not None)


def format_named(name: str) -> Format:
    """Return the format of a name. An unknown name is refused."""
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return FORMATS[name]
