"""The store of a project: items, an append-only log of events, and the state that follows from the log."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bemps.store import answering, checked, classes, leases, schema, searching
from bemps.store.changing import Change, settings_rows, write_settings
from bemps.store.classes import KeyChooser
from bemps.store.database import Database, database_of
from bemps.store.decision import Decision
from bemps.store.items import Items, Key
from bemps.store.log import Log
from bemps.store.serving import only_server
from bemps.store.settings import read_setting
from bemps.store.tables import SETTINGS
from bemps.store.words import (
    ADJUDICATE,
    AUDIT,
    OVERLAP,
    Answer,
    Class,
    Disagreement,
    Event,
    Item,
    Page,
    Said,
)


def open_store(where: str | Path, create: bool = False) -> "Store":
    """A project in an SQLite file or at a `postgresql+psycopg://` address; `create` makes it where there is none.

    Tables of an older version are brought up to date; those of a newer bemps are refused.
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

    What is written is durable when the call returns: it survives the death of the process and, as far as the disk
    keeps its promises, a power cut. What cannot be saved raises `NotSaved` and leaves nothing behind.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._items = Items(database)
        self._log = Log(database)

    @property
    def name(self) -> str:
        """The path or address, without its password."""
        return self._database.name

    @property
    def path(self) -> Path | None:
        """The SQLite file; None in PostgreSQL."""
        return self._database.file

    def close(self) -> None:
        """Close the connections; what was acknowledged is safe with or without it."""
        self._database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Several changes in one durable step: all of them, or none where an exception leaves the context."""
        with self._log.deciding() as decision:
            yield Change(decision, self._items)

    # settings

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that was set: title, guidelines, kind, strategy, audit_share, ..."""
        with self._database.reading() as connection:
            return {row.name: read_setting(row.name, row.value) for row in connection.execute(select(SETTINGS))}

    def set(self, name: str, value: Any) -> None:
        """Remember a setting: anything that JSON can write."""
        self.set_all({name: value})

    def set_all(self, values: dict[str, Any]) -> None:
        """Remember several settings in one step."""
        if rows := settings_rows(values):
            with self._database.writing() as connection:
                write_settings(connection, rows)

    # items

    def add_items(self, items: Iterable[Item], key: Key | None = None) -> int:
        """Append items; returns how many were new. One that is there already is left; with another content: refused.

        A label that comes with an item is recorded as a label of the annotator "source"; its class must be there.
        With `key`, an item whose content has the key of an earlier one becomes a copy: it is kept as a row of its own
        and never asked, and what is answered to the first counts for it.
        """
        with self.changing() as change:
            return change.add_items(items, key)

    def count(self) -> int:
        """How many items there are to ask: copies do not count."""
        return self._items.count()

    def ids(self) -> tuple[str, ...]:
        """The ids of all items to ask, in the order in which they were added."""
        return self._items.ids()

    def copies(self) -> dict[str, str]:
        """The id of the item that stands for each copy."""
        return self._items.copies()

    def rows(self) -> Iterator[Item]:
        """Every item in order, copies among them: the rows of the files that they came from."""
        return self._items.all(copies=True)

    def item(self, id: str) -> Item:
        """One item; an unknown id is refused."""
        return next(self._items.at([id]))

    def items(self, ids: Iterable[str] | None = None) -> Iterator[Item]:
        """These items in the order asked; all but copies, in their own order, if left out."""
        return self._items.all(copies=False) if ids is None else self._items.at(list(ids))

    def search(
        self,
        text: str = "",
        *,
        label: str | None = None,
        annotator: str | None = None,
        state: str | None = None,
        order: str = "position",
        limit: int = 50,
        offset: int = 0,
    ) -> Page:
        """Items whose content contains a text, upper and lower case alike, or whose id it is.

        label      only items whose answer is this class
        annotator  only answers of this annotator, instead of the resolved ones
        state      answered, labelled, skipped, unsure, noted, unanswered, audit, overlap, disagreement
        order      position, or latest: the last answered first
        """
        return searching.search(
            self._log,
            self._items,
            text=text,
            label=label,
            annotator=annotator,
            state=state,
            order=order,
            limit=limit,
            offset=offset,
        )

    # classes

    def classes(self) -> tuple[Class, ...]:
        """The classes in order."""
        with self._log.state() as state:
            return tuple(state.classes)

    def add_class(self, name: str, annotator: str, key: str | None = None) -> Class:
        """One more class, after the others."""
        return classes.add(self._log, name, annotator, key)

    def rename_class(self, old: str, new: str, annotator: str) -> Class:
        """Another name, also for what was labelled so far; the log keeps what was said."""
        return classes.rename(self._log, old, new, annotator)

    def set_key(self, name: str, key: str | None, annotator: str) -> Class:
        """The key that answers a class; no two classes share one."""
        return classes.set_key(self._log, name, key, annotator)

    def give_keys(self, choose: KeyChooser, annotator: str = "bemps") -> None:
        """Record keys for the classes that have none; `choose` gets all classes and returns the new keys by name."""
        classes.give_keys(self._log, choose, annotator)

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
        """Record an answer; durable when this returns.

        kind     label | skip | unsure | note | clear (takes the annotator's own answer and note back)
        note     None leaves the note as it is, "" removes it
        request  an id made by the sender: sent again, nothing happens and the first event is returned
        time     when it was said, if not now
        """
        return self.record([Said(annotator, item, kind, label, note, request, time)])[0]

    def record(self, said: Sequence[Said]) -> list[Event]:
        """Many answers in one durable step, all or none; also of kind adjudicate."""
        answers = answering.checked_answers(said, self._items.known)
        return self._log.decide(lambda decision: answering.record(decision, answers))

    def undo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Take back the annotator's last answer, any depth; None where there is nothing left to undo."""
        checked.name(annotator, "annotator")
        return self._log.decide(lambda decision: answering.undo(decision, annotator, request))

    def redo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Restore what the annotator took back last; None where nothing was, or something was answered since."""
        checked.name(annotator, "annotator")
        return self._log.decide(lambda decision: answering.redo(decision, annotator, request))

    def events(self, after: int = 0) -> list[Event]:
        """The log after an event."""
        return self._log.events(after)

    def change_token(self) -> int:
        """The seq of the last event: changes when anything but settings, items or leases does."""
        return self._log.token()

    def current(self, annotator: str | None = None) -> dict[str, Answer]:
        """What holds for each answered item: of one annotator, or of all.

        Of all: the adjudicated label, else the label of most annotators, else the latest of those with most; where
        nobody gave a label, the latest answer.
        """
        return dict(self._log.resolved()) if annotator is None else searching.own_answers(self._log, annotator)

    def answers(self) -> list[Answer]:
        """What holds for each item and annotator, adjudications among them, in the order of the log."""
        with self._log.state() as state:
            held = [one for slot in state.slots if (one := state.held(slot)) is not None]
            return [state.answer(one) for one in sorted(held, key=lambda one: one.seq)]

    def answers_of(self, item: str) -> tuple[Answer, ...]:
        """What each annotator says of an item, adjudication last."""
        original = self._items.known(item)
        with self._log.state() as state:
            return tuple(map(state.answer, state.all_held(original)))

    def annotators(self) -> tuple[str, ...]:
        """Everybody who has answered anything, in the order of their first answer."""
        with self._log.state() as state:
            return tuple(state.people)

    # who gets what

    def lease(self, annotator: str, items: Sequence[str], n: int, ttl: float) -> list[str]:
        """Reserve the first n of these items that the annotator may answer, for ttl seconds.

        An item may be answered by an annotator who has not answered it, while nobody else has labelled or leased it;
        one that is marked for overlap, while at most one other has. Skips and "unsure" of others do not count.
        The annotator's own leases on the chosen items are renewed, others of theirs stay.
        """
        checked.name(annotator, "annotator")
        leases.check(n, ttl)
        wanted = [self._items.known(item) for item in dict.fromkeys(items)]

        def choose(decision: Decision) -> list[str]:
            return leases.lease(decision.leases, decision.state, annotator, wanted, n=n, ttl=ttl, now=decision.now)

        return self._log.decide(choose, durable=False)

    def release(self, annotator: str, items: Collection[str] | None = None) -> None:
        """Give leases back: these, or all of the annotator's."""
        checked.name(annotator, "annotator")
        self._log.decide(lambda decision: decision.leases.give_back_all(annotator, items), durable=False)

    def leases(self) -> dict[str, frozenset[str]]:
        """Live leases: the annotators by item."""
        with self._database.reading() as connection:
            return leases.Leases(connection).live(self._database.now(connection))

    # marks

    def audit(self) -> frozenset[str]:
        """The audit slice."""
        with self._log.state() as state:
            return frozenset(state.audit)

    def mark_audit(self, ids: Iterable[str], annotator: str = "bemps") -> int:
        """Add to the audit slice, for good; returns how many were new."""
        return self._mark(AUDIT, ids, annotator)

    def overlap(self) -> frozenset[str]:
        """Items that two annotators are to answer independently."""
        with self._log.state() as state:
            return frozenset(state.overlap)

    def mark_overlap(self, ids: Iterable[str], annotator: str = "bemps") -> int:
        """Ask for a second answer to these, for good; returns how many were new."""
        return self._mark(OVERLAP, ids, annotator)

    def _mark(self, kind: str, ids: Iterable[str], annotator: str) -> int:
        wanted = [self._items.known(id) for id in dict.fromkeys(ids)]
        with self._log.deciding() as decision:
            there = decision.state.audit if kind == AUDIT else decision.state.overlap
            return len([decision.say(annotator, kind, item=id) for id in wanted if id not in there])

    def disagreements(self) -> list[Disagreement]:
        """Items on which annotators differ and nobody has adjudicated, in the order of the items."""
        with self._log.state() as state:
            found = {item: tuple(map(state.answer, state.all_held(item))) for item in searching.disputed(state)}
        return [Disagreement(item, found[item]) for item in searching.in_order(self._items, set(found))]

    def adjudicate(self, item: str, label: str, annotator: str, *, request: str | None = None) -> Event:
        """The label that holds, whatever was said; can be undone by who gave it."""
        return self.record([Said(annotator, item, ADJUDICATE, label, request=request)])[0]

    # the serving process

    def serving(self, about: str) -> AbstractContextManager[None]:
        """Hold the project as its one server while the context lasts; `about` (an address) is shown to a second one.

        On SQLite a second server is refused; on PostgreSQL servers share the project, as leases are in the database.
        """
        return nullcontext() if self.path is None else only_server(self.path, about)
