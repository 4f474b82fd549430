"""Parquet files, and the folder of a Hugging Face dataset around one."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from bemps._utils.extras import optional_import
from bemps.data.json_text import parse_object
from bemps.data.parquet_files import opened_parquet, refuse_repeated_columns
from bemps.errors import InputError
from bemps.formats.entries import ImportedAnswer, imported_answer
from bemps.formats.export_tables import ExportTable, RowFormat
from bemps.formats.json_objects import content_of, field, text_of
from bemps.formats.user_columns import ANY, LABEL, NUMBER, TIME, TRUTH, WHOLE, Column, answer_columns, other_fields

GROUP = 10_000
TYPES = {WHOLE: "int64", NUMBER: "float64", TRUTH: "bool"}  # in Arrow and in Hugging Face's features alike
PART = "data/train-00000-of-00001.parquet"


def write_parquet(rows: ExportTable, path: Path) -> None:
    """Write texts, times (microseconds, UTC) and numbers in columns of their types."""
    arrow = _arrow()
    _write(rows, path, arrow.schema([(column.name, _type(column)) for column in rows.columns]))


def write_dataset(rows: ExportTable, folder: Path) -> None:
    """Write a folder for `datasets.load_dataset(folder)`: Parquet with labels as a ClassLabel, and a card."""
    arrow = _arrow()
    codes = {name: code for code, name in enumerate(rows.classes)}
    are_labels = [column.type == LABEL for column in rows.columns]
    coded = (
        [codes.get(value) if is_label else value for value, is_label in zip(row, are_labels, strict=True)]
        for row in rows.rows
    )
    types = [(column.name, arrow.int64() if column.type == LABEL else _type(column)) for column in rows.columns]
    features = {column.name: _feature(column, rows.classes) for column in rows.columns}
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    (folder / PART).parent.mkdir(parents=True)
    _write(ExportTable(rows.columns, coded), folder / PART, arrow.schema(types, metadata=about))
    (folder / "README.md").write_text(_card(rows), encoding="utf-8")


def read_parquet(path: Path) -> Iterator[ImportedAnswer]:
    """Read a Parquet file with a column `label` (text, or a ClassLabel), and `id` or `text`."""
    row = 0
    with opened_parquet(path, fix="Is it complete?") as file:
        names = file.schema_arrow.names
        ours = answer_columns(names, str(path))
        refuse_repeated_columns(path, names, list(ours.values()))
        classes = _classes(file.schema_arrow.metadata or {}, ours["label"], str(path))
        once = [name for name in names if names.count(name) == 1]
        for batch in file.iter_batches(GROUP, columns=once):
            for record in batch.to_pylist():
                row += 1
                where = f"{path}, row {row:,}"
                own = {name: record[column] for name, column in ours.items()}
                if isinstance(own["label"], int) and classes:
                    own["label"] = _named(own["label"], classes, where)
                if own["label"] is not None or own.get("kind") or own.get("note"):
                    others = other_fields(record, ours)
                    yield imported_answer(text_of(own, "id", where), content_of(own, where), own, where, others)


def _named(code: int, classes: list[str], where: str) -> str | None:
    """The class of a code; -1 stands for none."""
    if code < len(classes):
        return classes[code] if code >= 0 else None
    expected = f"the number of one of {len(classes)} classes"
    raise InputError(f"label at {where}", expected=expected, got=str(code), fix="Correct it.")


def read_dataset(folder: Path) -> Iterator[ImportedAnswer]:
    """Read every Parquet file below a folder."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise InputError(str(folder), expected="Parquet files", got="none", fix="Is it a dataset's folder?")
    for file in files:
        yield from read_parquet(file)


def _write(rows: ExportTable, path: Path, schema: Any) -> None:
    arrow, parquet = _arrow(), optional_import("pyarrow.parquet", "parquet", "Parquet")
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows.rows, GROUP)):
            columns: list[Sequence[Any]] = list(zip(*group, strict=True))
            cells = [
                list(map(_as_text, values)) if column.type == ANY else values
                for values, column in zip(columns, rows.columns, strict=True)
            ]
            arrays = [arrow.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _as_text(value: Any) -> str | None:
    """A value of a column that holds values of several kinds."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _type(column: Column) -> Any:
    arrow = _arrow()
    if column.type == TIME:
        return arrow.timestamp("us", tz="UTC")
    return arrow.type_for_alias(TYPES.get(column.type, "string"))


def _feature(column: Column, classes: tuple[str, ...]) -> dict[str, Any]:
    if column.type == LABEL:
        return {"names": list(classes), "_type": "ClassLabel"}
    kinds = {TIME: "timestamp[us, tz=UTC]"} | TYPES
    return {"dtype": kinds.get(column.type, "string"), "_type": "Value"}


def _classes(metadata: dict[bytes, bytes], label: str, where: str) -> list[str]:
    """The names of the classes, where the file was written for Hugging Face."""
    record = parse_object(metadata.get(b"huggingface", b"{}").decode(), f"metadata of {where}")
    for name in ("info", "features", label):
        record = field(record, name, dict, where) or {}
    names = field(record, "names", list, where) or []
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"classes of {where}", expected="texts", got=repr(names)[:60], fix="Correct the file.")
    return names


def _card(rows: ExportTable) -> str:
    """The card: a YAML head (JSON is YAML) that tells `datasets` where the data are, and a few words."""
    head: dict[str, Any] = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}]
    }
    if "text" in rows.names:
        head["task_categories"] = ["text-classification"]
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    today = datetime.now(UTC).date().isoformat()
    columns = ", ".join(f"`{name}`" for name in rows.names)
    words = [f"# {rows.title or 'Labels'}", "", f"Written by bemps on {today}. Columns: {columns}.", "", "Classes:", ""]
    return "\n".join(["---", *lines, "---", *words, *(f"- {name}" for name in rows.classes), ""])


def _arrow() -> Any:
    return optional_import("pyarrow", "parquet", "Parquet")


COLUMNS = RowFormat(write_parquet, read_parquet)
DATASET = RowFormat(write_dataset, read_dataset)
