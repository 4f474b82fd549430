"""Class files: names, keys, descriptions, colours and examples of classes as CSV, or names alone as TXT."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from bemps._utils.class_names import class_name
from bemps.errors import InputError, unknown_name
from bemps.store import Class, NewClass

COLUMNS = ("name", "key", "description", "colour", "examples")
OTHER_NAMES = {"color": "colour", "class": "name", "label": "name", "example": "examples"}
SUFFIXES = (".csv", ".txt")
DELIMITERS = ",;\t"


def read_class_file(path: Path, what: str = "class file") -> tuple[NewClass, ...]:
    """Read the classes of a file. `what` names it in messages."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(what, expected="a text file in UTF-8", got=f"{path}: {error}", fix="Correct it.") from error
    return parse_class_file(text, path.name, what)


def parse_class_file(text: str, file_name: str, what: str = "class file") -> tuple[NewClass, ...]:
    """Read classes from the text of a file.

    Parameters
    ----------
    text : str
        The content. A CSV has a line of headings, `name` among them.
    file_name : str
        The name of the file. Its ending says what it is.
    what : str
        The name of the file in messages.

    Returns
    -------
    tuple of NewClass
        The classes in the order of the file.

    Raises
    ------
    InputError
        It is neither CSV nor TXT, or has no or unknown headings.
    """
    suffix = Path(file_name).suffix.lower()
    if suffix == ".txt":
        return tuple(NewClass(" ".join(line.split())) for line in text.splitlines() if line.strip())
    if suffix != ".csv":
        raise InputError(what, expected=" or ".join(SUFFIXES), got=file_name, fix="Save it as CSV.")
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=_delimiter(text)))
    headings = [_heading(cell) for cell in rows[0]] if rows else []
    if "name" not in headings:
        got = f"the headings {', '.join(headings)}" if headings else "nothing"
        fix = f"Let the first line be {','.join(COLUMNS)}."
        raise InputError(what, expected="a column name", got=f"{file_name} with {got}", fix=fix)
    for heading in headings:
        if heading and heading not in COLUMNS:
            raise unknown_name(f"column of {file_name}", heading, COLUMNS)
    return tuple(_entry(dict(zip(headings, row, strict=False))) for row in rows[1:] if any(map(str.strip, row)))


def _delimiter(text: str) -> str:
    """The sign that stands most often in the line of headings."""
    head = text.partition("\n")[0]
    return max(DELIMITERS, key=head.count)


def _heading(cell: str) -> str:
    name = cell.strip().lower()
    return OTHER_NAMES.get(name, name)


def _entry(row: dict[str, str]) -> NewClass:
    values = {name: row.get(name, "").strip() for name in COLUMNS}
    name = class_name(" ".join(values["name"].split()))
    examples = tuple(filter(None, map(str.strip, values["examples"].splitlines())))
    return NewClass(name, values["key"] or None, values["description"], values["colour"].lower() or None, examples)


def class_file_text(classes: Iterable[Class]) -> str:
    """Return classes as the text of a CSV file that `parse_class_file` reads. Items that are examples are left out."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for known in classes:
        key = (known.key or "").split()[:1]
        examples = "\n".join(" ".join(example.text.split()) for example in known.examples if example.text is not None)
        writer.writerow([known.name, *(key or [""]), known.description, known.colour or "", examples])
    return out.getvalue()
