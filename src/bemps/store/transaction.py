"""A transaction of the log, and how events are written and read."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import validation
from bemps.store.events import Event
from bemps.store.reservation.leases import Leases
from bemps.store.sql.database_errors import damaged
from bemps.store.sql.sql_tables import EVENTS
from bemps.store.state import State

COLUMNS = tuple(field.name for field in fields(Event))
IN_ORDER = select(*(EVENTS.c[name] for name in COLUMNS)).order_by(EVENTS.c.seq)


class LogTransaction:
    """An open transaction of the only writer. An event is in `state` at once, and in the log after `write`.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        The connection.
    state : State
        The state of the project, which the events change.
    clock : callable
        From a connection to microseconds since 1970. It decides when leases end.
    """

    def __init__(self, connection: Connection, state: State, clock: Callable[[Connection], int]) -> None:
        self.connection, self.state = connection, state
        self.events: list[Event] = []
        self.leases = Leases(connection)
        self._clock = clock

    @cached_property
    def now(self) -> int:
        """The time of the transaction, in microseconds since 1970."""
        return self._clock(self.connection)

    def add_event(
        self,
        annotator: str,
        kind: str,
        *,
        item: str | None = None,
        class_id: int | None = None,
        label: str | None = None,
        previous: str | None = None,
        note: str | None = None,
        target: int | None = None,
        request: str | None = None,
        method: str | None = None,
        action: str | None = None,
        time: datetime | None = None,
    ) -> Event:
        """Add an event. The parameters are the fields of `Event`.

        Parameters
        ----------
        annotator : str
            Who did it.
        kind : str
            The kind of the event.
        item, class_id, label, previous, note, target, request, method, action
            As in `Event`.
        time : datetime, optional
            The time of the event. The default is now.

        Returns
        -------
        Event
            The event.
        """
        at = validation.moment(self.now) if time is None else time.astimezone(UTC)
        about = (item, kind, label, previous, note, request, target, class_id, method, action)
        event = Event(self.state.seq + 1, at, annotator, *about)
        self.state.apply([event])
        self.events.append(event)
        return event

    def repeated(self, annotator: str, request: str | None, same: Callable[[Event], bool]) -> Event | None:
        """Return the event of an earlier request with the same id.

        Parameters
        ----------
        annotator : str
            Who sent the request.
        request : str or None
            Its id.
        same : callable
            Whether an event is what the request asks for.

        Returns
        -------
        Event or None
            The event; None if the request is new.

        Raises
        ------
        InputError
            The id was used for something else.
        """
        if request is None:
            return None
        validation.identifier(request, "request")
        event = self.state.requests.get((annotator, request))
        if event is not None and not same(event):
            raise InputError(
                f"request {request!r}",
                expected="an id that was not used for anything else",
                got=f"that of event {event.seq}: {event.kind} of item {event.item}",
                fix="Make a new id for every answer; only a resend keeps it.",
            )
        return event

    def write(self) -> None:
        """Write the events to the log. The commit makes them durable."""
        self.leases.write(self.now)
        if self.events:
            self.connection.execute(insert(EVENTS), [_row(event) for event in self.events])


def read(connection: Connection, after: int) -> list[Event]:
    """Read the events after a number, in order."""
    return _events(connection.execute(IN_ORDER.where(EVENTS.c.seq > after)).all())


def read_event(connection: Connection, number: int) -> Event:
    """Read the event with a number. A number that no event has is refused."""
    events = _events(connection.execute(IN_ORDER.where(EVENTS.c.seq == number)).all())
    if not events:
        fix = "Look at store.events()."
        raise InputError("event", expected="the number of an event of this project", got=str(number), fix=fix)
    return events[0]


def _events(rows: Iterable[Any]) -> list[Event]:
    try:
        return [Event(row[0], validation.moment(row[1]), *row[2:]) for row in rows]
    except OverflowError as error:
        raise damaged("an event", "a time of our age", str(error)) from error


def read_step(connection: Connection, first: Event) -> list[Event]:
    """Read all events of the undo or redo that began with an event: those of the same action directly after it."""
    if first.action is None:
        return [first]
    same = (EVENTS.c.action == first.action, EVENTS.c.kind == first.kind, EVENTS.c.annotator == first.annotator)
    after = IN_ORDER.where(EVENTS.c.seq > first.seq, EVENTS.c.request.is_(None), *same)
    events = [first]
    for event in _events(connection.execute(after).all()):
        if event.seq != events[-1].seq + 1:
            break
        events.append(event)
    return events


def _row(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in COLUMNS} | {"time": validation.microseconds(event.time)}
