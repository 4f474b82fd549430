"""doccano: lines with a list of labels; further keys are metadata there."""

from collections.abc import Iterator

from bemps.errors import InputError
from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, plain
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
from bemps.store.words import LABEL, SKIP, UNSURE

ID = "item"  # doccano numbers examples itself, under the key `id`


def _doccano_lines(one: Labelled, about: About) -> Iterator[Object]:
    for answer in one.answers:
        said = plain(answer)
        label = said.pop("label")
        own = {about.field: one.item.content, "label": [label] if label else [], ID: one.item.id, **said}
        yield own | columns_beside(one.item)


def _doccano_prediction(one: Predicted, about: About) -> Object:
    label, probability = one.best(about.classes)
    own = {about.field: one.item.content, "label": [label], "probability": probability, ID: one.item.id}
    told = {"probabilities": probabilities(one, about)} | labels_of(one, about)
    return own | told | columns_beside(one.item)


def _doccano_entries(found: Object, where: str) -> Iterator[Entry]:
    labels = found.get("label", found.get("labels")) or []
    if not isinstance(labels, list):
        raise InputError(f"label at {where}", expected="a list", got=repr(labels)[:60], fix="Is it a doccano file?")
    label = only(labels, where) if labels else None
    if label is None and found.get("kind") in (None, LABEL):
        return  # shown in doccano, not labelled there
    kind = LABEL if label is not None and found.get("kind") in (SKIP, UNSURE) else found.get("kind")
    id = text_of(found, ID, where) or text_of(found, "id", where)
    yield entry_of(id, content_of(found, where), {**found, "label": label, "kind": kind}, where, columns_in(found))


DOCCANO = JsonFormat(True, _doccano_lines, _doccano_prediction, _doccano_entries)
