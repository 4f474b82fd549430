"""The log of a project, and the state that follows from it.

There are two copies of the state. Readers see `_state`, which holds only what was committed. In `_ahead` a writer
decides, one at a time.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import func, select

from bemps.store.events import Answer, Event
from bemps.store.sql.database import Database
from bemps.store.sql.sql_tables import EVENTS
from bemps.store.state import State
from bemps.store.transaction import LogTransaction, read, read_event

T = TypeVar("T")


class Log:
    """The log of events, with a state that is kept up to date by reading only new events."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()  # of _state: readers do not wait for a commit
        self._state, self._ahead = State(), State()
        self._resolved: tuple[int, dict[str, Answer]] = (-1, {})

    def events(self, after: int = 0) -> list[Event]:
        """Return the events after a number, in order."""
        with self._database.reading() as connection:
            return read(connection, after)

    def event(self, number: int) -> Event:
        """Return the event with a number."""
        with self._database.reading() as connection:
            return read_event(connection, number)

    def last_number(self) -> int:
        """Return the number of the last event. It changes with everything but settings, items and leases."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.coalesce(func.max(EVENTS.c.seq), 0))).scalar_one())

    @contextmanager
    def state(self) -> Iterator[State]:
        """Yield the present state. It does not change inside the block."""
        with self._lock:
            with self._database.reading() as connection:
                self._state.apply(read(connection, self._state.seq))
            yield self._state

    def resolved_answers(self) -> dict[str, Answer]:
        """Return the answer that counts for each item. It is computed once for each state of the log."""
        with self.state() as state:
            if self._resolved[0] != state.seq:
                answers = (state.resolved_answer(item) for item in state.by_item)
                self._resolved = (
                    state.seq,
                    {answer.item: state.answer(answer) for answer in answers if answer is not None},
                )
            return self._resolved[1]

    def own_answers(self, annotator: str) -> dict[str, Answer]:
        """Return the present answers of one annotator, by item."""
        with self.state() as state:
            stored = (state.stored_answer((annotator, item)) for item in state.by_person.get(annotator, ()))
            return {answer.item: state.answer(answer) for answer in stored if answer is not None}

    @contextmanager
    def transaction(self) -> Iterator[LogTransaction]:
        """Yield a transaction. Its events are in the log, and on the disk, when the block ends."""
        with self._transaction(durable=True) as transaction:
            yield transaction

    def run_transaction(self, job: Callable[[LogTransaction], T], durable: bool = True) -> T:
        """Run a job in a transaction of its own. Without `durable`, a power cut may lose it."""
        with self._transaction(durable) as transaction:
            return job(transaction)

    @contextmanager
    def _transaction(self, durable: bool) -> Iterator[LogTransaction]:
        transaction = None
        with self._database.writer:  # also of _ahead
            try:
                with self._database.writing(durable) as connection:
                    self._ahead.apply(read(connection, self._ahead.seq))
                    transaction = LogTransaction(connection, self._ahead, self._database.now)
                    yield transaction
                    transaction.write()
            except BaseException:
                if transaction is not None and transaction.events:
                    self._ahead = State()  # it has what was not committed: read the log again
                raise
