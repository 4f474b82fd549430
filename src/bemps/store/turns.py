"""Threads that want to write at the same moment: one of them leads, and does the work of all who wait."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from bemps.errors import BempsError
from bemps.store.decision import Decision

T = TypeVar("T")
PATIENCE = 1.0  # seconds after which a sleeper looks for itself: whoever was to lead may have been interrupted


class Ticket(Generic[T]):
    """A job that waits for its turn, and what came of it."""

    def __init__(self, job: Callable[[Decision], T], durable: bool) -> None:
        self.durable, self.done = durable, False
        self.error: BaseException | None = None
        self.woken = threading.Event()
        self._job = job
        self._found: list[T] = []

    def work(self, decision: Decision) -> None:
        """Its own refusal is the sender's alone; a failure after something was said is everybody's."""
        said = len(decision.events)
        try:
            self._found.append(self._job(decision))
        except BempsError as error:
            if len(decision.events) > said:
                raise
            self.error = error

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self._found[0]


class Turns:
    """One thread at a time, alone or for all who wait.

    A waiting thread sleeps until its work is done or it may lead; were it to queue for a lock instead, threads that
    come back at once would overtake it, and there would be no company to share a commit with.
    """

    def __init__(self, work: Callable[[Sequence[Ticket[Any]]], None]) -> None:
        self._work = work
        self._lead = threading.Lock()
        self._waiting: deque[Ticket[Any]] = deque()

    @contextmanager
    def alone(self) -> Iterator[None]:
        try:
            with self._lead:
                yield
        finally:
            self._wake_next()

    def run(self, ticket: Ticket[T]) -> T:
        """Wait until the job is done, by this thread or another."""
        self._waiting.append(ticket)
        while not ticket.done:
            if self._lead.acquire(blocking=False):
                try:
                    self._work_off()
                finally:
                    self._lead.release()
                    self._wake_next()
            else:
                ticket.woken.wait(PATIENCE)
                ticket.woken.clear()
        return ticket.result()

    def _work_off(self) -> None:
        tickets = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            if tickets:
                self._work(tickets)
        except BaseException as error:
            for ticket in tickets:
                ticket.error = ticket.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            for ticket in tickets:
                ticket.done = True
                ticket.woken.set()

    def _wake_next(self) -> None:
        """After the lead is given up: whoever came too late for the last turn may lead the next."""
        try:
            self._waiting[0].woken.set()
        except IndexError:
            return  # nobody waits
