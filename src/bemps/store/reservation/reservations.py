"""The items that people have reserved, and those that are for them: who gets what."""

from collections.abc import Collection, Sequence

from bemps.store import validation
from bemps.store.log import Log
from bemps.store.project_settings import ProjectSettings
from bemps.store.reservation import leases
from bemps.store.reservation.assignment import Assignment, assignment_of
from bemps.store.sql.database import Database
from bemps.store.stored_items import StoredItems
from bemps.store.stored_settings import StoredSettings, read_settings
from bemps.store.transaction import LogTransaction

OF_LEASES = ("answers_per_item", "assign_by", "assigned_to")  # the settings that decide who may answer what


class Reservations:
    """Leases of items, and the shares of people.

    Parameters
    ----------
    database : Database
        The database of the project.
    log : Log
        Its log.
    items : StoredItems
        Its items.
    settings : StoredSettings
        Its settings.
    """

    def __init__(self, database: Database, log: Log, items: StoredItems, settings: StoredSettings) -> None:
        self._database, self._log, self._items, self._settings = database, log, items, settings
        self._assignment: tuple[object, Assignment | None] = (None, None)

    def lease(self, annotator: str, items: Sequence[str], n: int, ttl: float) -> list[str]:
        """Reserve items for an annotator.

        Parameters
        ----------
        annotator : str
            Who will answer.
        items : sequence of str
            Ids, the best first.
        n : int
            How many to reserve at most.
        ttl : float
            Seconds until the reservation ends.

        Returns
        -------
        list of str
            The first n items that the annotator may answer.

        Notes
        -----
        An annotator may answer an item that they have not answered, while nobody else has labelled or leased it. An
        item that is marked for overlap may have other annotators: the setting `answers_per_item` says how many in
        all. Skips and "unsure" of others do not count. Items of another's share (`assign_by`) are left out, but for
        those of the overlap whose share has fewer people than that. Leases that the annotator has on these items
        are renewed; their other leases stay.
        """
        validation.name(annotator, "annotator")
        leases.check_lease(n, ttl)
        originals = [self._items.original_of(item) for item in dict.fromkeys(items)]

        def choose(transaction: LogTransaction) -> list[str]:
            settings = read_settings(transaction.connection, OF_LEASES)
            return leases.lease(
                transaction.leases,
                transaction.state,
                annotator,
                originals,
                n=n,
                ttl=ttl,
                now=transaction.now,
                shares=self._assignment_by(settings),
                answers=settings.answers_per_item,
            )

        return self._log.run_transaction(choose, durable=False)

    def release(self, annotator: str, items: Collection[str] | None = None) -> None:
        """End leases of an annotator: those on these items, or all."""
        validation.name(annotator, "annotator")
        self._log.run_transaction(lambda transaction: transaction.leases.give_back_all(annotator, items), durable=False)

    def leases(self) -> dict[str, frozenset[str]]:
        """Return the annotators who have a lease now, by item."""
        with self._database.reading() as connection:
            return leases.Leases(connection).live(self._database.now(connection))

    def assignment(self) -> Assignment | None:
        """Return which items are for whom, by a column of the file (`assign_by`); None if all are for everybody."""
        self._items.ids()  # those of other processes too
        return self._assignment_by(self._settings.read())

    def _assignment_by(self, settings: ProjectSettings) -> Assignment | None:
        """The shares of the items. They are made again when the settings or the items have changed."""
        if not settings.assign_by:
            return None
        key = settings.assign_by, settings.assigned_to, self._items.known
        if self._assignment[0] != key:
            self._assignment = key, assignment_of(self._items.items(), settings.assign_by, settings.assigned_to)
        return self._assignment[1]
