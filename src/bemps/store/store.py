"""The store of a project: items, an append-only log of events, and the state that follows from the log."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bemps._utils.delegation import borrowed
from bemps.store.answer_recorder import AnswerRecorder
from bemps.store.changes import Change
from bemps.store.class_log.class_edits import ClassEdits
from bemps.store.events import Item
from bemps.store.log import Log
from bemps.store.queries.search import ItemSearch
from bemps.store.queries.state_queries import StateQueries
from bemps.store.reservation.item_marks import ItemMarks
from bemps.store.reservation.reservations import Reservations
from bemps.store.sql import schema
from bemps.store.sql.database import Database, database_of
from bemps.store.sql.server_lock import server_lock
from bemps.store.sql.suggestion_rows import StoredSuggestions
from bemps.store.stored_items import Key, StoredItems
from bemps.store.stored_settings import StoredSettings


def open_store(where: str | Path, create: bool = False) -> "Store":
    """Open the store of a project.

    Parameters
    ----------
    where : str or Path
        An SQLite file, or a `postgresql+psycopg://` address.
    create : bool
        Whether a project is made where there is none.

    Returns
    -------
    Store
        The open project. Tables of an older version are brought up to date.

    Raises
    ------
    InputError
        If there is no project, or its tables are those of a newer bemps.
    """
    database = database_of(where)
    try:
        schema.prepare(database, create)
    except BaseException:
        database.close()
        raise
    return Store(database)


class Store:
    """One project. Threads may share a Store; processes open one each (also after a fork).

    A change is durable when the call returns: it survives the death of the process and, as far as the disk keeps its
    promises, a power cut. A change that cannot be saved raises `NotSaved` and leaves nothing behind.

    Each part of a project is an object with one job. The store is the door to all of them and borrows their methods.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._log, self._items = Log(database), StoredItems(database)
        self._settings = StoredSettings(database)
        self._search = ItemSearch(self._log, self._items, self._settings)
        self._state = StateQueries(self._log, self._items)
        self._class_edits = ClassEdits(self._log.transaction, self._items.original_of)
        self._reservations = Reservations(database, self._log, self._items, self._settings)
        self._marks = ItemMarks(self._log, self._items)
        self._recorder = AnswerRecorder(self._log, self._items, self._reservations.leases)
        self._suggestions = StoredSuggestions(database)

    @property
    def name(self) -> str:
        """The path or address, without its password."""
        return self._database.name

    @property
    def path(self) -> Path | None:
        """The SQLite file; None in PostgreSQL."""
        return self._database.file

    def close(self) -> None:
        """Close the connections. Changes that were acknowledged are safe without it."""
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serving(self, about: str) -> AbstractContextManager[None]:
        """Lock the project for its one server while the block runs. A second server is told the address `about`.

        On SQLite a second server is refused. On PostgreSQL servers share the project, because leases are in the
        database.
        """
        return nullcontext() if self.path is None else server_lock(self.path, about)

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Make several changes in one durable step: all of them, or none if the block raises an error."""
        with self._log.transaction() as transaction:
            yield Change(transaction, self._items)

    def add_items(self, items: Iterable[Item], key: Key | None = None) -> int:
        """Append items. An item whose id is known is skipped; it must have the same content.

        Parameters
        ----------
        items : iterable of Item
            A label of an item is recorded as an answer of the annotator "source". Its class must exist.
        key : function from content to text, optional
            An item whose content has the key of an earlier item becomes its copy. A copy is a row of its own. It is
            never asked, and answers to the earlier item count for it.

        Returns
        -------
        int
            How many items were new, copies among them.
        """
        with self.changing() as change:
            return change.add_items(items, key)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that are set: title, guidelines, kind, strategy, audit_share, ..."""
        return self._settings.values()

    read_settings = borrowed("_settings", StoredSettings.read)
    settings_token = borrowed("_settings", StoredSettings.token)
    set = borrowed("_settings", StoredSettings.set)
    set_all = borrowed("_settings", StoredSettings.set_all)

    count = borrowed("_items", StoredItems.count)
    ids = borrowed("_items", StoredItems.ids)
    copies = borrowed("_items", StoredItems.copies)
    item = borrowed("_items", StoredItems.item)
    items = borrowed("_items", StoredItems.items)
    rows = borrowed("_items", StoredItems.rows)
    search = borrowed("_search", ItemSearch.search)

    classes = borrowed("_state", StateQueries.classes)
    merged_classes = borrowed("_state", StateQueries.merged_classes)
    counted_classes = borrowed("_state", StateQueries.counted_classes)
    used_classes = borrowed("_state", StateQueries.used_classes)
    current = borrowed("_state", StateQueries.current)
    answers = borrowed("_state", StateQueries.answers)
    answers_of = borrowed("_state", StateQueries.answers_of)
    annotators = borrowed("_state", StateQueries.annotators)
    postponed = borrowed("_state", StateQueries.postponed)
    disagreements = borrowed("_state", StateQueries.disagreements)
    confirmed = borrowed("_state", StateQueries.confirmed)
    audit = borrowed("_state", StateQueries.audit)
    overlap = borrowed("_state", StateQueries.overlap)
    events = borrowed("_log", Log.events)
    event = borrowed("_log", Log.event)
    change_token = borrowed("_log", Log.last_number)

    add_class = borrowed("_class_edits", ClassEdits.add)
    rename_class = borrowed("_class_edits", ClassEdits.rename)
    set_key = borrowed("_class_edits", ClassEdits.set_key)
    give_keys = borrowed("_class_edits", ClassEdits.give_keys)
    change_class = borrowed("_class_edits", ClassEdits.change)
    add_example = borrowed("_class_edits", ClassEdits.add_example)
    remove_example = borrowed("_class_edits", ClassEdits.remove_example)
    delete_class = borrowed("_class_edits", ClassEdits.delete)
    merge_class = borrowed("_class_edits", ClassEdits.merge)
    split_class = borrowed("_class_edits", ClassEdits.split)

    answer = borrowed("_recorder", AnswerRecorder.answer)
    record = borrowed("_recorder", AnswerRecorder.record)
    adjudicate = borrowed("_recorder", AnswerRecorder.adjudicate)
    label_list = borrowed("_recorder", AnswerRecorder.label_list)
    item_list = borrowed("_recorder", AnswerRecorder.item_list)
    undo = borrowed("_recorder", AnswerRecorder.undo)
    redo = borrowed("_recorder", AnswerRecorder.redo)
    undo_action = borrowed("_recorder", AnswerRecorder.undo_action)
    redo_action = borrowed("_recorder", AnswerRecorder.redo_action)

    lease = borrowed("_reservations", Reservations.lease)
    release = borrowed("_reservations", Reservations.release)
    leases = borrowed("_reservations", Reservations.leases)
    assignment = borrowed("_reservations", Reservations.assignment)
    mark_audit = borrowed("_marks", ItemMarks.mark_audit)
    mark_overlap = borrowed("_marks", ItemMarks.mark_overlap)

    suggestions = borrowed("_suggestions", StoredSuggestions.suggestions)
    add_suggestions = borrowed("_suggestions", StoredSuggestions.add_suggestions)
