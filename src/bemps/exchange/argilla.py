"""Argilla 2: records as `dataset.records.to_json` writes them, with one question named `label`."""

import json
import uuid
from collections.abc import Iterator

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, plain
from bemps.exchange.json_format import (
    JsonFormat,
    Object,
    columns_beside,
    columns_in,
    content_of,
    field,
    labels_of,
    objects,
    probabilities,
    said_under,
    text_of,
)
from bemps.store import Item
from bemps.store.words import LABEL

PEOPLE = uuid.UUID("6f1c9c1e-5d1b-4f0e-9a51-6a7a6d9f2b11")  # namespace of annotators' names as Argilla's user ids


def _argilla_record(one: Labelled, about: About) -> Iterator[Object]:
    """Argilla knows people by UUIDs and takes no response without a value: the rest is in the metadata, as text."""
    responses = [
        {"value": answer.label, "user_id": _person(answer.annotator), "status": "submitted"}
        for answer in one.answers
        if answer.kind == LABEL
    ]
    metadata = {"bemps": [plain(answer) for answer in one.answers]}
    yield _argilla_base(one.item, about, metadata) | {"responses": {"label": responses}}


def _argilla_base(item: Item, about: About, metadata: Object) -> Object:
    """Metadata of Argilla are single values: everything else is text there."""
    values = {
        name: value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in (metadata | columns_beside(item)).items()
    }
    fields = {about.field: item.content}
    return {"id": item.id, "fields": fields, "metadata": values, "suggestions": {}, "responses": {}, "vectors": {}}


def _person(annotator: str) -> str:
    return str(uuid.uuid5(PEOPLE, annotator))


def _argilla_prediction(one: Predicted, about: About) -> Object:
    label, p = one.best(about.classes)
    record = _argilla_base(one.item, about, {"probabilities": probabilities(one, about)} | labels_of(one, about))
    return record | {"suggestions": {"label": {"value": label, "score": p, "agent": about.model}}}


def _argilla_entries(record: Object, where: str) -> Iterator[Entry]:
    fields = field(record, "fields", dict, where)
    if fields is None:
        raise InputError(f"record at {where}", expected="fields", got="none", fix="Is it a file of Argilla records?")
    id, content = text_of(record, "id", where), content_of(fields, where)
    metadata = field(record, "metadata", dict, where) or {}
    said, columns = said_under(metadata.get("bemps")), columns_in(metadata)
    mine = {_person(str(one.get("annotator"))): one for one in said if one.get("kind") == LABEL}
    yield from (entry_of(id, content, one, where, columns) for one in said if one.get("kind") != LABEL)
    for response in objects(field(record, "responses", dict, where) or {}, "label", where):
        value, person = response.get("value"), str(response.get("user_id"))
        if response.get("status", "submitted") == "draft" or value is None:
            continue
        own = mine.get(person)
        fresh = {"label": value, "annotator": person if own is None else own["annotator"]}
        unchanged = own is not None and own.get("label") == value
        yield entry_of(id, content, own if own is not None and unchanged else fresh, where, columns)


ARGILLA = JsonFormat(False, _argilla_record, _argilla_prediction, _argilla_entries)
