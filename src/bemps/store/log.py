"""The log and the state that follows from it.

There are two copies of the state: `_state`, which readers see, holds only what was committed; in `_ahead` a writer
decides. Threads that write at the same moment share one commit, so that fifty answers cost one wait for the disk.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import func, select

from bemps.store.database import Database
from bemps.store.decision import Decision, read
from bemps.store.fold import State
from bemps.store.tables import EVENTS
from bemps.store.turns import Ticket, Turns
from bemps.store.words import Answer, Event

T = TypeVar("T")


class Log:
    """Appends events and keeps the state up to date with everybody's, reading only what is new."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()  # of _state
        self._turns = Turns(self._together)  # of _ahead: one thread decides at a time
        self._state, self._ahead = State(), State()
        self._resolved: tuple[int, dict[str, Answer]] = (-1, {})

    def events(self, after: int = 0) -> list[Event]:
        with self._database.reading() as connection:
            return read(connection, after)

    def token(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(select(func.coalesce(func.max(EVENTS.c.seq), 0))).scalar_one())

    @contextmanager
    def state(self) -> Iterator[State]:
        """The present state, held still while the context lasts."""
        with self._lock:
            with self._database.reading() as connection:
                self._state.apply(read(connection, self._state.seq))
            yield self._state

    def resolved(self) -> dict[str, Answer]:
        """What holds for everybody, by item; worked out once for each state of the log."""
        with self.state() as state:
            if self._resolved[0] != state.seq:
                held = (state.resolved(item) for item in state.by_item)
                self._resolved = state.seq, {one.item: state.answer(one) for one in held if one is not None}
            return self._resolved[1]

    @contextmanager
    def deciding(self) -> Iterator[Decision]:
        """A transaction of its own; what it says is in the log, and on the disk, when the context ends."""
        with self._turns.alone(), self._transaction(durable=True) as decision:
            yield decision

    def decide(self, job: Callable[[Decision], T], durable: bool = True) -> T:
        """The same for a job that raises only before it has said or written anything: it may share a transaction."""
        return self._turns.run(Ticket(job, durable))

    def _together(self, tickets: Sequence[Ticket[Any]]) -> None:
        with self._transaction(any(ticket.durable for ticket in tickets)) as decision:
            for ticket in tickets:
                ticket.work(decision)

    @contextmanager
    def _transaction(self, durable: bool) -> Iterator[Decision]:
        decision = None
        try:
            with self._database.writing(durable) as connection:
                self._ahead.apply(read(connection, self._ahead.seq))
                decision = Decision(connection, self._ahead, self._database.now)
                yield decision
                decision.write()
        except BaseException:
            if decision is not None and decision.events:
                self._ahead = State()  # it has what was not committed: read the log again
            raise
