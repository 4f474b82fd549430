"""Prodigy: tasks of the `choice` interface."""

import hashlib
from collections.abc import Iterator

from bemps.formats.entries import (
    ExportInfo,
    ImportedAnswer,
    LabelledItem,
    PredictedItem,
    answer_fields,
    imported_answer,
    parse_time,
)
from bemps.formats.json_objects import (
    JsonFormat,
    Object,
    columns_beside,
    columns_in,
    content_of,
    labels_of,
    probabilities,
    single_label,
    text_of,
)
from bemps.store.events import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE


def _prodigy_task(content: str, about: ExportInfo) -> Object:
    options = [{"id": name, "text": name} for name in about.classes]
    return {
        about.field: content,
        "options": options,
        "_input_hash": _hash(content),
        "_task_hash": _hash(content, *about.classes),
        "_view_id": "choice",
        "config": {"choice_style": "single"},
    }


def _hash(*parts: str) -> int:
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=4).digest()
    return int.from_bytes(digest, signed=True)


def _prodigy_lines(labelled: LabelledItem, about: ExportInfo) -> Iterator[Object]:
    for answer in labelled.answers:
        values = answer_fields(answer)
        label = values.pop("label")
        yield _prodigy_task(labelled.item.content, about) | {
            "accept": [label] if label else [],
            "answer": "accept" if label else "ignore",
            "_timestamp": int(answer.time.timestamp()),
            "_annotator_id": answer.annotator,
            "meta": {"id": labelled.item.id, **values} | columns_beside(labelled.item),
        }


def _prodigy_prediction(prediction: PredictedItem, about: ExportInfo) -> Object:
    label, p = prediction.best(about.classes)
    task = _prodigy_task(prediction.item.content, about)
    return task | {
        "accept": [label],
        "meta": {"id": prediction.item.id, "score": p, "probabilities": probabilities(prediction, about)}
        | labels_of(prediction, about)
        | columns_beside(prediction.item),
    }


def _prodigy_entries(task: Object, where: str) -> Iterator[ImportedAnswer]:
    """A rejected label says only what an item is not: nothing to take over."""
    meta: Object = task["meta"] if isinstance(task.get("meta"), dict) else {}
    answer = task.get("answer")
    if answer == "reject" or answer is None:
        return
    labels = task.get("accept") or ([task["label"]] if task.get("label") else [])
    label = single_label(labels, where) if answer == "accept" and labels else None
    values = {
        "label": label,
        "annotator": task.get("_annotator_id") or task.get("_session_id"),
        "time": _time(meta.get("time"), task.get("_timestamp"), where),
        "kind": _kind(label, meta.get("kind")),
        "note": meta.get("note"),
    }
    yield imported_answer(text_of(meta, "id", where), content_of(task, where), values, where, columns_in(meta))


def _kind(label: str | None, kind: object) -> object:
    """What was noted at export, unless the answer was changed since."""
    if label is not None:
        return kind if kind == ADJUDICATE else LABEL
    return kind if kind in (UNSURE, NOTE) else SKIP


def _time(noted: object, stamp: object, where: str) -> object:
    """The time noted at export has microseconds; it counts unless Prodigy has another second."""
    exact = parse_time(noted, where)
    return exact if exact is not None and stamp in (None, int(exact.timestamp())) else stamp


def _recognises(record: Object, lines: bool) -> bool:
    return lines and ("_input_hash" in record or "answer" in record)


PRODIGY = JsonFormat(True, _prodigy_lines, _prodigy_prediction, _prodigy_entries, _recognises)
