"""JSON lines of one's own: every answer as it is."""

from collections.abc import Iterator

from bemps.exchange.entries import About, Entry, Labelled, Predicted, entry_of, plain
from bemps.exchange.json_format import JsonFormat, Object, content_of, probabilities, text_of


def _own_lines(one: Labelled, about: About) -> Iterator[Object]:
    for answer in one.answers:
        yield {"id": one.item.id, about.field: one.item.content, **plain(answer)}


def prediction(one: Predicted, about: About) -> Object:
    label, p = one.best(about.classes)
    item = {"id": one.item.id, about.field: one.item.content}
    return item | {"label": label, "probability": p, "probabilities": probabilities(one, about)}


def _own_entries(found: Object, where: str) -> Iterator[Entry]:
    yield entry_of(text_of(found, "id", where), content_of(found, where), found, where)


OWN = JsonFormat(True, _own_lines, prediction, _own_entries)
