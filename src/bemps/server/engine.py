"""The engine: joins the store, the schedule, the queues and the model's process. All of it lives on one event loop.

Reading and writing happen in threads, training in another process: the loop itself never waits.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from bemps.errors import BempsError, InputError, unknown_name
from bemps.project.project_creation import update_project
from bemps.server.background_tasks import BackgroundTasks
from bemps.server.model.messages import Message, NotLearnt, Ranking, State
from bemps.server.model.model_process import Background
from bemps.server.model.model_status import ModelStatus
from bemps.server.panels.class_keys import record_first_keys
from bemps.server.panels.class_view import class_view, class_view_with_keys
from bemps.server.queue.annotator_queues import AnnotatorQueue
from bemps.server.queue.answer_writer import AnswerWriter
from bemps.server.queue.class_searches import ClassSearches
from bemps.server.queue.leasing import Lending
from bemps.server.queue.project_schedule import schedule_of
from bemps.server.queue.schedule import Origin
from bemps.server.queue.steps import Step, step_of
from bemps.server.results.result_jobs import ResultJobs
from bemps.server.review.decisions import decide
from bemps.server.review.model_answers import ModelAnswers
from bemps.server.suggestions.suggester import Suggester
from bemps.store import Class, Event, Item, ListedAnswers, NewAnswer, Store
from bemps.store.events import ADJUDICATE, AUDIT, CLASS_EVENTS, CLEAR, LATER, NOTE, REDO, UNDO
from bemps.store.project_settings import NAMES, ProjectSettings

T = TypeVar("T")
LOG = logging.getLogger("bemps.server")
TICK = 1.0  # seconds between looks at what happened beside this server
OF_THE_START = ("no_model", "model", "strategy", "seed")  # settings that the model's process began with
UNSHOWN = {"history", "suggest_requests_made"}  # settings that the page does not show
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
        self.writer = AnswerWriter(store)
        record_first_keys(store, store.read_settings())
        self._settings_token = store.settings_token()
        self.settings = store.read_settings()
        self.seen = store.change_token()
        self.schedule = schedule_of(store, self.settings, np.random.default_rng([seed, self.seen]))
        self.class_view = class_view(store)
        self.classes_version = self.seen
        self.settings_version = 0
        self._following = asyncio.Lock()
        self._unapplied: set[str] = set()  # settings that were read and are not acted on yet
        self._configuring = asyncio.Lock()
        self.model_status = ModelStatus()
        self.lending = Lending(store, self.writer, self.schedule, self.model_status)
        self.queues = self.lending.queues
        self.suggester = Suggester(store, self.schedule, self.lending, self.model_status, self.writer)
        self.suggester.configure(self.settings, self.classes)
        self.background = Background(where, self._heard)
        self.results = ResultJobs(where, lambda: self.labels)
        self.answers = ModelAnswers(self.background, self.model_status)
        self.class_searches = ClassSearches(self.schedule, self.lending, self.answers.members)
        self._tasks = BackgroundTasks()
        self.changes, self._learnt = 0, -1
        self._noted: set[int] = set()
        self._catching_up = asyncio.Lock()

    async def start(self) -> None:
        """Start the process of the model, if the project has one, and the regular work."""
        if self.settings.no_model:
            self.model_status.state, self.model_status.words = "ready", "no model: items come at random"
        else:
            self.background.start()
        self.suggester.start()
        self._tasks.start(self._tick())

    async def stop(self) -> None:
        """End all work, save the history of the model, and give back all leases."""
        self._tasks.cancel()
        await self.suggester.stop()
        await self.answers.stop()
        await self.background.stop()
        await self.results.stop()
        with contextlib.suppress(BempsError):  # leases lapse anyway, and the server must end
            await self._save_history()
            for queue in self.queues.values():
                await self.lending.release(queue)
        self.writer.close()

    # -- asking ------------------------------------------------------------------------------------------------------

    def queue_of(self, annotator: str) -> AnnotatorQueue:
        """Return the queue of an annotator; it is made at the first call."""
        return self.lending.queue_of(annotator)

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
            self._tasks.start(self.lending.refill(queue))
        return [offer.item for offer in offers]

    # -- answering ---------------------------------------------------------------------------------------------------

    async def answer(self, answer: NewAnswer) -> Event:
        """Record an answer; it is safely stored when this returns."""
        event = await self.writer.save(answer)
        if answer.kind != NOTE:
            await self.class_searches.count(answer)
            self.queue_of(answer.annotator).answered(answer.item)
            await self._note([event])
            self.learn()
        return event

    async def label_list(
        self, annotator: str, items: Sequence[str], label: str, request: str, class_id: int | None = None
    ) -> ListedAnswers:
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
        class_id : int, optional
            The number of the class, as in `NewAnswer`.

        Returns
        -------
        ListedAnswers
            The events, and how many items were left out and why.
        """
        write = partial(self.store.label_list, annotator, items, label, request=request, class_id=class_id)
        done = await self.writer.run(write)
        self.queue_of(annotator).drop(str(event.item) for event in done.events)
        await self._note(done.events)
        self.learn()
        return done

    async def step(self, annotator: str, which: str, request: str) -> Step | None:
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
        Step or None
            What was taken back or restored. None if nothing was left to undo or redo.
        """
        move = self.store.undo_action if which == "undo" else self.store.redo_action
        events = await self.writer.run(lambda: move(annotator, request=request))
        if not events:
            return None
        step = await self.read(lambda: step_of(self.store, events))
        await self._note(events)
        queue, item = self.queue_of(annotator), str(events[0].item)
        if len(events) > 1:  # their items stay where they are, in the list that they came from
            queue.drop(str(event.item) for event in events)
        elif which == "undo" and step.kind != ADJUDICATE:
            await self.lending.lend_again(queue, await self.item(item))
        elif step.kind != ADJUDICATE:
            queue.answered(item)
        self.learn()
        return step

    async def adjudicate(self, answer: NewAnswer, instead_of: int | None = None) -> Event:
        """Record the label that settles a disagreement, and let the model learn it."""
        event = await self.writer.run(lambda: decide(self.store, answer, instead_of))
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
        if any(event.kind == AUDIT for event in fresh):
            await self._read_audit()
        if any(event.kind in CLASS_EVENTS for event in fresh):
            before, self.class_view = self.class_view, await self.writer.run(lambda: class_view_with_keys(self.store))
            self.classes_version = max(event.seq for event in fresh)
            await self._configure_suggester()
            await self.class_searches.follow_classes(before.classes, self.class_view.visible)

    # -- settings ----------------------------------------------------------------------------------------------------

    async def change_settings(self, change: Callable[[ProjectSettings], Mapping[str, Any]], annotator: str) -> None:
        """Write settings, draw the audit items that they ask for, and act on them from now on.

        Parameters
        ----------
        change : callable
            From the settings that are stored to the new values, as `ProjectSettings.to_json` writes them. It refuses
            the change by an exception.
        annotator : str
            Who changes them.
        """

        def write() -> None:  # the one thread that writes: nothing that was written meanwhile is put back
            if changes := change(self.store.read_settings()):
                settings = ProjectSettings.from_json(self.store.settings | dict(changes))
                update_project(self.store, settings, None, annotator=annotator)

        await self.writer.run(write)
        await self._follow_settings()

    async def _follow_settings(self) -> None:
        """Act on settings that were changed, by this server or by another process."""
        async with self._following:
            token = await self.read(self.store.settings_token)  # before: what changes meanwhile is seen the next time
            if token == self._settings_token:
                return
            stored, before = await self.read(self.store.read_settings), self.settings
            self.settings = replace(stored, **{name: getattr(before, name) for name in OF_THE_START})
            self._unapplied |= {name for name in NAMES if getattr(before, name) != getattr(self.settings, name)}
            await self._configure_suggester()
            if self._unapplied - UNSHOWN:
                await self._apply_settings(self._unapplied)
            self._unapplied, self._settings_token = set(), token  # last: after a failure it is tried again

    async def _apply_settings(self, changed: Collection[str]) -> None:
        settings = self.settings
        self.schedule.audit_share = settings.audit_share
        self.schedule.set_overlap(settings.overlap_share, settings.answers_per_item)
        if not {"assign_by", "assigned_to"}.isdisjoint(changed):
            self.schedule.set_assignment(await self.read(self.store.assignment))
            for annotator in list(self.queues):
                await self.lending.release_waiting(annotator)
        await self._read_audit()
        self.settings_version += 1
        if not {"train_on_suggested", "audit_share"}.isdisjoint(changed):
            self.changes += 1
            self.learn()
        if "adapt" in changed and not settings.no_model:
            await self._save_history()  # the new process begins with it
            self.model_status.restart()
            await self.background.restart()

    async def _read_audit(self) -> None:
        audit = await self.read(self.store.audit)
        self.schedule.set_audit([item for item in self.schedule.ids if item in audit])

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
        await self._follow_settings()  # words to highlight name their classes

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
        if (self.changes != self._learnt or used_up) and self.background.learn(self.lending.ranking_size()):
            self._learnt = self.changes
            self.model_status.start_learning()

    def _heard(self, message: Message) -> None:
        self.model_status.receive(message)
        if isinstance(message, Ranking):
            origin: Origin = "model" if self.model_status.ready else "typical"
            self.schedule.rank(self.model_status.order, origin)
            self._tasks.start(self.class_searches.renew())
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
        await self.class_searches.start(annotator, label)

    async def stop_class_search(self, annotator: str) -> None:
        """Go back to the usual order."""
        await self.class_searches.stop(annotator)

    # -- time passes -------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._catch_up()
                await self._follow_settings()
            except BempsError as error:  # a database that is away, a disk that is full: the next tick tries again
                LOG.warning("%s", error)

    async def _catch_up(self) -> None:
        async with self._catching_up:
            if await self.read(self.store.change_token) > self.seen:
                events = await self.read(lambda: self.store.events(self.seen))
                await self._note(events)
                self.seen = max([self.seen, *(event.seq for event in events)])
                self._noted = {seq for seq in self._noted if seq > self.seen}
        self.learn(self.lending.is_used_up())
        for queue in list(self.queues.values()):
            await self.lending.renew_or_release(queue)
        if self.model_status.unsaved:
            await self._save_history()

    async def _save_history(self) -> None:
        if self.model_status.unsaved_since is not None:
            history = self.model_status.history_to_save()
            await self.writer.run(lambda: self.store.set("history", history))

    # -- small things ------------------------------------------------------------------------------------------------

    async def read(self, look: Callable[[], T]) -> T:
        """Read from the store in a thread, so that the event loop does not wait."""
        return await asyncio.to_thread(look)

    async def item(self, name: str) -> Item:
        """Return an item by its id."""
        return await self.read(lambda: self.store.item(name))

    @property
    def labels(self) -> int:
        """The number of items that have a label."""
        return len(self.schedule.labelled)
