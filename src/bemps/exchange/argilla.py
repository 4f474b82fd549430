"""Argilla 2: records as `dataset.records.to_json` writes them, with one question named `label`."""

import json
import uuid
from collections.abc import Iterator

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, plain
from bemps.exchange.json_format import (
    JsonFormat,
    Object,
    content_of,
    field,
    objects,
    probabilities,
    said_under,
    text_of,
)
from bemps.store.words import LABEL

PEOPLE = uuid.UUID("6f1c9c1e-5d1b-4f0e-9a51-6a7a6d9f2b11")  # namespace of annotators' names as Argilla's user ids


def _argilla_record(one: Labelled, about: About) -> Iterator[Object]:
    """Argilla knows people by UUIDs and takes no response without a value: the rest is in the metadata, as text."""
    responses = [
        {"value": answer.label, "user_id": _person(answer.annotator), "status": "submitted"}
        for answer in one.answers
        if answer.kind == LABEL
    ]
    said = json.dumps([plain(answer) for answer in one.answers], ensure_ascii=False)
    yield _argilla_base(one.item.id, one.item.content, about, {"bemps": said}) | {"responses": {"label": responses}}


def _argilla_base(id: str, content: str, about: About, metadata: Object) -> Object:
    fields = {about.field: content}
    return {"id": id, "fields": fields, "metadata": metadata, "suggestions": {}, "responses": {}, "vectors": {}}


def _person(annotator: str) -> str:
    return str(uuid.uuid5(PEOPLE, annotator))


def _argilla_prediction(one: Predicted, about: About) -> Object:
    label, p = one.best(about.classes)
    told = json.dumps(probabilities(one, about), ensure_ascii=False)
    record = _argilla_base(one.item.id, one.item.content, about, {"probabilities": told})
    return record | {"suggestions": {"label": {"value": label, "score": p, "agent": about.model}}}


def _argilla_entries(record: Object, where: str) -> Iterator[Entry]:
    fields = field(record, "fields", dict, where)
    if fields is None:
        raise InputError(f"record at {where}", expected="fields", got="none", fix="Is it a file of Argilla records?")
    id, content = text_of(record, "id", where), content_of(fields, where)
    said = said_under((field(record, "metadata", dict, where) or {}).get("bemps"))
    mine = {_person(str(one.get("annotator"))): one for one in said if one.get("kind") == LABEL}
    yield from (entry_of(id, content, one, where) for one in said if one.get("kind") != LABEL)
    for response in objects(field(record, "responses", dict, where) or {}, "label", where):
        value, person = response.get("value"), str(response.get("user_id"))
        if response.get("status", "submitted") == "draft" or value is None:
            continue
        own = mine.get(person)
        fresh = {"label": value, "annotator": person if own is None else own["annotator"]}
        yield entry_of(id, content, own if own is not None and own.get("label") == value else fresh, where)


ARGILLA = JsonFormat(False, _argilla_record, _argilla_prediction, _argilla_entries)
