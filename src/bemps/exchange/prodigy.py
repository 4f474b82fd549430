"""Prodigy: tasks of the `choice` interface."""

import hashlib
from collections.abc import Iterator

from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, moment, plain
from bemps.exchange.json_format import (
    JsonFormat,
    Object,
    columns_beside,
    columns_in,
    content_of,
    labels_of,
    only,
    probabilities,
    text_of,
)
from bemps.store.words import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE


def _prodigy_task(content: str, about: About) -> Object:
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


def _prodigy_lines(one: Labelled, about: About) -> Iterator[Object]:
    for answer in one.answers:
        said = plain(answer)
        label = said.pop("label")
        yield _prodigy_task(one.item.content, about) | {
            "accept": [label] if label else [],
            "answer": "accept" if label else "ignore",
            "_timestamp": int(answer.time.timestamp()),
            "_annotator_id": answer.annotator,
            "meta": {"id": one.item.id, **said} | columns_beside(one.item),
        }


def _prodigy_prediction(one: Predicted, about: About) -> Object:
    label, p = one.best(about.classes)
    task = _prodigy_task(one.item.content, about)
    return task | {
        "accept": [label],
        "meta": {"id": one.item.id, "score": p, "probabilities": probabilities(one, about)}
        | labels_of(one, about)
        | columns_beside(one.item),
    }


def _prodigy_entries(found: Object, where: str) -> Iterator[Entry]:
    """A rejected label says only what an item is not: nothing to take over."""
    meta: Object = found["meta"] if isinstance(found.get("meta"), dict) else {}
    answer = found.get("answer")
    if answer == "reject" or answer is None:
        return
    chosen = found.get("accept") or ([found["label"]] if found.get("label") else [])
    label = only(chosen, where) if answer == "accept" and chosen else None
    said = {
        "label": label,
        "annotator": found.get("_annotator_id") or found.get("_session_id"),
        "time": _time(meta.get("time"), found.get("_timestamp"), where),
        "kind": _kind(label, meta.get("kind")),
        "note": meta.get("note"),
    }
    yield entry_of(text_of(meta, "id", where), content_of(found, where), said, where, columns_in(meta))


def _kind(label: str | None, kind: object) -> object:
    """What was noted at export, unless the answer was changed since."""
    if label is not None:
        return kind if kind == ADJUDICATE else LABEL
    return kind if kind in (UNSURE, NOTE) else SKIP


def _time(noted: object, stamp: object, where: str) -> object:
    """The time noted at export has microseconds; it counts unless Prodigy has another second."""
    exact = moment(noted, where)
    return exact if exact is not None and stamp in (None, int(exact.timestamp())) else stamp


PRODIGY = JsonFormat(True, _prodigy_lines, _prodigy_prediction, _prodigy_entries)
