"""Names that somebody uses here already: a second person of the same name is told before their labels mix."""

import time
from dataclasses import dataclass
from itertools import chain

from bemps.server.queue.leasing import ABSENT, Lending


@dataclass(frozen=True)
class KnownPerson:
    """Somebody who has labelled here, or does so now.

    Attributes
    ----------
    name : str
        The name as it stands beside their labels.
    is_present : bool
        Whether a browser of theirs was here in the last minutes.
    answers : int
        How many items they have answered.
    """

    name: str
    is_present: bool
    answers: int

    @property
    def words(self) -> str:
        """What is known of them, and why it matters."""
        earlier = f"has answered {self.answers:,} item{'s' if self.answers > 1 else ''} here"
        does = "labels here right now" if self.is_present else earlier if self.answers else "has items in hand here"
        return f"{self.name} {does}. Is that you? Labels of two people with one name are not told apart."


def known_person(lending: Lending, name: str) -> KnownPerson | None:
    """Return who has a name here already, upper and lower case alike; None if nobody has."""
    store, present = lending.store, _present(lending)
    people = {*present, *store.annotators(), *chain.from_iterable(store.leases().values())}  # leases of any server
    alike = sorted((who for who in people if who.casefold() == name.casefold()), key=lambda who: who != name)
    return KnownPerson(alike[0], alike[0] in present, len(store.current(alike[0]))) if alike else None


def _present(lending: Lending) -> set[str]:
    now = time.monotonic()
    return {who for who, queue in list(lending.queues.items()) if now - queue.seen_at < ABSENT}
