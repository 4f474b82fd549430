"""Into a project: labels that were given elsewhere, matched to items by id, else by content."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bemps.errors import InputError, unknown_name
from bemps.exchange.columns import columns_among, to_settings
from bemps.exchange.entries import Entry, content_key
from bemps.exchange.formats import FORMATS, format_to_read
from bemps.store import Change, Item, Said, Store
from bemps.store.rows import packed
from bemps.store.words import ADJUDICATE, NOTE

ANNOTATOR = "import"  # of labels whose file names nobody
CLOCK = timedelta(seconds=2)  # by which the time of a file may be behind that of an answer
Slot = tuple[str | None, str]  # annotator (None: adjudication) and item


@dataclass(frozen=True)
class Imported:
    """What an import did.

    new      answers that were new or different
    same     answers that were there already
    items    items added
    classes  classes added
    older    answers left out, as the project or the same file has a later one of the same annotator
    """

    new: int
    same: int
    items: int
    classes: int
    older: int = 0

    def __str__(self) -> str:
        older = f", {self.older:,} left out for later ones" if self.older else ""
        items = f", {self.items:,} items added" if self.items else ""
        classes = f", {self.classes:,} classes added" if self.classes else ""
        return f"{self.new:,} answers taken over, {self.same:,} were there already{older}{items}{classes}"


def import_labels(
    store: Store,
    path: str | Path,
    format: str | None = None,
    *,
    annotator: str = ANNOTATOR,
    add_classes: bool = False,
    add_items: bool = False,
) -> Imported:
    """Take over the answers of a file, all or none.

    The same file twice changes nothing. Of several answers by one annotator to one item the latest counts, wherever it
    stands; one without a time is as old as the file.

    Parameters
    ----------
    store
        The project.
    path, format
        The file, and the name of its format; without it the format is recognised.
    annotator
        Who gave the labels of a file that does not say.
    add_classes, add_items
        Whether to add classes and items that the project has not; else such labels are refused.
    """
    place = Path(path)
    how = format_to_read(format, place)
    if how.read is None:
        names = ", ".join(name for name, known in FORMATS.items() if known.read is not None)
        raise InputError("format", expected=f"one of {names}", got=str(format), fix="Export it as csv.")
    entries = list(how.read(place))
    known = _Known(store)
    strangers = [entry for entry in entries if not known.ids_of(entry)]
    with store.changing() as change:
        _check_classes(change.classes(), entries, place, add_classes)
        if strangers and not add_items:
            raise _unknown(strangers, place)
        items = change.add_items(known.add(_new_items(strangers, place)))
        change.set_all(_new_columns(store.settings, strangers))
        classes = _add_classes(change, entries, annotator)
        said = [
            one
            for entry in entries
            for one in _said(entry, dict.fromkeys(map(change.known, known.ids_of(entry))), annotator)
        ]
        new, same, older = _to_record(change, said, datetime.fromtimestamp(place.stat().st_mtime, UTC))
        change.record(new)
    return Imported(len(new), same, items, classes, older)


def _to_record(change: Change, said: list[Said], written: datetime) -> tuple[list[Said], int, int]:
    """The answers that change something, and how many are there already or older."""
    latest: dict[tuple[Slot, bool], Said] = {}
    for one in said:
        key = _key(one)
        if key not in latest or (one.time or written) >= (latest[key].time or written):
            latest.pop(key, None)  # answers are recorded in the order of the file
            latest[key] = one
    times = change.last_times()
    new = [one for one in latest.values() if not _same(change, one)]
    taken = [one for one in new if _slot(one) not in times or _moment(one, written) >= times[_slot(one)]]
    earlier = sum(_content(one) != _content(latest[_key(one)]) for one in said)
    return taken, len(latest) - len(new), len(new) - len(taken) + earlier


def _key(said: Said) -> tuple[Slot, bool]:
    """What one answer of a file may replace another in; a note goes beside an answer."""
    return _slot(said), said.kind == NOTE


def _content(said: Said) -> tuple[str, str | None, str | None]:
    return said.kind, said.label, said.note


def _moment(said: Said, written: datetime) -> datetime:
    return written + CLOCK if said.time is None else said.time


def _slot(said: Said) -> Slot:
    return (None if said.kind == ADJUDICATE else said.annotator), said.item


class _Known:
    """Items by id, and by content where a file's ids are not the project's."""

    def __init__(self, store: Store) -> None:
        self._hash_by_id: dict[str, str] = {}
        self._ids_by_hash: dict[str, list[str]] = {}
        for _ in self.add(store.rows()):
            pass

    def add(self, items: Iterable[Item]) -> Iterator[Item]:
        """Note items on their way."""
        for item in items:
            digest = content_key(item.content)
            if item.id not in self._hash_by_id:
                self._hash_by_id[item.id] = digest
                self._ids_by_hash.setdefault(digest, []).append(item.id)
            yield item

    def ids_of(self, entry: Entry) -> list[str]:
        """The item of this id, unless its content says that the id is another tool's; else all of this content."""
        digest = None if entry.content is None else content_key(entry.content)
        if entry.id in self._hash_by_id and digest in (None, self._hash_by_id[entry.id]):
            return [entry.id]
        return [] if digest is None else self._ids_by_hash.get(digest, [])


def _check_classes(names: Collection[str], entries: Iterable[Entry], place: Path, add: bool) -> None:
    for entry in entries:
        if entry.label is not None and entry.label not in names and not add:
            raise unknown_name(f"label in {place}", entry.label, names, "Correct it, or ask for --add-classes.")


def _add_classes(change: Change, entries: Iterable[Entry], annotator: str) -> int:
    names = change.classes()
    new = dict.fromkeys(entry.label for entry in entries if entry.label is not None and entry.label not in names)
    for name in new:
        change.add_class(name, annotator)
    return len(new)


def _new_items(strangers: list[Entry], place: Path) -> Iterator[Item]:
    for entry in strangers:
        if entry.content is None:
            raise _unknown(strangers, place)
        others = packed(entry.columns, entry.content)
        yield Item(entry.id or content_key(entry.content), entry.content, others=others)


def _new_columns(settings: Mapping[str, Any], strangers: list[Entry]) -> dict[str, Any]:
    """The columns that items bring along."""
    names = dict.fromkeys(name for entry in strangers for name in entry.columns)
    values = {name: [entry.columns.get(name) for entry in strangers] for name in names}
    return to_settings(settings, columns_among(values)) if values else {}


def _unknown(strangers: list[Entry], place: Path) -> InputError:
    first = ", ".join(repr(entry.id or (entry.content or "")[:40]) for entry in strangers[:5])
    return InputError(
        f"items of {place}",
        expected="items of this project, by id or by text",
        got=f"{len(strangers):,} others, first {first}",
        fix="Is it the right project? With --add-items those that come with their text are added.",
    )


def _said(entry: Entry, ids: Iterable[str], annotator: str) -> Iterator[Said]:
    for id in ids:
        who = entry.annotator or annotator
        yield Said(who, id, entry.kind, entry.label, entry.note, time=entry.time)


def _same(change: Change, said: Said) -> bool:
    """Whether the project has this answer already, whenever it was given."""
    there = change.held(_slot(said))
    if there is None:
        return False
    if said.kind == NOTE:
        return said.note == there.note
    same = (there.kind, change.label_of(there), there.annotator) == (said.kind, said.label, said.annotator)
    return same and said.note in (None, there.note)
