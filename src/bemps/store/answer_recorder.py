"""The answers of people on their way into the log."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from bemps.store import answer_events, validation
from bemps.store.events import ADJUDICATE, Event, ItemList, ListedAnswers, NewAnswer
from bemps.store.log import Log
from bemps.store.stored_items import StoredItems


class AnswerRecorder:
    """Records answers, and takes them back. Each call is one durable step.

    A `request` is an id that the sender makes. Sent again, it records nothing more and returns the same events.

    Parameters
    ----------
    log : Log
        The log of the project.
    items : StoredItems
        Its items.
    leases : callable
        Returns the annotators who have a lease now, by item.
    """

    def __init__(self, log: Log, items: StoredItems, leases: Callable[[], Mapping[str, Collection[str]]]) -> None:
        self._log, self._items, self._leases = log, items, leases

    def answer(
        self,
        annotator: str,
        item: str,
        kind: str,
        label: str | None = None,
        note: str | None = None,
        *,
        request: str | None = None,
        time: datetime | None = None,
    ) -> Event:
        """Record an answer. It is durable when the call returns.

        Parameters
        ----------
        annotator : str
            Who answers.
        item : str
            The id of the item.
        kind : str
            `label`, `skip`, `unsure`, `note`; `clear` takes the annotator's own answer and note back; `later` leaves
            an item without an answer, to be asked again.
        label : str, optional
            The name of the class, for a label. A hidden class is refused, unless an answer to the item has it.
        note : str, optional
            None leaves the note as it is, "" removes it.
        request : str, optional
            The id of the request.
        time : datetime, optional
            The time of the answer, if not now.

        Returns
        -------
        Event
            The event in the log.
        """
        return self.record([NewAnswer(annotator, item, kind, label, note, request, time)])[0]

    def adjudicate(self, item: str, label: str, annotator: str, *, request: str | None = None) -> Event:
        """Decide the label of an item, whatever annotators answered. Who decided can undo it.

        Parameters
        ----------
        item : str
            The id of the item.
        label : str
            The class that holds.
        annotator : str
            Who decides.
        request : str, optional
            A word of the caller. The same word again decides nothing anew.

        Returns
        -------
        Event
            The decision in the log.
        """
        return self.record([NewAnswer(annotator, item, ADJUDICATE, label, request=request)])[0]

    def record(self, answers: Sequence[NewAnswer]) -> list[Event]:
        """Record many answers in one durable step, all or none. Adjudications may be among them."""
        originals = answer_events.checked_answers(answers, self._items.original_of)
        return self._log.run_transaction(lambda transaction: answer_events.record(transaction, originals))

    def label_list(
        self, annotator: str, items: Sequence[str], label: str, *, request: str, class_id: int | None = None
    ) -> ListedAnswers:
        """Give one label to many items at once, in one durable step. One undo takes all of it back.

        Parameters
        ----------
        annotator : str
            Who labels.
        items : sequence of str
            The ids of the items, at most 500. Those that are not free are left out; see `item_list`.
        label : str
            The name of the class.
        request : str
            The id of the request.
        class_id : int, optional
            The number of the class, as in `NewAnswer`.

        Returns
        -------
        ListedAnswers
            One event for each item, with `method` "listed", and how many items were left out and why.
        """
        validation.name(annotator, "annotator")
        validation.identifier(request, "request")
        answer_events.check_list(items)
        originals = [self._items.original_of(item) for item in items]
        return self._log.run_transaction(
            lambda transaction: answer_events.label_list(
                transaction, annotator, originals, label=label, action=request, class_id=class_id
            )
        )

    def item_list(self, annotator: str, items: Iterable[str]) -> ItemList:
        """Sort out the items that an annotator may label at once.

        Parameters
        ----------
        annotator : str
            Who would label.
        items : iterable of str
            The ids of the items.

        Returns
        -------
        ItemList
            The items, without audit items and what others have answered or have in hand; and how many were left out.
        """
        originals = [self._items.original_of(item) for item in items]
        holders = self._leases()
        with self._log.state() as state:
            return answer_events.item_list(state, lambda item: holders.get(item, ()), annotator, originals, None)

    def undo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Take back the annotator's last answer; repeated calls go further back.

        Answers of one action are taken back together; see `undo_action`.

        Returns
        -------
        Event or None
            The first event in the log; None where there is nothing left to undo.
        """
        return next(iter(self.undo_action(annotator, request=request)), None)

    def redo(self, annotator: str, *, request: str | None = None) -> Event | None:
        """Restore the answer that the annotator took back last.

        Answers of one action are restored together; see `redo_action`.

        Returns
        -------
        Event or None
            The first event in the log; None where nothing was taken back, or the annotator has answered since.
        """
        return next(iter(self.redo_action(annotator, request=request)), None)

    def undo_action(self, annotator: str, *, request: str | None = None) -> list[Event]:
        """Take back the annotator's last answer, or all answers of their last action.

        Returns
        -------
        list of Event
            One event for each answer, the last answer first. Empty where there is nothing left to undo.
        """
        validation.name(annotator, "annotator")
        return self._log.run_transaction(lambda transaction: answer_events.undo(transaction, annotator, request))

    def redo_action(self, annotator: str, *, request: str | None = None) -> list[Event]:
        """Restore the answer that the annotator took back last, or all answers of an action.

        Returns
        -------
        list of Event
            One event for each answer, in the order in which they were given. Empty where nothing was taken back, or
            the annotator has answered since.
        """
        validation.name(annotator, "annotator")
        return self._log.run_transaction(lambda transaction: answer_events.redo(transaction, annotator, request))
