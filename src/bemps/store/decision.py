"""What one transaction adds to the log, and how events are written and read."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from functools import cached_property

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import checked
from bemps.store.failures import damaged
from bemps.store.fold import State
from bemps.store.leases import Leases
from bemps.store.tables import EVENTS
from bemps.store.words import Event

COLUMNS = tuple(field.name for field in fields(Event))
IN_ORDER = select(*(EVENTS.c[name] for name in COLUMNS)).order_by(EVENTS.c.seq)


class Decision:
    """An open transaction of the one writer. What is said is in `state` at once, and in the log when it is written.

    clock   microseconds since 1970, by which leases lapse
    """

    def __init__(self, connection: Connection, state: State, clock: Callable[[Connection], int]) -> None:
        self.connection, self.state = connection, state
        self.events: list[Event] = []
        self.leases = Leases(connection)
        self._clock = clock

    @cached_property
    def now(self) -> int:
        return self._clock(self.connection)

    def say(
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
        time: datetime | None = None,
    ) -> Event:
        """One more event."""
        at = checked.moment(self.now) if time is None else time.astimezone(UTC)
        event = Event(self.state.seq + 1, at, annotator, item, kind, label, previous, note, request, target, class_id)
        self.state.apply([event])
        self.events.append(event)
        return event

    def repeated(self, annotator: str, request: str | None, same: Callable[[Event], bool]) -> Event | None:
        """The event of an earlier sending of this request; the id of another request is refused."""
        if request is None:
            return None
        checked.identifier(request, "request")
        found = self.state.requests.get((annotator, request))
        if found is not None and not same(found):
            raise InputError(
                f"request {request!r}",
                expected="an id that was not used for anything else",
                got=f"that of event {found.seq}: {found.kind} of item {found.item}",
                fix="Make a new id for every answer; only a resend keeps it.",
            )
        return found

    def write(self) -> None:
        """Put what was said into the log; the commit makes it durable."""
        self.leases.write(self.now)
        if self.events:
            self.connection.execute(insert(EVENTS), [_row(event) for event in self.events])


def read(connection: Connection, after: int) -> list[Event]:
    """The events after one, in order."""
    rows = connection.execute(IN_ORDER.where(EVENTS.c.seq > after)).all()
    try:
        return [Event(row[0], checked.moment(row[1]), *row[2:]) for row in rows]
    except OverflowError as error:
        raise damaged("an event", "a time of our age", str(error)) from error


def _row(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in COLUMNS} | {"time": checked.microseconds(event.time)}
