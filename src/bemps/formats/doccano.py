"""doccano: one JSON object a line, with a list of labels. doccano keeps further keys as metadata."""

from collections.abc import Iterator

from bemps.errors import InputError
from bemps.formats import json_objects
from bemps.formats.entries import (
    ExportInfo,
    ImportedAnswer,
    LabelledItem,
    PredictedItem,
    answer_fields,
    imported_answer,
)
from bemps.formats.json_objects import JsonFormat, Object
from bemps.formats.user_columns import refuse_predictions
from bemps.store.events import LABEL, SKIP, UNSURE

ID = "item"  # doccano numbers examples itself, under the key `id`


def _doccano_lines(labelled: LabelledItem, about: ExportInfo) -> Iterator[Object]:
    for answer in labelled.answers:
        values = answer_fields(answer)
        label = values.pop("label")
        own = {about.field: labelled.item.content, "label": [label] if label else [], ID: labelled.item.id, **values}
        yield own | json_objects.columns_beside(labelled.item)


def _doccano_prediction(prediction: PredictedItem, about: ExportInfo) -> Object:
    label, probability = prediction.best(about.classes)
    own = {about.field: prediction.item.content, "label": [label], "probability": probability, ID: prediction.item.id}
    details = {"probabilities": json_objects.probabilities(prediction, about)} | json_objects.labels_of(
        prediction, about
    )
    return own | details | json_objects.columns_beside(prediction.item)


def _doccano_entries(record: Object, where: str) -> Iterator[ImportedAnswer]:
    if "id" not in record:  # doccano numbers what it was given
        refuse_predictions(record, "label", where)
    labels = record.get("label", record.get("labels")) or []
    if not isinstance(labels, list):
        raise InputError(f"label at {where}", expected="a list", got=repr(labels)[:60], fix="Is it a doccano file?")
    label = json_objects.single_label(labels, where) if labels else None
    if label is None and record.get("kind") in (None, LABEL):
        return  # shown in doccano, not labelled there
    kind = LABEL if label is not None and record.get("kind") in (SKIP, UNSURE) else record.get("kind")
    id = json_objects.text_of(record, ID, where) or json_objects.text_of(record, "id", where)
    yield imported_answer(
        id,
        json_objects.content_of(record, where),
        {**record, "label": label, "kind": kind, "method": None},  # the label may have been changed there
        where,
        json_objects.columns_in(record),
    )


def _recognises(record: Object, lines: bool) -> bool:
    return lines and isinstance(record.get("label", record.get("labels")), list)


DOCCANO = JsonFormat(True, _doccano_lines, _doccano_prediction, _doccano_entries, _recognises)
