"""The engine: joins the store, the board, the desks and the model's process. All of it lives on one event loop.

Reading and writing happen in threads, training in another process: the loop itself never waits.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

import numpy as np

from bemps.errors import BempsError
from bemps.serve.background import Background
from bemps.serve.board import Board, Origin, random_order
from bemps.serve.class_keys import keys_of, new_keys, present_keys
from bemps.serve.clerk import Clerk
from bemps.serve.desks import Desk, Offer
from bemps.serve.insight import Insight
from bemps.serve.lending import Lending
from bemps.store import Answer, Class, Event, Item, Said, Store
from bemps.store.words import ADD_CLASS, NOTE, RENAME_CLASS, SET_KEY

T = TypeVar("T")
LOG = logging.getLogger("bemps.serve")
TICK = 1.0  # seconds between looks at what happened beside this server
PATIENCE = 3.0  # seconds that a panel waits for the model
CLASS_EVENTS = (ADD_CLASS, RENAME_CLASS, SET_KEY)


class Engine:
    """One project, being labelled."""

    def __init__(self, store: Store, where: str, seed: int = 0) -> None:
        self.store, self.where = store, where
        self.settings = store.settings
        self.clerk = Clerk(store)
        self._start_keys()
        self.seen = store.change_token()
        self.board = self._board(np.random.default_rng([seed, self.seen]))
        self.classes: tuple[Class, ...] = store.classes()
        self.classes_version = self.seen
        self.insight = Insight()
        self.lending = Lending(store, self.clerk, self.board, self.insight)
        self.desks = self.lending.desks
        self.background = Background(where, self._heard)
        self._tasks: set[asyncio.Task[object]] = set()
        self.changes, self._learnt = 0, -1
        self._noted: set[int] = set()
        self._looking = asyncio.Lock()

    def _board(self, rng: np.random.Generator) -> Board:
        store, settings = self.store, self.settings
        ids = random_order(store.ids(), int(settings.get("seed", 0)))
        audit = store.audit()
        board = Board(
            ids,
            [item for item in ids if item in audit],
            float(settings.get("audit_share", 0.0)),
            float(settings.get("overlap_share", 0.0)),
            rng,
        )
        answers: dict[str, list[Answer]] = {}
        for answer in store.answers():
            answers.setdefault(answer.item, []).append(answer)
        for item, given in answers.items():
            board.settle(item, given)
        second = store.overlap()
        board.second = {item: None for item in ids if item in second}
        return board

    async def start(self) -> None:
        if self.settings.get("no_model"):
            self.insight.state, self.insight.words = "ready", "no model: items come at random"
        else:
            self.background.start()
        self._spawn(self._tick())

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.background.stop()
        with contextlib.suppress(BempsError):  # leases lapse anyway, and the server must end
            if self.insight.unsaved_since is not None:
                await self._save_history()
            for desk in self.desks.values():
                await self.lending.release(desk)
        self.clerk.close()

    # -- asking ------------------------------------------------------------------------------------------------------

    def desk(self, annotator: str) -> Desk:
        return self.lending.desk(annotator)

    def is_here(self, annotator: str | None) -> None:
        if annotator in self.desks:
            self.desks[annotator].seen_at = time.monotonic()

    async def next(self, annotator: str, have: Sequence[str], n: int) -> list[Item]:
        """Items for a browser that has some already."""
        offers = await self.lending.hand_out(annotator, have, n)
        desk = self.desk(annotator)
        if desk.short:
            self._spawn(self.lending.refill(desk))
        return [offer.item for offer in offers]

    # -- answering ---------------------------------------------------------------------------------------------------

    async def answer(self, said: Said) -> Event:
        """Durable when this returns."""
        event = await self.clerk.save(said)
        if said.kind != NOTE:
            self.desk(said.annotator).answered(said.item)
            await self._note([event])
            self.learn()
        return event

    async def step(self, annotator: str, which: str, request: str) -> tuple[Event, str] | None:
        """Undo or redo; the event, and what was taken back or restored in words."""
        move = self.store.undo if which == "undo" else self.store.redo
        event = await self.clerk.run(lambda: move(annotator, request=request))
        if event is None or event.item is None:
            return None
        before = self.board.answered.get(event.item, {}).get(annotator)
        await self._note([event])
        after = self.board.answered.get(event.item, {}).get(annotator)
        desk = self.desk(annotator)
        if which == "undo":
            await self.lending.lend_again(desk, await self.item(event.item))
        else:
            desk.answered(event.item)
        self.learn()
        was = (event.previous or before) if which == "undo" else (event.label or after)
        return event, str(was or "note")

    async def adjudicate(self, said: Said) -> Event:
        event = await self.clerk.run(
            lambda: self.store.adjudicate(said.item, str(said.label), said.annotator, request=said.request)
        )
        await self._note([event])
        self.learn()
        return event

    async def _note(self, events: Sequence[Event]) -> None:
        """Take in events, of this server or others, each once."""
        fresh = [event for event in events if event.seq not in self._noted]
        self._noted |= {event.seq for event in fresh}
        self.changes += any(event.kind != NOTE for event in fresh)
        for item in self.board.note(fresh):
            self.board.settle(item, await self.read(lambda item=item: self.store.answers_of(item)))  # type: ignore[misc]
        if any(event.kind in CLASS_EVENTS for event in fresh):
            self.classes = await self.clerk.run(self._classes_with_keys)
            self.classes_version = max(event.seq for event in fresh)

    # -- classes -----------------------------------------------------------------------------------------------------

    async def change_classes(self, write: Callable[[], Class]) -> None:
        await self.clerk.run(write)
        await self._look_around()

    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of every class, as they are recorded."""
        return keys_of(self.classes)

    def _classes_with_keys(self) -> tuple[Class, ...]:
        if any(known.key is None for known in self.store.classes()):
            self.store.give_keys(new_keys)
        return self.store.classes()

    def _start_keys(self) -> None:
        """Keys are recorded at the first start; a project that was labelled before keeps those that people know."""
        if not self.settings.get("keys_recorded"):
            self.store.give_keys(present_keys if self.store.current() else new_keys)
            self.store.set("keys_recorded", True)
        self._classes_with_keys()

    # -- the model ---------------------------------------------------------------------------------------------------

    @property
    def model_state(self) -> str:
        """Whether there is a model: none (not asked for), starting, failed, or alive with an order."""
        if self.settings.get("no_model"):
            return "none"
        if self.insight.state == "failed":
            return "failed"
        return "alive" if self.insight.orders else "starting"

    def learn(self, used_up: bool = False) -> None:
        """Ask for a new order when something changed since the last one, or when that is used up."""
        if not self.insight.alive or self.background.busy:
            return
        if (self.changes != self._learnt or used_up) and self.background.learn(self._appetite()):
            self._learnt = self.changes
            self.insight.learns()

    def _used_up(self) -> bool:
        return not self.insight.exhausted and self.board.unasked(self.lending.out()) < 2 * max(1, len(self.desks))

    def _appetite(self) -> int:
        speed = sum(desk.speed for desk in self.desks.values())
        return min(1_000, 20 + 6 * len(self.desks) + int(2 * speed * max(self.insight.seconds, 1.0)))

    async def look(self, name: str) -> dict[str, object]:
        """What the model makes of an item; an unknown id is refused here, before it reaches the model's process."""
        await self.item(name)
        if not self.insight.alive:  # it would answer after it has read all items
            return {}
        return await self.background.look(name, PATIENCE) or {}

    def _heard(self, message: dict[str, object]) -> None:
        if self.insight.hear(message):
            origin: Origin = "model" if self.insight.ready else "typical"
            self.board.rank(self.insight.order, origin)
            self._spawn(self.lending.refresh())
        elif message["is"] == "nothing":
            self._learnt = -1
        self.learn()

    # -- time passes -------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._look_around()
            except BempsError as error:  # a database that is away, a disk that is full: the next tick tries again
                LOG.warning("%s", error)

    async def _look_around(self) -> None:
        async with self._looking:
            if await self.read(self.store.change_token) > self.seen:
                events = await self.read(lambda: self.store.events(self.seen))
                await self._note(events)
                self.seen = max([self.seen, *(event.seq for event in events)])
                self._noted = {seq for seq in self._noted if seq > self.seen}
        self.learn(self._used_up())
        for desk in list(self.desks.values()):
            await self.lending.mind(desk)
        if self.insight.unsaved:
            await self._save_history()

    async def _save_history(self) -> None:
        history = self.insight.history_to_save()
        await self.clerk.run(lambda: self.store.set("history", history))

    # -- small things ------------------------------------------------------------------------------------------------

    async def read(self, look: Callable[[], T]) -> T:
        """Something from the store, without holding up the loop."""
        return await asyncio.to_thread(look)

    def offer(self, item: str) -> Offer | None:
        return self.lending.offer(item)

    async def item(self, name: str) -> Item:
        return await self.read(lambda: self.store.item(name))

    @property
    def labels(self) -> int:
        return len(self.board.labelled)

    def _spawn(self, work: Coroutine[object, object, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("in the background", exc_info=task.exception())
