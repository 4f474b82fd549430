"""Argilla 2: records as `dataset.records.to_json` writes them, with one question named `label`."""

import json
import uuid
from collections.abc import Iterator

from bemps.errors import InputError
from bemps.formats.entries import (
    ExportInfo,
    ImportedAnswer,
    LabelledItem,
    PredictedItem,
    answer_fields,
    imported_answer,
)
from bemps.formats.json_objects import (
    JsonFormat,
    Object,
    columns_beside,
    columns_in,
    content_of,
    field,
    labels_of,
    objects,
    probabilities,
    stored_answers,
    text_of,
)
from bemps.store import Item
from bemps.store.events import LABEL

PEOPLE = uuid.UUID("6f1c9c1e-5d1b-4f0e-9a51-6a7a6d9f2b11")  # namespace of annotators' names as Argilla's user ids


def _argilla_record(labelled: LabelledItem, about: ExportInfo) -> Iterator[Object]:
    """Argilla knows people by UUIDs and takes no response without a value: the rest is in the metadata, as text."""
    responses = [
        {"value": answer.label, "user_id": _person(answer.annotator), "status": "submitted"}
        for answer in labelled.answers
        if answer.kind == LABEL
    ]
    metadata = {"bemps": [answer_fields(answer) for answer in labelled.answers]}
    yield _argilla_base(labelled.item, about, metadata) | {"responses": {"label": responses}}


def _argilla_base(item: Item, about: ExportInfo, metadata: Object) -> Object:
    """Metadata of Argilla are single values: everything else is text there."""
    values = {
        name: value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in (metadata | columns_beside(item)).items()
    }
    fields = {about.field: item.content}
    return {"id": item.id, "fields": fields, "metadata": values, "suggestions": {}, "responses": {}, "vectors": {}}


def _person(annotator: str) -> str:
    return str(uuid.uuid5(PEOPLE, annotator))


def _argilla_prediction(prediction: PredictedItem, about: ExportInfo) -> Object:
    label, p = prediction.best(about.classes)
    record = _argilla_base(
        prediction.item, about, {"probabilities": probabilities(prediction, about)} | labels_of(prediction, about)
    )
    return record | {"suggestions": {"label": {"value": label, "score": p, "agent": about.model}}}


def _argilla_entries(record: Object, where: str) -> Iterator[ImportedAnswer]:
    fields = field(record, "fields", dict, where)
    if fields is None:
        raise InputError(f"record at {where}", expected="fields", got="none", fix="Is it a file of Argilla records?")
    id, content = text_of(record, "id", where), content_of(fields, where)
    metadata = field(record, "metadata", dict, where) or {}
    answers, columns = stored_answers(metadata.get("bemps")), columns_in(metadata)
    mine = {_person(str(answer.get("annotator"))): answer for answer in answers if answer.get("kind") == LABEL}
    yield from (
        imported_answer(id, content, answer, where, columns) for answer in answers if answer.get("kind") != LABEL
    )
    for response in objects(field(record, "responses", dict, where) or {}, "label", where):
        value, person = response.get("value"), str(response.get("user_id"))
        if response.get("status", "submitted") == "draft" or value is None:
            continue
        own = mine.get(person)
        fresh = {"label": value, "annotator": person if own is None else own["annotator"]}
        unchanged = own is not None and own.get("label") == value
        yield imported_answer(id, content, own if own is not None and unchanged else fresh, where, columns)


def _recognises(record: Object, _: bool) -> bool:
    return isinstance(record.get("fields"), dict)


ARGILLA = JsonFormat(False, _argilla_record, _argilla_prediction, _argilla_entries, _recognises)
