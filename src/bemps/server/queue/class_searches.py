"""The searches for more of a class that run now: they begin, follow the model and the classes, and end."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from bemps.server.queue.class_search import ClassSearch, first_members
from bemps.server.queue.leasing import Lending
from bemps.server.queue.schedule import Schedule
from bemps.store import Class, NewAnswer


class ClassSearches:
    """The searches of all annotators. They are in the schedule, which asks their items.

    Parameters
    ----------
    schedule : Schedule
        The order of the items.
    lending : Lending
        The queues of the annotators.
    members : callable
        From the name of a class to what the model takes for members of it; None if the model has no time.
    """

    def __init__(
        self, schedule: Schedule, lending: Lending, members: Callable[[str], Awaitable[dict[str, Any] | None]]
    ) -> None:
        self._lending, self._members = lending, members
        self._running = schedule.class_searches

    async def start(self, annotator: str, label: str) -> None:
        """Ask an annotator probable members of a class for a while; refuse it where the model names none."""
        search = ClassSearch(label)
        search.renew(first_members(label, await self._members(label)))
        self._running[annotator] = search
        await self._lending.release_waiting(annotator)

    async def stop(self, annotator: str) -> None:
        """Go back to the usual order."""
        if self._running.pop(annotator, None) is not None:
            await self._lending.release_waiting(annotator)

    async def count(self, answer: NewAnswer) -> None:
        """End the search of an annotator after its last item."""
        search = self._running.get(answer.annotator)
        offer = self._lending.queue_of(answer.annotator).in_browser.get(answer.item)
        if search is not None and offer is not None and offer.candidate.origin == "likely" and not search.count():
            await self.stop(answer.annotator)

    async def follow_classes(self, before: Iterable[Class], offered: Iterable[Class]) -> None:
        """Searches go by the new name of their class; where it is not offered any more, they end."""
        numbers = {known.name: known.id for known in before}
        names = {known.id: known.name for known in offered}
        for annotator, search in list(self._running.items()):
            number = numbers.get(search.label)
            if number in names:
                search.label = names[number]
            else:
                await self.stop(annotator)

    async def renew(self) -> None:
        """Give the new order to everybody; what the model has learnt also changes which items are probable."""
        await self._lending.refresh()
        queues = self._lending.queues
        for label in {search.label for annotator, search in self._running.items() if annotator in queues}:
            answer = await self._members(label)
            for search in list(self._running.values()):
                if search.label == label and answer and answer.get("items"):
                    search.renew(answer)
        if self._running:
            await self._lending.refresh()
