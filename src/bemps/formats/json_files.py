"""JSON objects in a file: one a line, or all in an array."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bemps.data.json_text import parse_json, parse_object
from bemps.data.reading import JSON_LINES
from bemps.data.text_encoding import opened_text
from bemps.errors import InputError


def write_json(objects: Iterable[dict[str, Any]], path: Path, lines: bool) -> None:
    """Write JSON objects, one a line.

    Parameters
    ----------
    objects : iterable of dict
        The objects.
    path : Path
        The file.
    lines : bool
        Whether the file has lines of objects. Otherwise brackets and commas make it an array.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        first = True
        for record in objects:
            file.write("" if lines else "[\n" if first else ",\n")
            file.write(json.dumps(record, ensure_ascii=False) + ("\n" if lines else ""))
            first = False
        file.write("" if lines else "[]\n" if first else "\n]\n")


def is_in_lines(path: Path) -> bool:
    """Whether a JSON file has an object in each line: what it begins with decides, else the ending of its name."""
    by_name = path.suffix.lower() in JSON_LINES
    if not path.stat().st_size:
        return by_name
    with opened_text(path) as file:
        beginning = next((line for line in file if line.strip()), "").strip()
    return not beginning.startswith("[") and (by_name or _is_json(beginning))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(path: Path, lines: bool) -> Iterator[tuple[dict[str, Any], str]]:
    """Read the objects of a file, each with its position in words. An empty file of lines has none."""
    if lines and not path.stat().st_size:
        return
    with opened_text(path, newline="\n") as file:
        if lines:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield parse_object(line, f"{path}, line {number:,}"), f"{path}, line {number:,}"
        else:
            value = parse_json(file.read(), str(path))
            for number, record in enumerate(value if isinstance(value, list) else [value], start=1):
                yield _checked(record, f"{path}, object {number:,}"), f"{path}, object {number:,}"


def _checked(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(where, expected="an object {...}", got=type(value).__name__, fix="Is it the right file?")
    return value
