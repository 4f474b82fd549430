"""The store of a project: items, an append-only log of events, and the state that follows from the log."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from bemps.store import answer_events, search, validation
from bemps.store.changes import Change, settings_rows, write_settings
from bemps.store.class_log import class_edits
from bemps.store.class_log.class_edits import KeyChooser
from bemps.store.events import (
    ADJUDICATE,
    AUDIT,
    OVERLAP,
    Answer,
    Class,
    Disagreement,
    Event,
    Example,
    Item,
    ItemList,
    ListedAnswers,
    NewAnswer,
    NewClass,
    Page,
)
from bemps.store.log import Log
from bemps.store.project_settings import ProjectSettings
from bemps.store.reservation import leases
from bemps.store.reservation.assignment import Assignment, assignment_of
from bemps.store.sql import schema
from bemps.store.sql.database import Database, database_of
from bemps.store.sql.server_lock import server_lock
from bemps.store.sql.suggestion_rows import add_suggestions, read_suggestions
from bemps.store.stored_items import Key, StoredItems
from bemps.store.stored_settings import read_settings, stored_settings
from bemps.store.transaction import LogTransaction

OF_LEASES = ("answers_per_item", "assign_by", "assigned_to")  # the settings that decide who may answer what


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
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._items = StoredItems(database)
        self._log = Log(database)
        self._assignment: tuple[object, Assignment | None] = (None, None)

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

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Make several changes in one durable step: all of them, or none if the block raises an error."""
        with self._log.transaction() as transaction:
            yield Change(transaction, self._items)

    # settings

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that are set: title, guidelines, kind, strategy, audit_share, ..."""
        with self._database.reading() as connection:
            return stored_settings(connection)

    def read_settings(self) -> ProjectSettings:
        """Return all settings, typed, with defaults for those that are not set."""
        return ProjectSettings.from_json(self.settings)

    def set(self, name: str, value: Any) -> None:
        """Write a setting: anything that JSON can write."""
        self.set_all({name: value})

    def set_all(self, values: dict[str, Any]) -> None:
        """Write several settings in one step."""
        if rows := settings_rows(values):
            with self._database.writing() as connection:
                write_settings(connection, rows)

    # items

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

    def count(self) -> int:
        """Return the number of items to ask. Copies do not count."""
        return self._items.count()

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all items to ask, in the order in which they were added."""
        return self._items.ids()

    def copies(self) -> dict[str, str]:
        """Return the id of the original of each copy."""
        return self._items.copies()

    def rows(self) -> Iterator[Item]:
        """Return every item in order, copies included: the rows of the files that they came from."""
        return self._items.all(copies=True)

    def item(self, id: str) -> Item:
        """Return one item. An unknown id is refused."""
        return next(self._items.at([id]))

    def items(self, ids: Iterable[str] | None = None) -> Iterator[Item]:
        """Return the items of these ids, in their order; without ids all but copies, in the order of the project."""
        return self._items.all(copies=False) if ids is None else self._items.at(list(ids))

    def search(
        self,
        text: str = "",
        *,
        columns: Sequence[str] | None = None,
        label: str | None = None,
        annotator: str | None = None,
        state: str | None = None,
        order: str = "position",
        limit: int = 50,
        offset: int = 0,
    ) -> Page:
        """Search for items.

        Parameters
        ----------
        text : str
            Part of the content or of a column, upper and lower case alike, or an id. Empty matches every item.
        columns : sequence of str, optional
            The columns of the file to look in beside the content. None: those that the project shows.
        label : str, optional
            Only items whose answer is this class.
        annotator : str, optional
            Look at the answers of this annotator instead of the resolved ones.
        state : str, optional
            One of answered, labelled, skipped, unsure, noted, unanswered, audit, overlap, disagreement.
        order : str
            `position`, or `latest`: the last answered item first.
        limit, offset : int
            How many items to return, and how many to pass over.

        Returns
        -------
        Page
            Items with their answers, and the number of all matches.
        """
        return search.search(
            self._log,
            self._items,
            text=text,
            columns=self._searched(text, columns),
            label=label,
            annotator=annotator,
            state=state,
            order=order,
            limit=limit,
            offset=offset,
        )

    def _searched(self, text: str, columns: Sequence[str] | None) -> Sequence[str]:
        return self.read_settings().shown_columns if text and columns is None else columns or ()

    # classes

    def classes(self) -> tuple[Class, ...]:
        """Return the classes in order, hidden ones too; without those that were merged or deleted."""
        with self._log.state() as state:
            return tuple(state.classes)

    def merged_classes(self) -> tuple[tuple[Class, Class], ...]:
        """Return each merged class, and the class that it was merged into."""
        with self._log.state() as state:
            return tuple(state.classes.merged())

    def counted_classes(self) -> tuple[int, ...]:
        """Return for the number of every class that ever was the number of the class that it counts as."""
        with self._log.state() as state:
            return tuple(map(state.classes.counted, range(state.classes.count)))

    def used_classes(self) -> frozenset[int]:
        """Return the numbers of the classes that an answer has, also one that undo or redo could bring back."""
        with self._log.state() as state:
            return class_edits.used_classes(state)

    def add_class(self, name: str, annotator: str, key: str | None = None) -> Class:
        """Add a class after the others.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who adds it.
        key : str, optional
            The key that answers it.

        Returns
        -------
        Class
            The class.

        Raises
        ------
        InputError
            Another class has the name or the key.
        """
        with self._log.transaction() as transaction:
            return class_edits.add(transaction, NewClass(name, key), annotator)

    def rename_class(self, old: str, new: str, annotator: str) -> Class:
        """Rename a class, also for the labels so far. The log keeps the old name.

        Parameters
        ----------
        old : str
            The present name.
        new : str
            The new name.
        annotator : str
            Who renames it.

        Returns
        -------
        Class
            The class.

        Raises
        ------
        InputError
            There is no such class, or another class has the name.
        """
        with self._log.transaction() as transaction:
            return class_edits.rename(transaction, old, new, annotator)

    def set_key(self, name: str, key: str | None, annotator: str) -> Class:
        """Set the key that answers a class. No two classes share a key.

        Parameters
        ----------
        name : str
            The name of the class.
        key : str or None
            The key, or several with a space between them.
        annotator : str
            Who sets it.

        Returns
        -------
        Class
            The class.

        Raises
        ------
        InputError
            There is no such class, or another class has the key.
        """
        with self._log.transaction() as transaction:
            return class_edits.set_key(transaction, name, key, annotator)

    def give_keys(self, choose: KeyChooser, annotator: str = "bemps") -> None:
        """Record keys for the classes that have none, in one transaction, because two servers may do so at once.

        Parameters
        ----------
        choose : function from classes to keys by name
            Gets all classes and returns the new keys.
        annotator : str
            In whose name they are recorded.
        """
        with self._log.transaction() as transaction:
            class_edits.give_keys(transaction, choose, annotator)

    def change_class(
        self,
        name: str,
        annotator: str,
        *,
        description: str | None = None,
        colour: str | None = None,
        is_hidden: bool | None = None,
        position: int | None = None,
    ) -> Class:
        """Change what is said of a class and where it stands. None leaves a part as it is.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who changes it.
        description : str, optional
            What belongs to the class; "" removes it.
        colour : str, optional
            One of `bemps.store.COLOURS`; "" removes it.
        is_hidden : bool, optional
            Whether the page offers the class no more. Labels of it stay.
        position : int, optional
            The new position in the order, from 0.

        Returns
        -------
        Class
            The class.
        """
        with self._log.transaction() as transaction:
            return class_edits.change(
                transaction,
                name,
                annotator,
                description=description,
                colour=colour,
                is_hidden=is_hidden,
                position=position,
            )

    def add_example(self, name: str, annotator: str, *, item: str | None = None, text: str | None = None) -> Class:
        """Add an example to a class.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who adds it.
        item : str, optional
            The id of an item.
        text : str, optional
            A line of text, where it is no item.

        Returns
        -------
        Class
            The class.
        """
        example = Example(None if item is None else self._items.original_of(item), text)
        with self._log.transaction() as transaction:
            return class_edits.add_example(transaction, name, example, annotator)

    def remove_example(self, name: str, annotator: str, *, item: str | None = None, text: str | None = None) -> Class:
        """Remove an example from a class; the parameters are those of `add_example`.

        Parameters
        ----------
        name : str
            The name of the class.
        annotator : str
            Who removes it.
        item, text : str, optional
            The example.

        Returns
        -------
        Class
            The class.
        """
        with self._log.transaction() as transaction:
            return class_edits.remove_example(transaction, name, Example(item, text), annotator)

    def delete_class(self, name: str, annotator: str) -> None:
        """Delete a class that no answer uses. The log keeps that it was there.

        Raises
        ------
        InputError
            An answer uses it, or undo or redo could bring one back.
        """
        with self._log.transaction() as transaction:
            class_edits.delete(transaction, name, annotator)

    def merge_class(self, name: str, into: str, annotator: str) -> Class:
        """Merge a class into another. Its labels count as the other's, until `split_class` takes it back.

        Parameters
        ----------
        name : str
            The class that goes.
        into : str
            The class that stays.
        annotator : str
            Who merges them.

        Returns
        -------
        Class
            The class that stays.
        """
        with self._log.transaction() as transaction:
            return class_edits.merge(transaction, name, into, annotator)

    def split_class(self, name: str, annotator: str) -> Class:
        """Take a merge back: the labels of the class that was merged count as its own again."""
        with self._log.transaction() as transaction:
            return class_edits.split(transaction, name, annotator)

    # answers

    def answer(
        self,
        annotator: str,
        item: str,
        kind: str,
        label: str | None = None,
        note: str | None = None,
        *,
        request: str | None = None,
        time: datetime | None = None,
    ) -> Event:
        """Record an answer. It is durable when the call returns.

        Parameters
        ----------
        annotator : str
            Who answers.
        item : str
            The id of the item.
        kind : str
            `label`, `skip`, `unsure`, `note`; `clear` takes the annotator's own answer and note back; `later` leaves
            an item without an answer, to be asked again.
        label : str, optional
            The name of the class, for a label. A hidden class is refused, unless an answer to the item has it.
        note : str, optional
            None leaves the note as it is, "" removes it.
        request : str, optional
            An id that the sender makes. Sent again, it records nothing and returns the first event.
        time : datetime, optional
            The time of the answer, if not now.

        Returns
        -------
        Event
            The event in the log.
        """
        return self.record([NewAnswer(annotator, item, kind, label, note, request, time)])[0]

    def record(self, answers: Sequence[NewAnswer]) -> list[Event]:
        """Record many answers in one durable step, all or none. Adjudications may be among them."""
        originals = answer_events.checked_answers(answers, self._items.original_of)
        return self._log.run_transaction(lambda transaction: answer_events.record(transaction, originals))

    def label_list(self, annotator: str, items: Sequence[str], label: str, *, request: str) -> ListedAnswers:
        """Give one label to many items at once, in one durable step. One undo takes all of it back.

        Parameters
        ----------
        annotator : str
            Who labels.
        items : sequence of str
            The ids of the items, at most 500. Those that are not free are left out; see `item_list`.
        label : str
            The name of the class.
        request : str
            An id that the sender makes. Sent again, it records nothing and returns the same events.

        Returns
        -------
        ListedAnswers
            One event for each item, with `method` "listed", and how many items were left out and why.
        """
        validation.name(annotator, "annotator")
        validation.identifier(request, "request")
        answer_events.check_list(items)
        originals = [self._items.original_of(item) for item in items]
        return self._log.run_transaction(
            lambda transaction: answer_events.label_list(transaction, annotator, originals, label=label, action=request)
        )

    def item_list(self, annotator: str, items: Iterable[str]) -> ItemList:
        """Sort out the items that an annotator may label at once.

        Parameters
        ----------
        annotator : str
            Who would label.
        items : iterable of str
            The ids of the items.

        Returns
        -------
        ItemList
            The items, without audit items and what others have answered or have in hand; and how many were left out.
        """
        originals = [self._items.original_of(item) for item in items]
        holders = self.leases()
        with self._log.state() as state:
            return answer_events.item_list(state, lambda item: holders.get(item, ()), annotator, originals, None)

    def undo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Take back the annotator's last answer; repeated calls go further back.

        Answers of one action are taken back together; see `undo_action`.

        Parameters
        ----------
        annotator : str
            Whose answer.
        request : str, optional
            An id that the sender makes. Sent again, it undoes nothing more and returns the first event.

        Returns
        -------
        Event or None
            The first event in the log; None where there is nothing left to undo.
        """
        return next(iter(self.undo_action(annotator, request=request)), None)

    def redo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Restore the answer that the annotator took back last.

        Answers of one action are restored together; see `redo_action`.

        Parameters
        ----------
        annotator : str
            Whose answer.
        request : str, optional
            An id that the sender makes. Sent again, it restores nothing more and returns the first event.

        Returns
        -------
        Event or None
            The first event in the log; None where nothing was taken back, or the annotator has answered since.
        """
        return next(iter(self.redo_action(annotator, request=request)), None)

    def undo_action(self, annotator: str, *, request: str | None = None) -> list[Event]:
        """Take back the annotator's last answer, or all answers of their last action.

        Parameters
        ----------
        annotator : str
            Whose answers.
        request : str, optional
            An id that the sender makes. Sent again, it undoes nothing more and returns the same events.

        Returns
        -------
        list of Event
            One event for each answer, the last answer first. Empty where there is nothing left to undo.
        """
        validation.name(annotator, "annotator")
        return self._log.run_transaction(lambda transaction: answer_events.undo(transaction, annotator, request))

    def redo_action(self, annotator: str, *, request: str | None = None) -> list[Event]:
        """Restore the answer that the annotator took back last, or all answers of an action.

        Parameters
        ----------
        annotator : str
            Whose answers.
        request : str, optional
            An id that the sender makes. Sent again, it restores nothing more and returns the same events.

        Returns
        -------
        list of Event
            One event for each answer, in the order in which they were given. Empty where nothing was taken back, or
            the annotator has answered since.
        """
        validation.name(annotator, "annotator")
        return self._log.run_transaction(lambda transaction: answer_events.redo(transaction, annotator, request))

    def postponed(self, annotator: str | None = None) -> dict[str, dict[str, int]]:
        """Return the items that people want to be asked later.

        Parameters
        ----------
        annotator : str, optional
            Only those of this annotator.

        Returns
        -------
        dict of str to dict
            By annotator and item: how many answers the annotator has given since.
        """
        with self._log.state() as state:
            people = list(state.done) if annotator is None else [annotator]
            return {who: items for who in people if (items := state.postponed(who))}

    def events(self, after: int = 0) -> list[Event]:
        """Return the events after a number, in order."""
        return self._log.events(after)

    def change_token(self) -> int:
        """Return the number of the last event. It changes with everything but settings, items and leases."""
        return self._log.last_number()

    def current(self, annotator: str | None = None) -> dict[str, Answer]:
        """The present answer to each answered item.

        Parameters
        ----------
        annotator : str, optional
            Whose answers. None resolves the answers of all: the adjudicated label, else the label of most annotators,
            else the latest of the labels with most votes. Without any label it is the latest answer.

        Returns
        -------
        dict of str to Answer
            The answers by item.
        """
        return dict(self._log.resolved_answers()) if annotator is None else search.own_answers(self._log, annotator)

    def answers(self) -> list[Answer]:
        """Return the present answers of all annotators and the adjudications, in the order of the log."""
        with self._log.state() as state:
            stored = [answer for slot in state.slots if (answer := state.stored_answer(slot)) is not None]
            return [state.answer(answer) for answer in sorted(stored, key=lambda answer: answer.seq)]

    def answers_of(self, item: str) -> tuple[Answer, ...]:
        """Return the present answers to one item, the adjudication last."""
        original = self._items.original_of(item)
        with self._log.state() as state:
            return tuple(map(state.answer, state.stored_answers(original)))

    def annotators(self) -> tuple[str, ...]:
        """Return the annotators who have answered, in the order of their first answers."""
        with self._log.state() as state:
            return tuple(state.people)

    # who gets what

    def lease(self, annotator: str, items: Sequence[str], n: int, ttl: float) -> list[str]:
        """Reserve items for an annotator.

        Parameters
        ----------
        annotator : str
            Who will answer.
        items : sequence of str
            Ids, the best first.
        n : int
            How many to reserve at most.
        ttl : float
            Seconds until the reservation ends.

        Returns
        -------
        list of str
            The first n items that the annotator may answer.

        Notes
        -----
        An annotator may answer an item that they have not answered, while nobody else has labelled or leased it. An
        item that is marked for overlap may have other annotators: the setting `answers_per_item` says how many in
        all. Skips and "unsure" of others do not count. Items of another's share (`assign_by`) are left out. Leases
        that the annotator has on these items are renewed; their other leases stay.
        """
        validation.name(annotator, "annotator")
        leases.check_lease(n, ttl)
        originals = [self._items.original_of(item) for item in dict.fromkeys(items)]

        def choose(transaction: LogTransaction) -> list[str]:
            settings = read_settings(transaction.connection, OF_LEASES)
            shares = self._assignment_by(settings)
            return leases.lease(
                transaction.leases,
                transaction.state,
                annotator,
                originals,
                n=n,
                ttl=ttl,
                now=transaction.now,
                allows=lambda item: shares is None or shares.allows(item, annotator),
                answers=settings.answers_per_item,
            )

        return self._log.run_transaction(choose, durable=False)

    def release(self, annotator: str, items: Collection[str] | None = None) -> None:
        """End leases of an annotator: those on these items, or all."""
        validation.name(annotator, "annotator")
        self._log.run_transaction(lambda transaction: transaction.leases.give_back_all(annotator, items), durable=False)

    def assignment(self) -> Assignment | None:
        """Return which items are for whom, by a column of the file (`assign_by`); None if all are for everybody."""
        self._items.ids()  # those of other processes too
        return self._assignment_by(self.read_settings())

    def _assignment_by(self, settings: ProjectSettings) -> Assignment | None:
        """The shares of the items. They are made again when the settings or the items have changed."""
        if not settings.assign_by:
            return None
        key = settings.assign_by, settings.assigned_to, self._items.known
        if self._assignment[0] != key:
            items = self._items.all(copies=False)
            self._assignment = key, assignment_of(items, settings.assign_by, settings.assigned_to)
        return self._assignment[1]

    def leases(self) -> dict[str, frozenset[str]]:
        """Return the annotators who have a lease now, by item."""
        with self._database.reading() as connection:
            return leases.Leases(connection).live(self._database.now(connection))

    # marks

    def audit(self) -> frozenset[str]:
        """Return the ids of the items of the audit slice."""
        with self._log.state() as state:
            return frozenset(state.audit)

    def mark_audit(self, ids: Iterable[str], annotator: str = "bemps") -> int:
        """Add items to the audit slice for good, and return how many were new."""
        return self._mark(AUDIT, ids, annotator)

    def overlap(self) -> frozenset[str]:
        """Return the ids of the items that several annotators answer independently."""
        with self._log.state() as state:
            return frozenset(state.overlap)

    def mark_overlap(self, ids: Iterable[str], annotator: str = "bemps", *, durable: bool = True) -> int:
        """Ask several annotators about these items from now on.

        Parameters
        ----------
        ids : iterable of str
            The items.
        annotator : str
            Who marks them.
        durable : bool
            Whether the marks are on the disk when this returns. Otherwise the next answer brings them there.

        Returns
        -------
        int
            How many were new.
        """
        return self._mark(OVERLAP, ids, annotator, durable)

    def _mark(self, kind: str, ids: Iterable[str], annotator: str, durable: bool = True) -> int:
        originals = [self._items.original_of(id) for id in dict.fromkeys(ids)]

        def mark(transaction: LogTransaction) -> int:
            marked = transaction.state.audit if kind == AUDIT else transaction.state.overlap
            return len([transaction.add_event(annotator, kind, item=id) for id in originals if id not in marked])

        return self._log.run_transaction(mark, durable)

    def disagreements(self) -> list[Disagreement]:
        """Return the items on which annotators differ and that nobody has adjudicated, in the order of the items."""
        with self._log.state() as state:
            answers = {item: tuple(map(state.answer, state.stored_answers(item))) for item in search.disputed(state)}
        return [Disagreement(item, answers[item]) for item in search.sorted_by_position(self._items, set(answers))]

    def confirmed(self) -> frozenset[str]:
        """Items whose label was given twice: by one person in a row, by two people, or by an adjudication."""
        with self._log.state() as state:
            return search.confirmed(state)

    def adjudicate(self, item: str, label: str, annotator: str, *, request: str | None = None) -> Event:
        """Decide the label of an item, whatever annotators answered. Who decided can undo it.

        Parameters
        ----------
        item : str
            The id of the item.
        label : str
            The name of the class.
        annotator : str
            Who decides.
        request : str, optional
            An id that the sender makes. Sent again, it records nothing and returns the first event.

        Returns
        -------
        Event
            The event in the log.
        """
        return self.record([NewAnswer(annotator, item, ADJUDICATE, label, request=request)])[0]

    # suggestions

    def suggestions(self, prompt: str) -> dict[str, str | None]:
        """Return what a server suggested, by item, for one version of a prompt; None where no class came back."""
        with self._database.reading() as connection:
            return read_suggestions(connection, prompt)

    def add_suggestions(self, prompt: str, labels: Mapping[str, str | None]) -> None:
        """Keep what a server suggested, by item, so that no item is sent again with the same prompt."""
        with self._database.writing() as connection:
            add_suggestions(connection, prompt, labels, self._database.now(connection))

    # the serving process

    def serving(self, about: str) -> AbstractContextManager[None]:
        """Lock the project for its one server while the block runs. A second server is told the address `about`.

        On SQLite a second server is refused. On PostgreSQL servers share the project, because leases are in the
        database.
        """
        return nullcontext() if self.path is None else server_lock(self.path, about)
