"""How the requests to an address go: how many items are sent next, how long to wait, when to stop."""

from collections import Counter
from collections.abc import Collection

from bemps.server.suggestions.chat_client import ChatError, UnclearReply
from bemps.server.suggestions.suggestion_sources import ITEMS_PER_REQUEST

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds
LONGEST_WAIT = 3_600.0  # seconds that a server may ask for
MOST_UNCLEAR = 5  # replies in a row; then a person decides
MOST_TRIES = 3  # for an item whose answers are not clear
FEWER = 3  # times fewer items after a request that was too large


class RequestAttempts:
    """What came of the requests since somebody last said to try.

    Attributes
    ----------
    problem, advice : str
        Why the last request brought nothing, and what to do, in words; empty if it brought something.
    stopped : bool
        Whether nothing is asked until a person says so.
    wait : float
        The seconds before the next request.
    size : int
        The number of items of the next request. It falls fast when requests are too large, and grows slowly.
    unclear : int
        How many replies could not be understood.
    tries : Counter of str
        How often an item was sent whose answer was not clear.
    """

    def __init__(self) -> None:
        self.pause = FIRST_PAUSE  # after the first failure; it doubles with each
        self.reset()

    def reset(self) -> None:
        """Forget every failure."""
        self.problem, self.advice, self.stopped, self.wait = "", "", False, 0.0
        self.size, self.unclear, self._failures, self._unclear_in_a_row = ITEMS_PER_REQUEST, 0, 0, 0
        self.tries: Counter[str] = Counter()

    def fail(self, error: ChatError) -> None:
        """Take in a request that brought nothing."""
        self.problem, self.advice = error.words, error.advice
        self._failures += 1
        passes = error.passes or (error.is_too_large and self.size > 1)
        if error.is_too_large:
            self.size = max(1, self.size // FEWER)
        if isinstance(error, UnclearReply):
            self.unclear += 1
            self._unclear_in_a_row += 1
        self.stopped = not passes or self._unclear_in_a_row >= MOST_UNCLEAR
        pause = self.pause * 2 ** min(self._failures - 1, 10)
        self.wait = max(min(pause, LONGEST_PAUSE), min(error.wait, LONGEST_WAIT))

    def take_answers(self, sent: Collection[str], answered: Collection[str]) -> None:
        """Take in what a reply says: of some of the items that were sent it may not be clear."""
        self.tries.update(set(sent) - set(answered))
        for item in answered:
            self.tries.pop(item, None)
        if answered:
            self.problem, self.advice, self.stopped, self.wait = "", "", False, 0.0
            self.size, self._failures, self._unclear_in_a_row = min(ITEMS_PER_REQUEST, self.size + 1), 0, 0

    @property
    def set_aside(self) -> int:
        """How many items are asked again only when somebody says so."""
        return sum(map(self.is_set_aside, self.tries))

    def is_set_aside(self, item: str) -> bool:
        """Return whether an item was sent often enough."""
        return self.tries[item] >= MOST_TRIES
