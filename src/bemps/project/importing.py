"""Into a project: labels that were given elsewhere, matched to items by id, else by content."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bemps._utils.class_names import known_name
from bemps.errors import InputError, shortened, unknown_name
from bemps.formats.entries import ImportedAnswer, content_key
from bemps.formats.format_detection import format_to_read
from bemps.formats.user_columns import columns_of_values, with_columns
from bemps.store import Change, Item, NewAnswer, Store
from bemps.store.events import ADJUDICATE, NOTE
from bemps.store.item_rows import packed
from bemps.store.project_settings import ProjectSettings

ANNOTATOR = "import"  # of labels whose file names nobody
AHEAD = timedelta(minutes=10)  # by which the clock of another machine may be wrong
CLOCK = timedelta(seconds=2)  # by which the time of a file may be behind that of an answer
Slot = tuple[str | None, str]  # annotator (None: adjudication) and item


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    new : int
        Answers that were new or different.
    same : int
        Answers that were there already.
    items : int
        Items added.
    classes : int
        Classes added.
    older : int
        Answers left out, as the project or the same file has a later one of the same annotator.
    hidden : tuple of str
        Classes that the page does not offer and that got labels: they may have been hidden since.
    """

    new: int
    same: int
    items: int
    classes: int
    older: int = 0
    hidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        older = f", {self.older:,} left out, as later answers are there" if self.older else ""
        items = f", {self.items:,} items added" if self.items else ""
        classes = f", {self.classes:,} classes added" if self.classes else ""
        hidden = f", some of them of hidden classes ({', '.join(self.hidden)})" if self.hidden else ""
        return f"{self.new:,} answers taken over{hidden}, {self.same:,} were there already{older}{items}{classes}"


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

    Importing the same file twice changes nothing. Of several answers by one annotator to one item the latest counts,
    wherever it stands. An answer without a time is as old as the file. Labels of hidden classes are taken over too.

    Parameters
    ----------
    store : Store
        The project.
    path : path
        The file or folder to read.
    format : str, optional
        The name of a format of `FORMATS`. By default the format is recognised.
    annotator : str
        The annotator of labels whose file names none.
    add_classes : bool
        Whether to add classes that the project does not have. Otherwise their labels are refused.
    add_items : bool
        Whether to add items that the project does not have. Otherwise their labels are refused.

    Returns
    -------
    Imported
        The numbers of answers, items and classes that were added.

    Raises
    ------
    InputError
        If the file cannot be read, or has classes or items that may not be added.
    """
    source = Path(path)
    how = format_to_read(format, source)
    entries = list(how.read(source))
    _check_times(entries, source)
    known = _Known(store)
    strangers = [entry for entry in entries if not known.ids_of(entry)]
    with store.changing() as change:
        entries = [_with_counted_label(entry, change) for entry in entries]
        _check_classes(change.classes(), entries, source, add_classes)
        if strangers and not add_items:
            raise _unknown(strangers, source)
        items = change.add_items(known.add(_new_items(strangers, source)))
        change.set_all(_new_columns(store.read_settings(), strangers))
        classes = _add_classes(change, entries, annotator)
        answers = [
            answer
            for entry in entries
            for answer in _answers_of(entry, dict.fromkeys(map(change.original_of, known.ids_of(entry))), annotator)
        ]
        new, same, older = _to_record(change, answers, datetime.fromtimestamp(source.stat().st_mtime, UTC))
        change.record(new)
        hidden = sorted({answer.label for answer in new if answer.label is not None} & change.hidden_classes())
    return Imported(len(new), same, items, classes, older, tuple(hidden))


def _to_record(change: Change, answers: list[NewAnswer], written: datetime) -> tuple[list[NewAnswer], int, int]:
    """The answers that change something, and how many are there already or older."""
    latest: dict[tuple[Slot, bool], NewAnswer] = {}
    for answer in answers:
        key = _key(answer)
        if key not in latest or (answer.time or written) >= (latest[key].time or written):
            latest.pop(key, None)  # answers are recorded in the order of the file
            latest[key] = answer
    times = change.last_times()
    new = [answer for answer in latest.values() if not _same(change, answer)]
    taken = [answer for answer in new if _slot(answer) not in times or _moment(answer, written) >= times[_slot(answer)]]
    earlier = sum(_content(answer) != _content(latest[_key(answer)]) for answer in answers)
    return taken, len(latest) - len(new), len(new) - len(taken) + earlier


def _key(answer: NewAnswer) -> tuple[Slot, bool]:
    """What one answer of a file may replace another in; a note goes beside an answer."""
    return _slot(answer), answer.kind == NOTE


def _content(answer: NewAnswer) -> tuple[str, str | None, str | None]:
    return answer.kind, answer.label, answer.note


def _moment(answer: NewAnswer, written: datetime) -> datetime:
    return written + CLOCK if answer.time is None else answer.time


def _slot(answer: NewAnswer) -> Slot:
    return (None if answer.kind == ADJUDICATE else answer.annotator), answer.item


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

    def ids_of(self, entry: ImportedAnswer) -> list[str]:
        """The item of this id, unless its content says that the id is another tool's; else all of this content."""
        digest = None if entry.content is None else content_key(entry.content)
        if entry.id in self._hash_by_id and digest in (None, self._hash_by_id[entry.id]):
            return [entry.id]
        return [] if digest is None else self._ids_by_hash.get(digest, [])


def _check_times(entries: Iterable[ImportedAnswer], path: Path) -> None:
    """An answer of the future would win over everything that its annotator says until then."""
    now = datetime.now(UTC)
    for entry in entries:
        if entry.time is not None and entry.time > now + AHEAD:
            what = f"time of {shortened(entry.id or entry.content or '')!r} in {path}"
            fix = "Correct or empty it. A time without a zone is read as UTC."
            raise InputError(what, expected=f"at most {now:%Y-%m-%d %H:%M} UTC", got=entry.time.isoformat(), fix=fix)


def _check_classes(names: Collection[str], entries: Iterable[ImportedAnswer], path: Path, add: bool) -> None:
    for entry in entries:
        if entry.label is not None and entry.label not in names and not add:
            raise unknown_name(f"label in {path}", entry.label, names, "Correct it, or ask for --add-classes.")


def _with_counted_label(entry: ImportedAnswer, change: Change) -> ImportedAnswer:
    """The label as the project has it; that of a merged class becomes that of the class which it was merged into."""
    if entry.label is None:
        return entry
    return replace(entry, label=change.counted_label(known_name(entry.label.strip(), change.classes_in_files())))


def _add_classes(change: Change, entries: Iterable[ImportedAnswer], annotator: str) -> int:
    names = change.classes()
    new = dict.fromkeys(entry.label for entry in entries if entry.label is not None and entry.label not in names)
    for name in new:
        change.add_class(name, annotator)
    return len(new)


def _new_items(strangers: list[ImportedAnswer], path: Path) -> Iterator[Item]:
    for entry in strangers:
        if entry.content is None:
            raise _unknown(strangers, path)
        others = packed(entry.columns, entry.content)
        yield Item(entry.id or content_key(entry.content), entry.content, others=others)


def _new_columns(settings: ProjectSettings, strangers: list[ImportedAnswer]) -> dict[str, Any]:
    """The columns that items bring along."""
    names = dict.fromkeys(name for entry in strangers for name in entry.columns)
    values = {name: [entry.columns.get(name) for entry in strangers] for name in names}
    return {"columns": with_columns(settings, columns_of_values(values)).to_json()["columns"]} if values else {}


def _unknown(strangers: list[ImportedAnswer], path: Path) -> InputError:
    first = ", ".join(repr(shortened(entry.id or entry.content or "")) for entry in strangers[:5])
    return InputError(
        f"items of {path}",
        expected="items of this project, by id or by text",
        got=f"{len(strangers):,} others, first {first}",
        fix="Is it the right project? --add-items adds those that have a text.",
    )


def _answers_of(entry: ImportedAnswer, ids: Iterable[str], annotator: str) -> Iterator[NewAnswer]:
    for id in ids:
        who = entry.annotator or annotator
        yield NewAnswer(who, id, entry.kind, entry.label, entry.note, time=entry.time, method=entry.method)


def _same(change: Change, answer: NewAnswer) -> bool:
    """Whether the project has this answer already, whenever it was given."""
    stored = change.stored_answer(_slot(answer))
    if stored is None:
        return False
    if answer.kind == NOTE:
        return answer.note == stored.note
    same = (stored.kind, change.label_of(stored), stored.annotator) == (answer.kind, answer.label, answer.annotator)
    return same and answer.note in (None, stored.note)
