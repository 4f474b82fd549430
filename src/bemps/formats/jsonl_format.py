"""JSON lines in the form of bemps: every answer, beside the columns of the user's file."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bemps.formats.entries import ExportInfo, ImportedAnswer, LabelledItem, PredictedItem, imported_answer
from bemps.formats.export_tables import ExportTable, label_columns, label_values, prediction_columns, prediction_values
from bemps.formats.json_files import write_json
from bemps.formats.json_objects import JsonFormat, Object, content_of, probabilities, text_of
from bemps.formats.user_columns import Column, other_fields, own_fields, refuse_predictions
from bemps.store import Item


def _own_lines(labelled: LabelledItem, about: ExportInfo) -> Iterator[Object]:
    columns = label_columns(about)
    for answer in labelled.answers:
        values = label_values(labelled.item, answer, about)
        yield _beside(labelled.item, columns, values | {"time": answer.time.isoformat()})


def _beside(item: Item, columns: Mapping[str, Column], values: Object) -> Object:
    return item.columns | {column.name: values[name] for name, column in columns.items()}


def _own_prediction(prediction: PredictedItem, about: ExportInfo) -> Object:
    columns = {name: column for name, column in prediction_columns(about).items() if not name.startswith("p_")}
    prefix = columns["label"].name.removesuffix("label")
    shares = probabilities(prediction, about) if prediction.probs else None
    return _beside(prediction.item, columns, prediction_values(prediction, about)) | {f"{prefix}probabilities": shares}


def _own_entries(record: Object, where: str) -> Iterator[ImportedAnswer]:
    names = own_fields(record)
    refuse_predictions(record, names.get("label", ""), where)
    own = {name: record[column] for name, column in names.items()}
    others = other_fields(record, names)
    yield imported_answer(text_of(own, "id", where), content_of(own, where), own, where, others)


def _row_lines(rows: ExportTable, path: Path) -> None:
    texts = ([value.isoformat() if hasattr(value, "isoformat") else value for value in row] for row in rows.rows)
    write_json((dict(zip(rows.names, row, strict=True)) for row in texts), path, lines=True)


OWN = JsonFormat(True, _own_lines, _own_prediction, _own_entries, rows=_row_lines)
