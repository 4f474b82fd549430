"""Files that no output replaces: by their names, and because a project was made from them."""

import json
import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

QUERY = "SELECT value FROM settings WHERE name IN ('sources', 'stamp')"  # projects of the first release have a stamp
TEXT, PARQUET, PAGE, WORKBOOK = "text", "Parquet", "HTML", "workbook"
ENDINGS = {  # of the files that bemps writes one by one, by what is in them
    TEXT: (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ""),
    PARQUET: (".parquet", ".pq", ""),
    PAGE: (".html",),
    WORKBOOK: (".xlsx", ""),
}
FOLDER_FILES = {  # the files in a folder that bemps replaces as a whole
    "dataset": re.compile(r"README\.md|data/train-\d{5}-of-\d{5}\.parquet"),
    "saved learner": re.compile(r"learner\.json(\.part)?|items\.(json|npy)|surprisal\.npy|array-\d{1,6}\.npy"),
    "model arrays": re.compile(
        r"(fine-tuned/)?(model\.(json|npz)|encoder\.onnx|tokenizer\.json)|vocabulary\.json|README\.md"
        r"|(__pycache__/)?predict\S*\.pyc?"
    ),
}
NOBODYS = (".bemps", ".DS_Store", "Thumbs.db", "desktop.ini")  # the marker, and what file managers leave


def is_foreign(path: Path, file: str) -> bool:
    """Whether the name of a file says that it is of a kind that bemps does not write."""
    return path.suffix.lower() not in ENDINGS[file]


def foreign_file(folder: Path, kind: str) -> str | None:
    """Return the first name in a folder of bemps that bemps does not write there; None if there is none."""
    if kind not in FOLDER_FILES:
        return None
    inside = sorted(path for path in folder.rglob("*") if path.name not in NOBODYS)
    ours = {path for path in inside if FOLDER_FILES[kind].fullmatch(path.relative_to(folder).as_posix())}
    around = {parent for path in ours for parent in path.parents}
    return next((path.relative_to(folder).as_posix() for path in inside if path not in ours | around), None)


def project_made_from(path: Path, folders: Iterable[Path]) -> Path | None:
    """Find a project, in one of the folders, that was made from this file."""
    for project in [project for folder in dict.fromkeys(folders) for project in sorted(folder.glob("*.bemps"))]:
        if any(source.exists() and os.path.samefile(path, source) for source in _sources(project)):
            return project
    return None


def _sources(project: Path) -> list[Path]:
    """List the files that a project was made from; none where the file is no project, or a damaged one."""
    if not project.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{project.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            values = [json.loads(value) for (value,) in connection.execute(QUERY)]
    except (sqlite3.Error, ValueError, TypeError):  # not ours, so that it names no source
        return []
    return [Path(name) for value in values if isinstance(value, list) for name in value if isinstance(name, str)]
