"""JSON objects in a file: one a line, or all in an array."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bemps.data.encoding import opened_text
from bemps.data.json_text import parse_json, parse_object
from bemps.errors import InputError


def write_json(objects: Iterable[dict[str, Any]], path: Path, lines: bool) -> None:
    """One object a line, with brackets and commas around them for an array: both are read line by line by eye."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        first = True
        for one in objects:
            file.write("" if lines else "[\n" if first else ",\n")
            file.write(json.dumps(one, ensure_ascii=False) + ("\n" if lines else ""))
            first = False
        file.write("" if lines else "[]\n" if first else "\n]\n")


def is_array(path: Path) -> bool:
    """Whether a file of JSON is one array rather than lines of objects."""
    if not path.stat().st_size:
        return False
    with opened_text(path) as file:
        return file.read(1_000).lstrip().startswith("[")


def read_json(path: Path, lines: bool) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects and where each stands; an empty file of lines has none, as an export of nothing writes it."""
    if lines and not path.stat().st_size:
        return
    with opened_text(path, newline="\n") as file:
        if lines:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield parse_object(line, f"{path}, line {number:,}"), f"{path}, line {number:,}"
        else:
            found = parse_json(file.read(), str(path))
            for number, one in enumerate(found if isinstance(found, list) else [found], start=1):
                yield _checked(one, f"{path}, object {number:,}"), f"{path}, object {number:,}"


def _checked(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(where, expected="an object {...}", got=type(found).__name__, fix="Is it the right file?")
    return found
