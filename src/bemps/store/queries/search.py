"""Search of items by text, class, annotator and state."""

from collections.abc import Callable, Iterable, Sequence

from bemps.errors import InputError, unknown_name
from bemps.store import validation
from bemps.store.events import ADJUDICATE, LABEL, NOTE, SKIP, UNSURE, Answer, Page, Row
from bemps.store.log import Log
from bemps.store.queries.state_queries import disputed
from bemps.store.state import State
from bemps.store.stored_items import StoredItems
from bemps.store.stored_settings import StoredSettings

BY_ANSWER: dict[str, Callable[[Answer], bool]] = {
    "answered": lambda answer: answer.kind != NOTE,
    "labelled": lambda answer: answer.kind in (LABEL, ADJUDICATE),
    "skipped": lambda answer: answer.kind == SKIP,
    "unsure": lambda answer: answer.kind == UNSURE,
    "noted": lambda answer: answer.note is not None,
}
BY_STATE: dict[str, Callable[[State], Iterable[str]]] = {
    "audit": lambda state: state.audit,
    "overlap": lambda state: state.overlap,
    "disagreement": disputed,
}
STATES = (*BY_ANSWER, *BY_STATE, "unanswered")
ORDERS = ("position", "latest")


class ItemSearch:
    """Searches the items of a project.

    Parameters
    ----------
    log : Log
        The log of the project.
    items : StoredItems
        Its items.
    settings : StoredSettings
        Its settings, which name the columns that are shown.
    """

    def __init__(self, log: Log, items: StoredItems, settings: StoredSettings) -> None:
        self._log, self._items, self._settings = log, items, settings

    def search(
        self,
        text: str = "",
        *,
        columns: Sequence[str] | None = None,
        label: str | None = None,
        annotator: str | None = None,
        state: str | None = None,
        order: str = "position",
        limit: int = 50,
        offset: int = 0,
    ) -> Page:
        """Search for items.

        Parameters
        ----------
        text : str
            Part of the content or of a column, upper and lower case alike, or an id. Empty matches every item.
        columns : sequence of str, optional
            The columns of the file to look in beside the content. None: those that the project shows.
        label : str, optional
            Only items whose answer is this class.
        annotator : str, optional
            Look at the answers of this annotator instead of the resolved ones.
        state : str, optional
            One of answered, labelled, skipped, unsure, noted, unanswered, audit, overlap, disagreement.
        order : str
            `position`, or `latest`: the last answered item first.
        limit, offset : int
            How many items to return, and how many to pass over.

        Returns
        -------
        Page
            Items with their answers, and the number of all matches.
        """
        columns = self._searched(text, columns)
        validation.text(text, "search")
        _check(state, order, limit, offset)
        answers = self._log.resolved_answers() if annotator is None else self._log.own_answers(annotator)
        matching = self._matching_ids(answers, label, annotator, state)
        ids = self._ids(text, columns, matching)
        if state == "unanswered":
            ids = [id for id in ids if id not in answers or answers[id].kind == NOTE]
        if order == "latest":
            ids = sorted(ids, key=lambda id: -answers[id].seq if id in answers else 0)
        rows = tuple(Row(item, answers.get(item.id)) for item in self._items.at(ids[offset : offset + limit]))
        return Page(rows, len(ids))

    def _searched(self, text: str, columns: Sequence[str] | None) -> Sequence[str]:
        return self._settings.read().shown_columns if text and columns is None else columns or ()

    def _ids(self, text: str, columns: Sequence[str], matching: set[str] | None) -> Sequence[str]:
        """The ids with a text that are among the matching ones (None: all), in the order of the items."""
        if text:
            ids = self._items.containing(text, columns)
            return ids if matching is None else [id for id in ids if id in matching]
        return self._items.ids() if matching is None else self._items.in_order(matching)

    def _matching_ids(
        self, answers: dict[str, Answer], label: str | None, annotator: str | None, state: str | None
    ) -> set[str] | None:
        """The ids that the filters leave; None: all of them."""
        sets: list[set[str]] = []
        if label is not None:
            sets.append({id for id, answer in answers.items() if answer.label == label})
        if state in BY_ANSWER:
            sets.append({id for id, answer in answers.items() if BY_ANSWER[state](answer)})
        elif state in BY_STATE:
            with self._log.state() as now:
                sets.append(set(BY_STATE[state](now)))
        elif annotator is not None and state is None:
            sets.append(set(answers))
        return set.intersection(*sets) if sets else None


def _check(state: str | None, order: str, limit: int, offset: int) -> None:
    if state is not None:
        validation.one_of(state, STATES, "state")
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if limit < 1 or offset < 0:
        got = f"limit {limit}, offset {offset}"
        raise InputError("page", expected="a limit of 1 or more, an offset of 0 or more", got=got, fix="Correct it.")
