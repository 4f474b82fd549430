"""The pool of a learner: ids of the items, labels, skipped items and classes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from bemps.errors import InputError, unknown_id, unknown_name
from bemps.types import Array


@dataclass(eq=False)
class LabelledPool:
    """Items by id, with their labels.

    Attributes
    ----------
    ids : tuple of str
        The ids of the items.
    classes : list of str
        The names of the classes, in order.
    closed : bool
        Whether labels of other classes are refused until `add_class`. Otherwise a new label adds a class.
    labels : dict of str to str
        The labels by id.
    skipped : set of str
        Items that are not asked again.
    excluded : frozenset of str
        Items that are not asked for now.
    version : int
        The number of changes to labels, skipped items and classes.
    """

    ids: tuple[str, ...]
    classes: list[str] = field(default_factory=list)
    closed: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    excluded: frozenset[str] = frozenset()
    version: int = 0

    def __post_init__(self) -> None:
        self._rows = {name: row for row, name in enumerate(self.ids)}
        if len(self._rows) != len(self.ids):
            raise InputError(
                "ids",
                expected="a different id for every item",
                got=f"{len(self.ids)} items with {len(self._rows)} ids",
                fix="Use the ids of bemps.data.table or bemps.data.read.",
            )

    def tell(self, labels: Mapping[str, str]) -> int:
        """Add labels, all or none, and return how many were new or different."""
        for name, label in labels.items():
            self._known(name)
            if self.closed and label not in self.classes:
                raise unknown_name(f"label of {name}", label, self.classes, "Or call add_class first.")
        changed = {name: label for name, label in labels.items() if self.labels.get(name) != label}
        for label in changed.values():
            if label not in self.classes:
                self.classes.append(label)
        self.labels.update(changed)
        self.skipped -= set(labels)
        self.version += bool(changed)
        return len(changed)

    def skip(self, ids: Iterable[str]) -> None:
        """Do not ask for these items again. A label for an item ends this."""
        new = {self._known(name) for name in ids} - self.labels.keys() - self.skipped
        self.skipped |= new
        self.version += bool(new)

    def exclude(self, ids: Iterable[str]) -> None:
        """Do not ask for these items until the next call."""
        self.excluded = frozenset(self._known(name) for name in ids)

    def add_class(self, name: str) -> None:
        """Add a class after the present ones."""
        if name in self.classes:
            raise InputError("class", expected="a new name", got=repr(name), fix="It is there already.")
        self.classes.append(name)
        self.version += 1

    def sync(self, labels: Mapping[str, str], skipped: Iterable[str], classes: Iterable[str], version: int) -> None:
        """Take over a state from elsewhere, all or nothing.

        Parameters
        ----------
        labels : mapping of str to str
            Every label, by id.
        skipped : iterable of str
            Items that are not asked again.
        classes : iterable of str
            The names of the classes, in order.
        version : int
            The number of that state. It decides the random numbers, and a new one makes the model fit again.

        Raises
        ------
        InputError
            An id or a class is unknown.
        """
        names = list(classes)
        for name, label in labels.items():
            self._known(name)
            if label not in names:
                raise unknown_name(f"label of {name}", label, names, "Give all classes.")
        self.skipped = {self._known(name) for name in skipped}
        self.labels, self.classes, self.version = dict(labels), names, version

    def candidates(self) -> Int[Array, " N"]:
        """Return the positions of items that may be asked: not labelled, skipped or excluded."""
        out = self.labels.keys() | self.skipped | self.excluded
        return np.array([row for row, name in enumerate(self.ids) if name not in out], dtype=np.int64)

    def labelled(self) -> tuple[Int[Array, " L"], Int[Array, " L"]]:
        """Return positions and codes of the labels, in the order of the items, whatever the order of telling."""
        codes = {name: code for code, name in enumerate(self.classes)}
        rows = sorted((self._rows[name], codes[label]) for name, label in self.labels.items())
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def positions(self, ids: Sequence[str]) -> Int[Array, " n"]:
        """Return the positions of items by their ids."""
        return np.array([self._rows[self._known(name)] for name in ids], dtype=np.int64)

    def _known(self, name: str) -> str:
        if name not in self._rows:
            raise unknown_id(name, self.ids)
        return name
