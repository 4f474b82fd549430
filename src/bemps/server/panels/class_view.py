"""The classes as the page shows them: in order, with their examples, and what became of those that are gone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bemps.server.http.templating import short
from bemps.server.panels.class_keys import keys_of, record_keys
from bemps.store import Class, Example, Item, Store

LONGEST_EXAMPLE = 240  # characters that are shown


@dataclass(frozen=True)
class ClassView:
    """The classes of a project at one moment.

    Attributes
    ----------
    classes : tuple of Class
        The classes in order, hidden ones too.
    merged : tuple of (Class, Class)
        Each merged class, and the class that it was merged into.
    counted : tuple of int
        For the number of every class that ever was, the number of the class that it counts as.
    items : mapping of str to Item
        The items that are examples, by id.
    """

    classes: tuple[Class, ...]
    merged: tuple[tuple[Class, Class], ...] = ()
    counted: tuple[int, ...] = ()
    items: Mapping[str, Item] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def visible(self) -> tuple[Class, ...]:
        """The classes that the page offers."""
        return tuple(known for known in self.classes if not known.is_hidden)

    @property
    def names(self) -> list[str]:
        """The names of all classes, in order."""
        return [known.name for known in self.classes]

    def keys(self) -> dict[str, tuple[str, ...]]:
        """Return the keys of every class, as they are recorded."""
        return keys_of(self.classes)

    def counted_name(self, name: str) -> str | None:
        """Return the name of the class that a present or merged class counts as; None where there is no such class."""
        numbers = {known.name: known.id for known in (*(gone for gone, _ in self.merged), *self.classes)}
        present = {known.id: known.name for known in self.classes}
        return present.get(self.counted[numbers[name]]) if name in numbers else None

    def positions(self) -> dict[int, int]:
        """Return where each class that ever was counts in the order of the present ones; deleted ones are left out."""
        present = {known.id: known.position for known in self.classes}
        return {number: present[into] for number, into in enumerate(self.counted) if into in present}

    def words_of(self, example: Example) -> str:
        """Return the text of an example, or the path of an image."""
        item = None if example.item is None else self.items.get(example.item)
        return short(example.text or "" if item is None else item.content, LONGEST_EXAMPLE)

    def gone(self) -> list[dict[str, Any]]:
        """Return the classes that are not offered any more, and why."""
        hidden = [{"id": known.id, "name": known.name, "into": None} for known in self.classes if known.is_hidden]
        return hidden + [{"id": known.id, "name": known.name, "into": into.name} for known, into in self.merged]


def class_view_with_keys(store: Store) -> ClassView:
    """Record keys for the classes that have none, and read the classes."""
    record_keys(store)
    return class_view(store)


def class_view(store: Store) -> ClassView:
    """Read the classes of a project."""
    classes = store.classes()
    ids = list(dict.fromkeys(example.item for known in classes for example in known.examples if example.item))
    items = {item.id: item for item in store.items(ids)} if ids else {}
    return ClassView(classes, store.merged_classes(), store.counted_classes(), items)
