"""Label Studio: tasks with annotations or predictions of one `choices` control named `label`."""

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
    AnswerFields,
    JsonFormat,
    Object,
    columns_beside,
    columns_in,
    content_of,
    field,
    labels_of,
    objects,
    probabilities,
    single_label,
    stored_answers,
    text_of,
)
from bemps.store.events import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE


def _studio_result(label: str | None, about: ExportInfo) -> list[Object]:
    named = {"from_name": "label", "to_name": about.field, "type": "choices"}
    return [] if label is None else [named | {"value": {"choices": [label]}}]


def _studio_task(labelled: LabelledItem, about: ExportInfo) -> Iterator[Object]:
    """No `completed_by`: Label Studio refuses people that it does not know. A note alone is no annotation there."""
    annotations = [
        {
            "result": _studio_result(answer.label, about),
            "was_cancelled": answer.kind == SKIP,
            "ground_truth": answer.kind == ADJUDICATE,
            "created_at": answer.time.isoformat(),
        }
        for answer in labelled.answers
        if answer.kind != NOTE
    ]
    data = {about.field: labelled.item.content, "id": labelled.item.id}
    meta = {"bemps": [answer_fields(answer) for answer in labelled.answers]} | columns_beside(labelled.item)
    yield {"data": data, "annotations": annotations, "meta": meta}


def _studio_prediction(prediction: PredictedItem, about: ExportInfo) -> Object:
    label, p = prediction.best(about.classes)
    suggestion = {"model_version": about.model, "score": p, "result": _studio_result(label, about)}
    data = {
        about.field: prediction.item.content,
        "id": prediction.item.id,
        "probabilities": probabilities(prediction, about),
    }
    return {
        "data": data | labels_of(prediction, about),
        "predictions": [suggestion],
        "meta": columns_beside(prediction.item),
    }


def _studio_entries(task: Object, where: str) -> Iterator[ImportedAnswer]:
    data = field(task, "data", dict, where)
    if data is None:
        raise InputError(f"task at {where}", expected="data", got="none", fix="Is it a Label Studio export?")
    id, content = text_of(data, "id", where), content_of(data, where)
    meta = field(task, "meta", dict, where) or {}
    answers, columns = stored_answers(meta.get("bemps")), columns_in(meta)
    yield from (
        imported_answer(id, content, answer, where, columns) for answer in answers if answer.get("kind") == NOTE
    )
    left = [answer for answer in answers if answer.get("kind") != NOTE]
    for annotation in objects(task, "annotations", where):
        label = _studio_label(annotation, where)
        kind = SKIP if annotation.get("was_cancelled") else LABEL if label is not None else UNSURE
        own = next((answer for answer in left if _same_label(answer, label, kind)), None)
        if own is not None:
            left.remove(own)
        who, when = _studio_person(annotation.get("completed_by")), annotation.get("created_at")
        fresh = {"label": label, "annotator": who, "time": when, "kind": kind}
        yield imported_answer(id, content, own or fresh, where, columns)


def _same_label(answer: AnswerFields, label: str | None, kind: str) -> bool:
    """Whether a stored answer has the label of an annotation; without a label, both or neither are skipped."""
    return answer.get("label") == label and bool(label or (answer.get("kind") == SKIP) == (kind == SKIP))


def _studio_label(annotation: Object, where: str) -> str | None:
    for result in objects(annotation, "result", where):
        choices = (field(result, "value", dict, where) or {}).get("choices")
        if choices:
            return single_label(choices, where)
    return None


def _studio_person(completed_by: object) -> str | None:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return None if completed_by is None else str(completed_by)


def _recognises(record: Object, _: bool) -> bool:
    return isinstance(record.get("data"), dict) and not record.keys().isdisjoint(("annotations", "predictions"))


LABEL_STUDIO = JsonFormat(False, _studio_task, _studio_prediction, _studio_entries, _recognises)
