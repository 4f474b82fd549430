"""Who is labelled: items with ids, their labels, what was skipped, and the classes in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from bemps.errors import InputError, unknown_name
from bemps.types import Array


@dataclass(eq=False)
class Pool:
    """Labels by id. Classes given at the start are closed: others are refused until `add_class`.

    Without classes given, a new label makes a new class. `version` counts what changes the next batch.
    """

    ids: tuple[str, ...]
    classes: list[str] = field(default_factory=list)
    closed: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    excluded: frozenset[str] = frozenset()  # not asked for now; it changes neither the labels nor the random numbers
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
        """Take labels, all or none; returns how many were new or different."""
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
        """Never ask for these again; a label for one takes it back."""
        new = {self._known(name) for name in ids} - self.labels.keys() - self.skipped
        self.skipped |= new
        self.version += bool(new)

    def exclude(self, ids: Iterable[str]) -> None:
        """Do not ask for these, and only these, until the next call."""
        self.excluded = frozenset(self._known(name) for name in ids)

    def add_class(self, name: str) -> None:
        """One more class, after the others, so that columns keep their places."""
        if name in self.classes:
            raise InputError("class", expected="a new name", got=repr(name), fix="It is there already.")
        self.classes.append(name)
        self.version += 1

    def candidates(self) -> Int[Array, " N"]:
        """Positions of what may be asked: neither labelled nor skipped nor excluded."""
        out = self.labels.keys() | self.skipped | self.excluded
        return np.array([row for row, name in enumerate(self.ids) if name not in out], dtype=np.int64)

    def labelled(self) -> tuple[Int[Array, " L"], Int[Array, " L"]]:
        """Positions and label codes, in the order of the items: the order of telling does not matter."""
        codes = {name: code for code, name in enumerate(self.classes)}
        rows = sorted((self._rows[name], codes[label]) for name, label in self.labels.items())
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def positions(self, ids: Sequence[str]) -> Int[Array, " n"]:
        return np.array([self._rows[self._known(name)] for name in ids], dtype=np.int64)

    def _known(self, name: str) -> str:
        if name not in self._rows:
            raise unknown_name("item", name, self.ids[:1_000], "Items are told by id.")
        return name
