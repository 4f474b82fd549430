"""All items in their random order, as each person gets them: everything, or the items of their share."""

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from bemps.store.reservation.assignment import EVERYBODY, Assignment


class ItemShares:
    """The items of each share, in the random order of the project.

    Parameters
    ----------
    ids : sequence of str
        All items, in that order.
    assignment : Assignment or None
        Who gets which. None gives everything to everybody.

    Attributes
    ----------
    sizes : dict of str to int
        The number of items of each share.
    """

    def __init__(self, ids: Sequence[str], assignment: Assignment | None) -> None:
        self.assignment = assignment
        self._items: dict[str, list[tuple[int, str]]] = {EVERYBODY: []}
        self._positions: dict[str, int] = {}  # in the list of its share
        for number, item in enumerate(ids):
            own = self._items.setdefault(self.share_of(item), [])
            self._positions[item] = len(own)
            own.append((number, item))
        self._starts = dict.fromkeys(self._items, 0)
        self.sizes = {share: len(items) for share, items in self._items.items()}

    def share_of(self, item: str) -> str:
        """Return the share of an item."""
        return EVERYBODY if self.assignment is None else self.assignment.share_of(item)

    def shares_for(self, annotator: str) -> Collection[str]:
        """Return the shares of a person that have items."""
        if self.assignment is None:
            return (EVERYBODY,)
        return sorted(self.assignment.shares_for(annotator) & self._items.keys())

    def allows(self, item: str, annotator: str, others: Collection[str] = (), answers: int = 1) -> bool:
        """Whether a person may be asked about an item that these others have answered (`Assignment.allows`)."""
        return self.assignment is None or self.assignment.allows(item, annotator, others, answers)

    def step_back(self, item: str) -> None:
        """Note that an item may be asked again."""
        if item in self._positions:
            share = self.share_of(item)
            self._starts[share] = min(self._starts[share], self._positions[item])

    def items_for(self, annotator: str, is_over: Callable[[str], bool]) -> Iterator[str]:
        """Return the items of a person, from the first on that is not over; some of those after it may be over.

        What is over at the start of a share is not looked at again, until `step_back` names it.
        """
        rest = [self._rest(share, is_over) for share in self.shares_for(annotator)]
        return (item for _, item in (heapq.merge(*rest) if len(rest) > 1 else rest[0]))

    def _rest(self, share: str, is_over: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
        items, start = self._items[share], self._starts[share]
        while start < len(items) and is_over(items[start][1]):
            start += 1
        self._starts[share] = start
        return islice(items, start, None)
