"""The engine: joins the store, the schedule, the queues and the model's process. All of it lives on one event loop.

Reading and writing happen in threads, training in another process: the loop itself never waits.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bemps.errors import BempsError, InputError, unknown_name
from bemps.project.project_creation import update_project
from bemps.server.model.messages import Message, NotLearnt, Ranking, State
from bemps.server.model.model_process import Background
from bemps.server.model.model_status import ModelStatus
from bemps.server.panels.class_keys import keys_of, new_keys, present_keys
from bemps.server.panels.class_view import ClassView, class_view
from bemps.server.queue import class_search
from bemps.server.queue.annotator_queues import AnnotatorQueue, Offer
from bemps.server.queue.answer_writer import AnswerWriter
from bemps.server.queue.class_search import SIZE, SPARE, ClassSearch, first_members
from bemps.server.queue.leasing import Lending
from bemps.server.queue.random_order import random_order
from bemps.server.queue.schedule import Origin, Schedule
from bemps.server.results.result_jobs import ResultJobs
from bemps.server.review.model_answers import ModelAnswers
from bemps.server.suggestions.suggester import Suggester
from bemps.store import Answer, Class, Event, Item, ListedAnswers, NewAnswer, Store
from bemps.store.events import CLASS_EVENTS, CLEAR, LATER, NOTE, REDO, UNDO
from bemps.store.project_settings import ProjectSettings

T = TypeVar("T")
LOG = logging.getLogger("bemps.server")
TICK = 1.0  # seconds between looks at what happened beside this server
PATIENCE = 3.0  # seconds that a panel waits for the model
STEPS = (UNDO, REDO, CLEAR)  # events after which a person's answers must be looked up


class Engine:
    """One project while people label it.

    Parameters
    ----------
    store : Store
        The database of the project.
    where : str
        The file of the project, or its address in a database server.
    seed : int
        The seed of the random draws of the schedule.
    """

    def __init__(self, store: Store, where: str, seed: int = 0) -> None:
        self.store, self.where = store, where
        self.settings = store.read_settings()
        self.writer = AnswerWriter(store)
        self._start_keys()
        self.seen = store.change_token()
        self.schedule = self._schedule(np.random.default_rng([seed, self.seen]))
        self.class_view = class_view(store)
        self.classes_version = self.seen
        self.settings_version = 0
        self.settings_lock = asyncio.Lock()  # for changes that depend on what is there
        self._configuring = asyncio.Lock()
        self.model_status = ModelStatus()
        self.lending = Lending(store, self.writer, self.schedule, self.model_status)
        self.queues = self.lending.queues
        self.suggester = Suggester(store, self.schedule, self.lending, self.model_status, self.writer)
        self.suggester.configure(self.settings, self.classes)
        self.background = Background(where, self._heard)
        self.results = ResultJobs(where)
        self.answers = ModelAnswers(self.background, self.model_status)
        self._tasks: set[asyncio.Task[object]] = set()
        self.changes, self._learnt = 0, -1
        self._noted: set[int] = set()
        self._catching_up = asyncio.Lock()

    def _schedule(self, rng: np.random.Generator) -> Schedule:
        store, settings = self.store, self.settings
        ids = random_order(store.ids(), settings.seed)
        audit = store.audit()
        schedule = Schedule(
            ids,
            [item for item in ids if item in audit],
            settings.audit_share,
            settings.overlap_share,
            rng,
            settings.answers_per_item,
        )
        schedule.set_assignment(store.assignment())
        answers: dict[str, list[Answer]] = {}
        for answer in store.answers():
            answers.setdefault(answer.item, []).append(answer)
        for item, own in answers.items():
            schedule.set_answers(item, own)
        for annotator, items in store.postponed().items():
            schedule.set_postponed(annotator, items)
        shared = store.overlap()
        schedule.mark_overlap(item for item in ids if item in shared)
        return schedule

    async def start(self) -> None:
        """Start the process of the model, if the project has one, and the regular work."""
        if self.settings.no_model:
            self.model_status.state, self.model_status.words = "ready", "no model: items come at random"
        else:
            self.background.start()
        self.suggester.start()
        self._spawn(self._tick())

    async def stop(self) -> None:
        """End all work, save the history of the model, and give back all leases."""
        for task in list(self._tasks):
            task.cancel()
        await self.suggester.stop()
        await self.answers.stop()
        await self.background.stop()
        await self.results.stop()
        with contextlib.suppress(BempsError):  # leases lapse anyway, and the server must end
            if self.model_status.unsaved_since is not None:
                await self._save_history()
            for queue in self.queues.values():
                await self.lending.release(queue)
        self.writer.close()

    # -- asking ------------------------------------------------------------------------------------------------------

    def queue_of(self, annotator: str) -> AnnotatorQueue:
        """Return the queue of an annotator; it is made at the first call."""
        return self.lending.queue_of(annotator)

    def mark_present(self, annotator: str | None) -> None:
        """Note that an annotator is still present, so that their leases are renewed."""
        if annotator in self.queues:
            self.queues[annotator].seen_at = time.monotonic()

    async def next(self, annotator: str, have: Sequence[str], n: int, back: Sequence[str] = ()) -> list[Item]:
        """Return items for a browser that has some already.

        Parameters
        ----------
        annotator : str
            The name of the person.
        have : sequence of str
            The ids of the items that the browser has.
        n : int
            The number of items that the browser wants.
        back : sequence of str
            The ids of items that the browser gives back, in exchange for items of a new order.

        Returns
        -------
        list of Item
            At most n items.
        """
        await self.lending.take_back(self.queue_of(annotator), back)
        offers = await self.lending.hand_out(annotator, have, n)
        queue = self.queue_of(annotator)
        if queue.short:
            self._spawn(self.lending.refill(queue))
        return [offer.item for offer in offers]

    # -- answering ---------------------------------------------------------------------------------------------------

    async def answer(self, answer: NewAnswer) -> Event:
        """Record an answer; it is safely stored when this returns."""
        event = await self.writer.save(answer)
        if answer.kind != NOTE:
            await self._count_search(answer)
            self.queue_of(answer.annotator).answered(answer.item)
            await self._note([event])
            self.learn()
        return event

    async def label_list(self, annotator: str, items: Sequence[str], label: str, request: str) -> ListedAnswers:
        """Give one label to many items; it is safely stored when this returns.

        Parameters
        ----------
        annotator : str
            The name of the person.
        items : sequence of str
            The ids of the items.
        label : str
            The name of the class.
        request : str
            The id of the request. A second request with the same id changes nothing.

        Returns
        -------
        ListedAnswers
            The events, and how many items were left out and why.
        """
        done = await self.writer.run(lambda: self.store.label_list(annotator, items, label, request=request))
        self.queue_of(annotator).drop(str(event.item) for event in done.events)
        await self._note(done.events)
        self.learn()
        return done

    async def step(self, annotator: str, which: str, request: str) -> tuple[list[Event], str] | None:
        """Undo or redo the last answer of an annotator, or all answers of their last action.

        Parameters
        ----------
        annotator : str
            The name of the person.
        which : {'undo', 'redo'}
            The direction.
        request : str
            The id of the request. A second request with the same id changes nothing.

        Returns
        -------
        tuple of (list of Event, str) or None
            The events, and a word for the answer that was taken back or restored. None if nothing was left to undo or
            redo.
        """
        move = self.store.undo_action if which == "undo" else self.store.redo_action
        events = await self.writer.run(lambda: move(annotator, request=request))
        if not events:
            return None
        event, item = events[0], str(events[0].item)
        before = self.schedule.answer_word(item, annotator)
        await self._note(events)
        after = self.schedule.answer_word(item, annotator)
        queue = self.queue_of(annotator)
        if len(events) > 1:  # their items stay where they are, in the list that they came from
            queue.drop(str(event.item) for event in events)
        elif which == "undo":
            await self.lending.lend_again(queue, await self.item(item))
        else:
            queue.answered(item)
        self.learn()
        was = (event.previous or before) if which == "undo" else (event.label or after)
        return events, str(was or "note")

    async def adjudicate(self, answer: NewAnswer) -> Event:
        """Record the label that settles a disagreement, and let the model learn it."""
        event = await self.writer.run(
            lambda: self.store.adjudicate(answer.item, str(answer.label), answer.annotator, request=answer.request)
        )
        await self._note([event])
        self.learn()
        return event

    async def _note(self, events: Sequence[Event]) -> None:
        """Take in events, of this server or others, each once."""
        fresh = [event for event in events if event.seq not in self._noted]
        self._noted |= {event.seq for event in fresh}
        self.changes += any(event.kind not in (NOTE, LATER) for event in fresh)
        if unclear := self.schedule.apply_events(fresh):
            answers = await self.read(lambda: {item: self.store.answers_of(item) for item in unclear})
            for item, own in answers.items():
                self.schedule.set_answers(item, own)
        for annotator in {event.annotator for event in fresh if event.kind in STEPS}:
            later = await self.read(lambda annotator=annotator: self.store.postponed(annotator))  # type: ignore[misc]
            self.schedule.set_postponed(annotator, later.get(annotator, {}))
        if any(event.kind in CLASS_EVENTS for event in fresh):
            before, self.class_view = self.class_view, await self.writer.run(self._classes_with_keys)
            self.classes_version = max(event.seq for event in fresh)
            await self._configure_suggester()
            await self._follow_classes(before)

    # -- settings ----------------------------------------------------------------------------------------------------

    async def change_settings(self, changes: Mapping[str, Any], annotator: str) -> None:
        """Write settings, draw the audit items that they ask for, and act on them from now on.

        Parameters
        ----------
        changes : mapping of str to value
            The new values, as `ProjectSettings.to_json` writes them.
        annotator : str
            Who changes them.
        """

        def write() -> None:  # the one thread that writes: nothing that was written meanwhile is put back
            settings = ProjectSettings.from_json(self.store.settings | dict(changes))
            update_project(self.store, settings, None, annotator=annotator)

        await self.writer.run(write)
        self.settings = settings = await self.read(self.store.read_settings)
        self.schedule.audit_share = settings.audit_share
        self.schedule.set_overlap(settings.overlap_share, settings.answers_per_item)
        if {"assign_by", "assigned_to"} & set(changes):
            self.schedule.set_assignment(await self.read(self.store.assignment))
            for annotator_with_queue in list(self.queues):
                await self._change_order(annotator_with_queue)
        audit = await self.read(self.store.audit)
        self.schedule.set_audit([item for item in self.schedule.ids if item in audit])
        await self._configure_suggester()
        self.settings_version += 1
        if {"train_on_suggested", "audit_share"} & set(changes):
            self.changes += 1
            self.learn()

    async def _configure_suggester(self) -> None:
        """Let suggestions follow settings and classes, one change after the other: the last one counts."""
        async with self._configuring:
            await self.read(lambda: self.suggester.configure(self.settings, self.classes))

    # -- classes -----------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Class, ...]:
        """The classes in order, hidden ones too."""
        return self.class_view.classes

    async def change_classes(self, write: Callable[[], object]) -> None:
        """Run a function that changes a class in the store, and read the classes again."""
        await self.writer.run(write)
        await self._catch_up()

    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of every class, as they are recorded."""
        return keys_of(self.classes)

    def _classes_with_keys(self) -> ClassView:
        if any(known.key is None for known in self.store.classes()):
            self.store.give_keys(new_keys)
        return class_view(self.store)

    def _start_keys(self) -> None:
        """Keys are recorded at the first start; a project that was labelled before keeps those that people know."""
        if not self.settings.keys_recorded:
            self.store.give_keys(present_keys if self.store.current() else new_keys)
            self.store.set("keys_recorded", True)
        self._classes_with_keys()

    # -- the model ---------------------------------------------------------------------------------------------------

    @property
    def model_state(self) -> str:
        """Whether there is a model: none (not asked for), starting, failed, or alive with an order."""
        if self.settings.no_model:
            return "none"
        if self.model_status.state == "failed":
            return "failed"
        return "alive" if self.model_status.orders else "starting"

    def learn(self, used_up: bool = False) -> None:
        """Ask the model for a new order if something changed since the last one, or if that is used up."""
        if not self.model_status.alive or self.background.busy:
            return
        if (self.changes != self._learnt or used_up) and self.background.learn(self._ranking_size()):
            self._learnt = self.changes
            self.model_status.start_learning()

    def _used_up(self) -> bool:
        return not self.model_status.exhausted and self.schedule.unasked(self.lending.out()) < 2 * max(
            1, len(self.queues)
        )

    def _ranking_size(self) -> int:
        speed = sum(queue.speed for queue in self.queues.values())
        size = 20 + 6 * len(self.queues) + int(2 * speed * max(self.model_status.seconds, 1.0))
        return min(1_000, size * len(self.schedule.shares.sizes))  # where people have shares, some of each

    async def look(self, name: str) -> dict[str, object]:
        """Return what the model thinks of an item; an unknown id is refused before it reaches the model's process."""
        await self.item(name)
        if not self.model_status.alive:  # it would answer after it has read all items
            return {}
        return await self.background.look(name, PATIENCE) or {}

    async def guess_words(self, name: str) -> dict[str, Any] | None:
        """Return the words of an item that speak for the guess; None if the model has no time."""
        await self.item(name)
        return await self.background.ask("guess-words", PATIENCE, items=[name]) if self.model_status.alive else {}

    def _heard(self, message: Message) -> None:
        self.model_status.receive(message)
        if isinstance(message, Ranking):
            origin: Origin = "model" if self.model_status.ready else "typical"
            self.schedule.rank(self.model_status.order, origin)
            self._spawn(self._renew_searches())
        elif isinstance(message, NotLearnt) or (isinstance(message, State) and message.model):
            self._learnt = -1  # also a model that has taken over orders anew, without waiting for an answer
        self.learn()

    # -- more of a class ---------------------------------------------------------------------------------------------

    async def start_class_search(self, annotator: str, label: str) -> None:
        """Ask an annotator probable members of a class for a while, instead of the usual order."""
        names = [known.name for known in self.classes]
        if label not in names:
            raise unknown_name("class", label, names)
        if label not in [known.name for known in self.class_view.visible]:
            fix = "Choose another class, or show it again under Edit classes."
            raise InputError("label", expected="a class that is offered", got=f"{label!r}, hidden", fix=fix)
        if not self.model_status.alive:
            got = "a project without a model" if self.settings.no_model else "one that gets ready"
            raise InputError("search", expected="a model", got=got, fix="Search for words under Labelled.")
        search = ClassSearch(label)
        search.renew(first_members(label, await self._members(label)))
        self.schedule.class_searches[annotator] = search
        await self._change_order(annotator)

    async def stop_class_search(self, annotator: str) -> None:
        """Go back to the usual order."""
        if self.schedule.class_searches.pop(annotator, None) is not None:
            await self._change_order(annotator)

    async def _follow_classes(self, before: ClassView) -> None:
        """Searches go by the new name of their class; where it is not offered any more, they end."""
        numbers = {known.name: known.id for known in before.classes}
        names = {known.id: known.name for known in self.class_view.visible}
        for annotator, search in list(self.schedule.class_searches.items()):
            number = numbers.get(search.label)
            if number in names:
                search.label = names[number]
            else:
                await self.stop_class_search(annotator)

    async def _change_order(self, annotator: str) -> None:
        """Give back what waits in a queue, also what is being leased by the order before."""
        queue = self.queue_of(annotator)
        async with queue.lock:
            await self.lending.release(queue)

    async def _count_search(self, answer: NewAnswer) -> None:
        """End the search of an annotator after its last item."""
        search = self.schedule.class_searches.get(answer.annotator)
        offer = self.queue_of(answer.annotator).in_browser.get(answer.item)
        if search is not None and offer is not None and offer.candidate.origin == "likely" and not search.count():
            await self.stop_class_search(answer.annotator)

    async def _renew_searches(self) -> None:
        """Give the new order to everybody; what the model has learnt also changes which items are probable."""
        await self.lending.refresh()
        searches = self.schedule.class_searches
        for label in {search.label for annotator, search in searches.items() if annotator in self.queues}:
            answer = await self._members(label)
            for search in list(searches.values()):
                if search.label == label and answer and answer.get("items"):
                    search.renew(answer)
        if searches:
            await self.lending.refresh()

    async def _members(self, label: str) -> dict[str, object] | None:
        return await self.background.ask("members", class_search.PATIENCE, label=label, n=SIZE + SPARE)

    # -- time passes -------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._catch_up()
            except BempsError as error:  # a database that is away, a disk that is full: the next tick tries again
                LOG.warning("%s", error)

    async def _catch_up(self) -> None:
        async with self._catching_up:
            if await self.read(self.store.change_token) > self.seen:
                events = await self.read(lambda: self.store.events(self.seen))
                await self._note(events)
                self.seen = max([self.seen, *(event.seq for event in events)])
                self._noted = {seq for seq in self._noted if seq > self.seen}
        self.learn(self._used_up())
        for queue in list(self.queues.values()):
            await self.lending.renew_or_release(queue)
        if self.model_status.unsaved:
            await self._save_history()

    async def _save_history(self) -> None:
        history = self.model_status.history_to_save()
        await self.writer.run(lambda: self.store.set("history", history))

    # -- small things ------------------------------------------------------------------------------------------------

    async def read(self, look: Callable[[], T]) -> T:
        """Read from the store in a thread, so that the event loop does not wait."""
        return await asyncio.to_thread(look)

    def offer(self, item: str) -> Offer | None:
        """Return the offer of an item that some browser has, or None."""
        return self.lending.offer(item)

    async def item(self, name: str) -> Item:
        """Return an item by its id."""
        return await self.read(lambda: self.store.item(name))

    @property
    def labels(self) -> int:
        """The number of items that have a label."""
        return len(self.schedule.labelled)

    def _spawn(self, work: Coroutine[object, object, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("in the background", exc_info=task.exception())
