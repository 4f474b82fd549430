"""Files that are either whole or not there: written beside their place and moved into it."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bemps.data.encoding import encoding_of
from bemps.errors import InputError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A draft to write to, file or folder; it takes its place when everything has been written."""
    if not path.parent.is_dir():
        raise InputError("--out", expected="a file in an existing folder", got=str(path), fix="Create the folder.")
    draft = path.with_name(path.name + ".part")
    _remove(draft)
    try:
        yield draft
        if path.is_dir():
            _remove(path)
        os.replace(draft, path)
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError(f"export to {path}", expected="to write it", got=got, fix="Check space and rights.") from error
    finally:
        _remove(draft)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(objects: Iterable[dict[str, Any]], path: Path, lines: bool) -> None:
    """One object a line, with brackets and commas around them for an array: both are read line by line by eye."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        first = True
        for one in objects:
            file.write("" if lines else "[\n" if first else ",\n")
            file.write(json.dumps(one, ensure_ascii=False) + ("\n" if lines else ""))
            first = False
        file.write("" if lines else "[]\n" if first else "\n]\n")


def read_json(path: Path, lines: bool) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects and where each stands; an empty file of lines has none, as an export of nothing writes it."""
    if lines and not path.stat().st_size:
        return
    with path.open(encoding=encoding_of(path, None), newline="\n") as file:
        if lines:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _object(line, f"{path}, line {number:,}"), f"{path}, line {number:,}"
        else:
            found = _parsed(file.read(), str(path))
            for number, one in enumerate(found if isinstance(found, list) else [found], start=1):
                yield _checked(one, f"{path}, object {number:,}"), f"{path}, object {number:,}"


def _object(text: str, where: str) -> dict[str, Any]:
    return _checked(_parsed(text, where), where)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(where, expected="JSON", got=str(error), fix="Is it the right file?") from error


def _checked(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(where, expected="an object {...}", got=type(found).__name__, fix="Is it the right file?")
    return found
