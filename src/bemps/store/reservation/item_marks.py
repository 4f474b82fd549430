"""Marks of items, which stay: those of the audit slice, and those that several annotators answer."""

from collections.abc import Iterable

from bemps.store.events import AUDIT, OVERLAP
from bemps.store.log import Log
from bemps.store.stored_items import StoredItems
from bemps.store.transaction import LogTransaction


class ItemMarks:
    """Marks items.

    Parameters
    ----------
    log : Log
        The log of the project.
    items : StoredItems
        Its items.
    """

    def __init__(self, log: Log, items: StoredItems) -> None:
        self._log, self._items = log, items

    def mark_audit(self, ids: Iterable[str], annotator: str = "bemps") -> int:
        """Add items to the audit slice for good, and return how many were new."""
        return self._mark(AUDIT, ids, annotator)

    def mark_overlap(self, ids: Iterable[str], annotator: str = "bemps", *, durable: bool = True) -> int:
        """Ask several annotators about these items from now on, and return how many were new.

        Parameters
        ----------
        ids : iterable of str
            The items.
        annotator : str
            Who says so.
        durable : bool
            The marks are on the disk when this returns. Otherwise the next answer brings them there.

        Returns
        -------
        int
            How many were new.
        """
        return self._mark(OVERLAP, ids, annotator, durable)

    def _mark(self, kind: str, ids: Iterable[str], annotator: str, durable: bool = True) -> int:
        originals = [self._items.original_of(id) for id in dict.fromkeys(ids)]

        def mark(transaction: LogTransaction) -> int:
            marked = transaction.state.audit if kind == AUDIT else transaction.state.overlap
            return len([transaction.add_event(annotator, kind, item=id) for id in originals if id not in marked])

        return self._log.run_transaction(mark, durable)
