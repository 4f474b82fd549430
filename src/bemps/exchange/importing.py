"""Into a project: labels that were given elsewhere, matched to items by id, else by content."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bemps.data import hashes_of
from bemps.errors import InputError, unknown_name
from bemps.exchange.entries import Entry
from bemps.exchange.formats import FORMATS, format_to_read
from bemps.store import Answer, Item, Said, Store
from bemps.store.words import ADJUDICATE

ANNOTATOR = "import"  # of labels whose file names nobody


@dataclass(frozen=True)
class Imported:
    """What an import did: answers that were new or different, answers that were there already, items, classes."""

    new: int
    same: int
    items: int
    classes: int

    def __str__(self) -> str:
        items = f", {self.items:,} items added" if self.items else ""
        classes = f", {self.classes:,} classes added" if self.classes else ""
        return f"{self.new:,} answers taken over, {self.same:,} were there already{items}{classes}"


def import_labels(
    store: Store,
    path: str | Path,
    format: str | None = None,
    *,
    annotator: str = ANNOTATOR,
    add_classes: bool = False,
    add_items: bool = False,
) -> Imported:
    """Take over the answers of a file, all or none. Sent twice, the second time changes nothing.

    annotator    who gave the labels of a file that does not say
    add_classes  make classes that the project has not; else such labels are refused
    add_items    add items that the project has not; else such labels are refused
    """
    place = Path(path)
    how = format_to_read(format, place)
    if how.read is None:
        names = ", ".join(name for name, known in FORMATS.items() if known.read is not None)
        raise InputError("format", expected=f"one of {names}", got=str(format), fix="Export it as csv.")
    return take_over(store, list(how.read(place)), str(place), annotator, add_classes=add_classes, add_items=add_items)


def take_over(
    store: Store, entries: list[Entry], place: str, annotator: str, *, add_classes: bool, add_items: bool
) -> Imported:
    """The entries of a file into the project."""
    known = _Known(store)
    strangers = [entry for entry in entries if not known.ids_of(entry)]
    _check_classes(store, entries, place, add_classes)
    if strangers and not add_items:
        raise _unknown(strangers, place)
    items = store.add_items(_new_items(strangers, place))
    classes = _add_classes(store, entries, annotator)
    known = _Known(store) if items else known
    said = [one for entry in entries for one in _said(entry, known.ids_of(entry), annotator)]
    there = {_slot(answer): answer for answer in store.answers()}
    new = [one for one in said if not _same(there.get(_slot(one)), one)]
    store.record(new)
    return Imported(len(new), len(said) - len(new), items, classes)


def _slot(one: Answer | Said) -> tuple[str | None, str]:
    return (None if one.kind == ADJUDICATE else one.annotator), one.item


class _Known:
    """Items by id, and by content where a file's ids are not the project's."""

    def __init__(self, store: Store) -> None:
        self._hash_by_id: dict[str, str] = {}
        self._ids_by_hash: dict[str, list[str]] = {}
        for item in store.items():
            digest = hashes_of([item.content])[0]
            self._hash_by_id[item.id] = digest
            self._ids_by_hash.setdefault(digest, []).append(item.id)

    def ids_of(self, entry: Entry) -> list[str]:
        """The item of this id, unless its content says that the id is another tool's; else all of this content."""
        digest = None if entry.content is None else hashes_of([entry.content])[0]
        if entry.id in self._hash_by_id and digest in (None, self._hash_by_id[entry.id]):
            return [entry.id]
        return [] if digest is None else self._ids_by_hash.get(digest, [])


def _check_classes(store: Store, entries: Iterable[Entry], place: str, add: bool) -> None:
    names = {one.name for one in store.classes()}
    for entry in entries:
        if entry.label is not None and entry.label not in names and not add:
            raise unknown_name(f"label in {place}", entry.label, names, "Correct it, or ask for --add-classes.")


def _add_classes(store: Store, entries: Iterable[Entry], annotator: str) -> int:
    names = {one.name for one in store.classes()}
    new = dict.fromkeys(entry.label for entry in entries if entry.label is not None and entry.label not in names)
    for name in new:
        store.add_class(name, annotator)
    return len(new)


def _new_items(strangers: list[Entry], place: str) -> Iterator[Item]:
    for entry in strangers:
        if entry.content is None:
            raise _unknown(strangers, place)
        yield Item(entry.id or hashes_of([entry.content])[0], entry.content)


def _unknown(strangers: list[Entry], place: str) -> InputError:
    first = ", ".join(repr(entry.id or (entry.content or "")[:40]) for entry in strangers[:5])
    return InputError(
        f"items of {place}",
        expected="items of this project, by id or by text",
        got=f"{len(strangers):,} others, first {first}",
        fix="Is it the right project? With --add-items those that come with their text are added.",
    )


def _said(entry: Entry, ids: list[str], annotator: str) -> Iterator[Said]:
    for id in ids:
        who = entry.annotator or annotator
        yield Said(who, id, entry.kind, entry.label, entry.note, time=entry.time)


def _same(there: Answer | None, said: Said) -> bool:
    if there is None:
        return False
    same = (there.kind, there.label, there.annotator) == (said.kind, said.label, said.annotator)
    return same and said.note in (None, there.note) and said.time in (None, there.time)
