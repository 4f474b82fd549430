"""Parquet, written in row groups, and the folder of a Hugging Face dataset around it."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from bemps.data.json_text import parse_object
from bemps.data.parquet import opened_parquet, refuse_twice
from bemps.errors import InputError, MissingExtra
from bemps.exchange.entries import Entry, entry_of
from bemps.exchange.json_format import content_of, field, text_of
from bemps.exchange.tables import Rows

GROUP = 10_000
NUMBERS = {"seq": "int64", "target": "int64", "probability": "float64"}
KNOWN = ("id", "text", "image", "label", "annotator", "time", "kind", "note")
PART = "data/train-00000-of-00001.parquet"


def write_parquet(rows: Rows, path: Path) -> None:
    """Texts, times (microseconds, UTC) and numbers in columns of their types."""
    arrow = _arrow()
    _write(rows, path, arrow.schema([(name, _type(name)) for name in rows.columns]))


def write_dataset(rows: Rows, folder: Path) -> None:
    """A folder that `datasets.load_dataset(folder)` reads: Parquet with `label` as a ClassLabel, and a card."""
    arrow = _arrow()
    codes = {name: code for code, name in enumerate(rows.classes)}
    place = rows.columns.index("label")
    coded = ([*row[:place], codes.get(row[place]), *row[place + 1 :]] for row in rows.rows)
    types = [(name, arrow.int64() if name == "label" else _type(name)) for name in rows.columns]
    features = {name: _feature(name, rows.classes) for name in rows.columns}
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    (folder / PART).parent.mkdir(parents=True)
    _write(Rows(rows.columns, coded), folder / PART, arrow.schema(types, metadata=about))
    (folder / "README.md").write_text(_card(rows), encoding="utf-8")


def read_parquet(path: Path) -> Iterator[Entry]:
    """A Parquet file with a column `label` (text, or a ClassLabel), and `id` or `text`."""
    row = 0
    with opened_parquet(path, extra="label", fix="Is it complete?") as file:
        names = file.schema_arrow.names
        refuse_twice(path, names, KNOWN)
        if "label" not in names or not {"id", "text", "image"} & set(names):
            got = ", ".join(names)
            raise InputError(str(path), expected="columns label, and id or text", got=got, fix="Rename them.")
        classes = _classes(file.schema_arrow.metadata or {}, str(path))
        for batch in file.iter_batches(GROUP, columns=[name for name in names if name in KNOWN]):
            for found in batch.to_pylist():
                row += 1
                where = f"{path}, row {row:,}"
                if isinstance(found["label"], int) and classes:
                    found["label"] = _named(found["label"], classes, where)
                if found["label"] is not None or found.get("kind") or found.get("note"):
                    yield entry_of(text_of(found, "id", where), content_of(found, where), found, where)


def _named(code: int, classes: list[str], where: str) -> str | None:
    """The class of a code; -1 stands for none."""
    if code < len(classes):
        return classes[code] if code >= 0 else None
    expected = f"the number of one of {len(classes)} classes"
    raise InputError(f"label at {where}", expected=expected, got=str(code), fix="Correct it.")


def read_dataset(folder: Path) -> Iterator[Entry]:
    """Every Parquet file below a folder."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise InputError(str(folder), expected="Parquet files", got="none", fix="Is it a dataset's folder?")
    for file in files:
        yield from read_parquet(file)


def _write(rows: Rows, path: Path, schema: Any) -> None:
    arrow, parquet = _arrow(), import_module("pyarrow.parquet")
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows.rows, GROUP)):
            columns: list[Sequence[Any]] = list(zip(*group, strict=True))
            arrays = [arrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _type(name: str) -> Any:
    arrow = _arrow()
    if name == "time":
        return arrow.timestamp("us", tz="UTC")
    if name.startswith("p_"):
        return arrow.float64()
    return getattr(arrow, NUMBERS.get(name, "string"))()


def _feature(name: str, classes: tuple[str, ...]) -> dict[str, Any]:
    if name == "label":
        return {"names": list(classes), "_type": "ClassLabel"}
    kinds = {"time": "timestamp[us, tz=UTC]"} | NUMBERS
    return {"dtype": "float64" if name.startswith("p_") else kinds.get(name, "string"), "_type": "Value"}


def _classes(metadata: dict[bytes, bytes], where: str) -> list[str]:
    """The names of the classes, where the file was written for Hugging Face."""
    record = parse_object(metadata.get(b"huggingface", b"{}").decode(), f"metadata of {where}")
    for name in ("info", "features", "label"):
        record = field(record, name, dict, where) or {}
    names = field(record, "names", list, where) or []
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"classes of {where}", expected="texts", got=repr(names)[:60], fix="Correct the file.")
    return names


def _card(rows: Rows) -> str:
    """The card: a YAML head (JSON is YAML) that tells `datasets` where the data are, and a few words."""
    head: dict[str, Any] = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}]
    }
    if "text" in rows.columns:
        head["task_categories"] = ["text-classification"]
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    made = datetime.now(UTC).date().isoformat()
    columns = ", ".join(f"`{name}`" for name in rows.columns)
    words = [f"# {rows.title or 'Labels'}", "", f"Written by bemps on {made}. Columns: {columns}.", "", "Classes:", ""]
    return "\n".join(["---", *lines, "---", *words, *(f"- {name}" for name in rows.classes), ""])


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as cause:
        raise MissingExtra("Parquet", "label", cause) from cause
