"""JSON lines of one's own: every answer as it is, beside the columns of the user's file."""

from collections.abc import Iterator, Mapping

from bemps.exchange.columns import Column, other_fields, own_fields
from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of
from bemps.exchange.json_format import JsonFormat, Object, content_of, probabilities, text_of
from bemps.exchange.tables import label_columns, label_values, prediction_columns, prediction_values
from bemps.store import Item


def _own_lines(one: Labelled, about: About) -> Iterator[Object]:
    columns = label_columns(about)
    for answer in one.answers:
        values = label_values(one.item, answer, about)
        yield _beside(one.item, columns, values | {"time": answer.time.isoformat()})


def _beside(item: Item, columns: Mapping[str, Column], values: Object) -> Object:
    return item.columns | {column.name: values[name] for name, column in columns.items()}


def _own_prediction(one: Predicted, about: About) -> Object:
    columns = {name: column for name, column in prediction_columns(about).items() if not name.startswith("p_")}
    prefix = columns["label"].name.removesuffix("label")
    told = {f"{prefix}probabilities": probabilities(one, about)}
    return _beside(one.item, columns, prediction_values(one, about)) | told


def _own_entries(record: Object, where: str) -> Iterator[Entry]:
    names = own_fields(record)
    own = {name: record[column] for name, column in names.items()}
    others = other_fields(record, names)
    yield entry_of(text_of(own, "id", where), content_of(own, where), own, where, others)


OWN = JsonFormat(True, _own_lines, _own_prediction, _own_entries)
