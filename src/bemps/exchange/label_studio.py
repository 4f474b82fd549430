"""Label Studio: tasks with annotations or predictions of one `choices` control named `label`."""

from collections.abc import Iterator

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, plain
from bemps.exchange.json_format import (
    JsonFormat,
    Object,
    Said,
    columns_beside,
    columns_in,
    content_of,
    field,
    labels_of,
    objects,
    only,
    probabilities,
    said_under,
    text_of,
)
from bemps.store.words import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE


def _studio_result(label: str | None, about: About) -> list[Object]:
    named = {"from_name": "label", "to_name": about.field, "type": "choices"}
    return [] if label is None else [named | {"value": {"choices": [label]}}]


def _studio_task(one: Labelled, about: About) -> Iterator[Object]:
    """No `completed_by`: Label Studio refuses people that it does not know. A note alone is no annotation there."""
    annotations = [
        {
            "result": _studio_result(answer.label, about),
            "was_cancelled": answer.kind == SKIP,
            "ground_truth": answer.kind == ADJUDICATE,
            "created_at": answer.time.isoformat(),
        }
        for answer in one.answers
        if answer.kind != NOTE
    ]
    data = {about.field: one.item.content, "id": one.item.id}
    meta = {"bemps": [plain(answer) for answer in one.answers]} | columns_beside(one.item)
    yield {"data": data, "annotations": annotations, "meta": meta}


def _studio_prediction(one: Predicted, about: About) -> Object:
    label, p = one.best(about.classes)
    told = {"model_version": about.model, "score": p, "result": _studio_result(label, about)}
    data = {about.field: one.item.content, "id": one.item.id, "probabilities": probabilities(one, about)}
    return {"data": data | labels_of(one, about), "predictions": [told], "meta": columns_beside(one.item)}


def _studio_entries(task: Object, where: str) -> Iterator[Entry]:
    data = field(task, "data", dict, where)
    if data is None:
        raise InputError(f"task at {where}", expected="data", got="none", fix="Is it a Label Studio export?")
    id, content = text_of(data, "id", where), content_of(data, where)
    meta = field(task, "meta", dict, where) or {}
    said, columns = said_under(meta.get("bemps")), columns_in(meta)
    yield from (entry_of(id, content, one, where, columns) for one in said if one.get("kind") == NOTE)
    left = [one for one in said if one.get("kind") != NOTE]
    for annotation in objects(task, "annotations", where):
        label = _studio_label(annotation, where)
        kind = SKIP if annotation.get("was_cancelled") else LABEL if label is not None else UNSURE
        own = next((said for said in left if said.get("label") == label and (label or _quiet(said, kind))), None)
        if own is not None:
            left.remove(own)
        who, when = _studio_person(annotation.get("completed_by")), annotation.get("created_at")
        fresh = {"label": label, "annotator": who, "time": when, "kind": kind}
        yield entry_of(id, content, own or fresh, where, columns)


def _quiet(said: Said, kind: str) -> bool:
    """Without a label: skipped in both, or in neither."""
    return (said.get("kind") == SKIP) == (kind == SKIP)


def _studio_label(annotation: Object, where: str) -> str | None:
    for result in objects(annotation, "result", where):
        choices = (field(result, "value", dict, where) or {}).get("choices")
        if choices:
            return only(choices, where)
    return None


def _studio_person(completed_by: object) -> str | None:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return None if completed_by is None else str(completed_by)


LABEL_STUDIO = JsonFormat(False, _studio_task, _studio_prediction, _studio_entries)
