"""Suggested labels while people label: known for an item, or asked for in the background, never waited for."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from bemps.errors import BempsError
from bemps.project.suggestions.chat_prompt import Prompt, parse_labels, prompt_of
from bemps.project.suggestions.suggester_names import column_of
from bemps.project.suggestions.suggestion_accuracy import opinion_of
from bemps.project.suggestions.suggestion_values import class_named_by, offered_classes, unknown_values, unknown_words
from bemps.server.http.templating import short
from bemps.server.model.model_status import ModelStatus
from bemps.server.queue.answer_writer import AnswerWriter
from bemps.server.queue.leasing import Lending
from bemps.server.queue.schedule import Schedule
from bemps.server.suggestions.chat_client import ChatConnection, ChatError, UnclearReply
from bemps.server.suggestions.request_attempts import RequestAttempts
from bemps.server.suggestions.suggestion_sources import ITEMS_PER_REQUEST, key_for
from bemps.store import Class, Item, Store
from bemps.store.project_settings import BY_MODEL, ProjectSettings

Result = TypeVar("Result")
LOG = logging.getLogger("bemps.server")
LONGEST_WAIT_FOR_REPLY = 120.0  # seconds
TICK = 0.25  # seconds between looks at who needs a suggestion
SOON = 5  # items of a browser that should have a suggestion
AHEAD = 20  # items of the model's order that are asked ahead of their turn
SHOWN_WORDS = 80  # characters of a reply that cannot be understood


class Suggester:
    """What suggests labels in one project, on one event loop.

    Parameters
    ----------
    store : Store
        The database of the project.
    schedule : Schedule
        The order in which items are asked. It knows the audit items, which never show a suggestion.
    lending : Lending
        The items that people have.
    model_status : ModelStatus
        What the model thinks.
    writer : AnswerWriter
        Writes to the store.
    """

    def __init__(
        self, store: Store, schedule: Schedule, lending: Lending, model_status: ModelStatus, writer: AnswerWriter
    ) -> None:
        self.store, self.schedule, self.lending, self.model_status, self.writer = (
            store, schedule, lending, model_status, writer,
        )  # fmt: skip
        self.settings = ProjectSettings()  # until `configure`
        self.names: tuple[str, ...] = ()
        self.allowed = ""  # the address that may be asked, as a person said so since this server started
        self.from_command = False
        self.prompt: Prompt | None = None
        self.cache: dict[str, str | None] = {}  # what the address answered, by item
        self.attempts = RequestAttempts()
        self.seconds = LONGEST_WAIT_FOR_REPLY
        self._temperature = True
        self.requests_made = 0
        self._column_words: tuple[object, str] = (None, "")
        self._task: asyncio.Task[None] | None = None

    # -- settings ----------------------------------------------------------------------------------------------------

    def allow(self, address: str, from_command: bool = False) -> None:
        """Let an address be asked: a person has read what is sent there.

        Parameters
        ----------
        address : str
            The address, as in the settings.
        from_command : bool
            Whether the command line named it, so that it may have the key of the environment.
        """
        self.from_command = from_command or (self.from_command and address == self.allowed)
        self.allowed = address
        self.try_again()

    def try_again(self) -> None:
        """Forget the failures: what was set aside is asked again too."""
        self.attempts.reset()

    def configure(self, settings: ProjectSettings, classes: Sequence[Class]) -> None:
        """Follow the settings and the classes of the project. What was answered to the same prompt counts again."""
        self.settings, self.names = settings, tuple(offered_classes(classes))
        self.requests_made = max(self.requests_made, settings.suggest_requests_made)
        prompt = prompt_of(settings, classes)
        if prompt != self.prompt:
            self.cache = {} if prompt is None else self.store.suggestions(prompt.version)
            self.prompt = prompt
            self._temperature = True
            self.try_again()

    @property
    def is_on(self) -> bool:
        """Whether items may come with a suggestion."""
        return bool(self.settings.suggest)

    @property
    def waits_for_consent(self) -> bool:
        """Whether the project names an address that nobody has allowed since this server started."""
        return self.prompt is not None and self.allowed != self.prompt.address

    @property
    def requests_left(self) -> int:
        """How many requests may still be sent."""
        return max(0, self.settings.suggest_requests - self.requests_made)

    # -- asking ------------------------------------------------------------------------------------------------------

    def suggestion(self, item: Item) -> str | None:
        """Return the class to show beside an item; None if there is none yet, and always for audit items."""
        return None if item.id in self.schedule.reserved else self.opinion(item)

    def opinion(self, item: Item) -> str | None:
        """Return the class that is suggested for an item, whether it may be shown or not."""
        if self.settings.suggest == BY_MODEL:
            return self._guess(item.id)
        return opinion_of(item, self.settings, self.names, self.cache)

    def _guess(self, item: str) -> str | None:
        offer = self.lending.offer(item)
        about = self.model_status.about.get(item) or (offer.about if offer else {})
        return self.best_guess(about.get("guess"))

    def best_guess(self, guess: object) -> str | None:
        """Return the class of highest probability of what the model says of an item; None if it says nothing."""
        return class_named_by(guess[0][0], self.names) if isinstance(guess, list) and guess else None

    def column_words(self) -> str:
        """Return a warning about values of the column that suggest nothing. The items are looked through once."""
        column, names = column_of(self.settings.suggest), self.names
        if column is None:
            return ""
        if self._column_words[0] != (column, names):
            words = unknown_words(*unknown_values(self.store, self.settings.suggest), column)
            self._column_words = (column, names), words
        return self._column_words[1]

    # -- the address -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to ask the address ahead of the people, as soon as there is one."""
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End the asking. A request that is on its way is not waited for."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def problem(self) -> str:
        """Why there are no new suggestions from the address, in words; empty if there are."""
        if self.prompt is not None and not self.requests_left:
            return f"the limit of {self.settings.suggest_requests:,} requests is reached"
        return self.attempts.problem

    @property
    def advice(self) -> str:
        """What to do about the problem, as a sentence."""
        return self.attempts.advice if self.requests_left else "Settings raises it."

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                while self._may_ask() and (items := await self._items_to_ask()):
                    await self._ask(items)
            except ChatError as error:
                self.attempts.fail(error)
                await self._wait()
            except BempsError as error:  # a database that is away: the next turn tries again
                self.attempts.problem = str(error)
            except Exception:  # a defect here must not end suggestions without a word
                LOG.exception("suggestions")
                self.attempts.problem, self.attempts.stopped = "an error in bemps, which the terminal shows", True

    async def _wait(self) -> None:
        """Wait before the next request, or until somebody says to try again."""
        started = time.monotonic()
        while not self.attempts.stopped and time.monotonic() - started < self.attempts.wait:
            await asyncio.sleep(min(TICK, self.attempts.wait))

    def _may_ask(self) -> bool:
        if self.prompt is None or self.waits_for_consent or self.attempts.stopped or not self.names:
            return False
        return self.requests_left > 0

    async def _items_to_ask(self) -> list[Item]:
        """The items of the next request: those that people get soon, then audit items that were answered."""
        names = self._names_to_ask()[: self.attempts.size]
        return await asyncio.to_thread(lambda: list(self.store.items(names))) if names else []

    def _names_to_ask(self) -> list[str]:
        queues = list(self.lending.queues.values())
        handed = [list(queue.in_browser) for queue in queues]
        soon = self._unasked(name for names in handed for name in names[:SOON])
        later = self._unasked(
            [
                *(name for names in handed for name in names[SOON:]),
                *(offer.item.id for queue in queues for offer in queue.ready),
                *(self.schedule.ranking[:AHEAD] if queues else ()),
            ]
        )
        later = [name for name in later if name not in self.schedule.answered and name not in soon]
        measured = self._unasked(name for name in self.schedule.audit if name in self.schedule.labelled)
        if not soon and len(later) < ITEMS_PER_REQUEST:  # a request for one item costs as much as for ten
            later = []
        return list(dict.fromkeys([*soon, *later, *measured]))

    def _unasked(self, names: Iterable[str]) -> list[str]:
        aside = self.attempts.is_set_aside
        return [name for name in dict.fromkeys(names) if name not in self.cache and not aside(name)]

    async def _ask(self, items: Sequence[Item]) -> None:
        prompt = self.prompt
        assert prompt is not None
        body = prompt.body([item.content for item in items], temperature=self._temperature)
        try:
            reply = await self._reply(prompt.address, body)
        except ChatError as error:
            if prompt != self.prompt:
                return  # nobody asks this any more
            if self._temperature and not error.passes and "temperature" in error.words:
                self._temperature = False  # some models take no such wish
                return
            raise
        labels = parse_labels(reply, len(items), prompt.classes)
        answers = {items[n].id: label for n, label in labels.items()}
        await self.writer.run(lambda: self.store.add_suggestions(prompt.version, answers))
        if prompt != self.prompt:
            return
        self.cache = self.cache | answers  # never changed in place: panels read it in other threads
        self.attempts.take_answers([item.id for item in items], answers)
        if not answers:
            raise UnclearReply(f"its answer is not what was asked for: “{_beginning(reply)}”")

    async def _reply(self, address: str, body: dict[str, Any]) -> str:
        """The words of the server. What never reached it does not count as a request."""
        key = key_for(address, self.from_command)
        connection = ChatConnection(address, self.seconds)
        try:
            await in_own_thread(connection.open)
            self.requests_made += 1
            await self.writer.run(lambda count=self.requests_made: self.store.set("suggest_requests_made", count))  # type: ignore[misc]
            return await in_own_thread(lambda: connection.ask(body, key))
        finally:
            connection.close()


def _beginning(reply: str) -> str:
    """The beginning of a reply, on one line and without signs that cannot be seen."""
    return short("".join(sign if sign.isprintable() else " " for sign in reply), SHOWN_WORDS)


async def in_own_thread(work: Callable[[], Result]) -> Result:
    """Run a function in a thread that nothing waits for when the server ends."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Result] = loop.create_future()

    def finish(result: Result | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 -- handed to who waits
            error = raised
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, name="bemps-suggestions", daemon=True).start()
    return await outcome
