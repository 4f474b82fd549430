"""Items that several people answer: which of them still need somebody, and whom.

They are kept by the set of people who have answered. Looking for what one person can answer then costs the same
however many items that person has answered already.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping

from bemps.store.events import ADJUDICATE

Kinds = Mapping[str, str]  # annotator -> label, skip, unsure or adjudicate


class OverlapItems:
    """The items that several people answer.

    Parameters
    ----------
    answers : int
        How many people answer each of them.
    """

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self._marked: dict[str, None] = {}
        self._people: dict[str, frozenset[str]] = {}  # of the items that wait for somebody else
        self._waiting: dict[frozenset[str], dict[str, int]] = {}  # with the number of the change that put it there
        self._changes = 0

    def __contains__(self, item: object) -> bool:
        return item in self._marked

    def add(self, items: Iterable[str], answered: Mapping[str, Kinds]) -> None:
        """Mark items. `answered` has the answers so far, by item."""
        for item in items:
            self._marked[item] = None
            self.update(item, answered.get(item, {}))

    def set_answers(self, answers: int, answered: Mapping[str, Kinds]) -> None:
        """Change how many people answer each item. `answered` has the answers so far, by item."""
        self.answers = answers
        for item in self._marked:
            self.update(item, answered.get(item, {}))

    def update(self, item: str, kinds: Kinds) -> None:
        """Note the present answers of an item. Other items are left alone."""
        if item not in self._marked:
            return
        if (before := self._people.pop(item, None)) is not None:
            del self._waiting[before][item]
            if not self._waiting[before]:
                del self._waiting[before]
        if kinds and self.needs_somebody(kinds):
            self._people[item] = people = frozenset(kinds)
            self._changes += 1
            self._waiting.setdefault(people, {})[item] = self._changes

    @property
    def waiting(self) -> int:
        """The number of items that somebody has answered and that need a further person."""
        return len(self._people)

    def needs_somebody(self, kinds: Kinds, holders: int = 0) -> bool:
        """Whether a marked item with these answers, in the hands of so many people, needs a further one."""
        return len(kinds) + holders < self.answers and ADJUDICATE not in kinds.values()

    def waiting_for(self, annotator: str) -> Iterator[str]:
        """Items that others have answered and this person has not, the one that has waited longest first."""
        groups = [
            ((number, item) for item, number in items.items())
            for people, items in self._waiting.items()
            if annotator not in people
        ]
        return (item for _, item in heapq.merge(*groups))
