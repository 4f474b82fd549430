"""The classes that follow from the log. The number of a class never changes, whatever becomes of the class."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from bemps._utils.class_names import known_name
from bemps.store.events import (
    ADD_CLASS,
    ADD_EXAMPLE,
    COLOUR_CLASS,
    DELETE_CLASS,
    DESCRIBE_CLASS,
    HIDE_CLASS,
    MERGE_CLASS,
    MOVE_CLASS,
    REMOVE_EXAMPLE,
    RENAME_CLASS,
    SET_KEY,
    SHOW_CLASS,
    SPLIT_CLASS,
    Class,
    Event,
    Example,
)

Part = TypeVar("Part")


def required_field(value: Part | None) -> Part:
    """Return a field that events of this kind always have."""
    if value is None:
        raise LookupError("a part of it is missing")
    return value


class ClassTable:
    """Every class that ever was, by its number, and the order of those that are there."""

    def __init__(self) -> None:
        self._all: list[Class] = []  # the index is the number of the class
        self._order: list[int] = []  # without those that were merged or deleted
        self._merged: dict[int, int] = {}
        self._former: dict[str, int] = {}  # names before a renaming
        self._rules: dict[str, Callable[[int, Event], None]] = {
            ADD_CLASS: self._add,
            RENAME_CLASS: self._rename,
            SET_KEY: lambda number, event: self._set(number, key=event.note),
            DESCRIBE_CLASS: lambda number, event: self._set(number, description=event.note or ""),
            COLOUR_CLASS: lambda number, event: self._set(number, colour=event.note),
            HIDE_CLASS: lambda number, _: self._set(number, is_hidden=True),
            SHOW_CLASS: lambda number, _: self._set(number, is_hidden=False),
            MOVE_CLASS: self._move,
            DELETE_CLASS: lambda number, _: self._leave(number),
            MERGE_CLASS: self._merge,
            SPLIT_CLASS: self._split,
            ADD_EXAMPLE: self._add_example,
            REMOVE_EXAMPLE: self._remove_example,
        }

    @property
    def count(self) -> int:
        """How many classes there ever were: the number of the next one."""
        return len(self._all)

    def __iter__(self) -> Iterator[Class]:
        """The classes in their order, without those that were merged or deleted."""
        return iter([replace(self._all[number], position=row) for row, number in enumerate(self._order)])

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> Class:
        """The class of a number, also where it was merged or deleted."""
        return self._all[number]

    def counted(self, number: int) -> int:
        """Return the number of the class that one counts as: itself, or that which it was merged into."""
        while number in self._merged:
            number = self._merged[number]
        return number

    def name_of(self, number: int) -> str:
        """Return the present name of the class that one counts as."""
        return self._all[self.counted(number)].name

    def merged(self) -> list[tuple[Class, Class]]:
        """Return each merged class, and the class that it was merged into."""
        return [(self._all[number], self._all[into]) for number, into in self._merged.items()]

    def numbers(self) -> dict[str, int]:
        """Return the number of each name. The name of a merged class is still understood."""
        numbers = {self._all[number].name: number for number in self._merged}
        return numbers | {self._all[number].name: number for number in self._order}

    def numbers_in_files(self) -> dict[str, int]:
        """Return the number of each name that a file may have, which may be older than a renaming."""
        known = {*self._order, *self._merged}
        return {name: number for name, number in self._former.items() if number in known} | self.numbers()

    def find(self, name: str) -> int | None:
        """Return the number of a class that is there; None if there is no such class."""
        names = {self._all[number].name: number for number in self._order}
        return names.get(known_name(name, names))

    def apply(self, event: Event) -> None:
        """Apply an event of a class."""
        self._rules[event.kind](required_field(event.class_id), event)

    def _set(self, number: int, **values: Any) -> None:
        self._all[number] = replace(self._all[number], **values)

    def _rename(self, number: int, event: Event) -> None:
        self._former[self._all[number].name] = number
        self._set(number, name=required_field(event.label))

    def _add(self, number: int, event: Event) -> None:
        if number != len(self._all):
            raise LookupError("its class is there already")
        self._order.append(number)
        self._all.append(Class(required_field(event.label), event.note, len(self._order) - 1, id=number))

    def _leave(self, number: int) -> None:
        if number not in self._order:
            raise LookupError("its class is not there any more")
        self._set(number, position=self._order.index(number))  # where it comes back
        self._order.remove(number)

    def _move(self, number: int, event: Event) -> None:
        self._leave(number)
        self._order.insert(required_field(event.target), number)

    def _merge(self, number: int, event: Event) -> None:
        into = required_field(event.target)
        if into == number or into not in self._order:
            raise LookupError("the class to merge into is not there")
        self._leave(number)
        self._merged[number] = into

    def _split(self, number: int, event: Event) -> None:
        del self._merged[number]
        self._order.insert(self._all[number].position, number)

    def _add_example(self, number: int, event: Event) -> None:
        self._set(number, examples=(*self._all[number].examples, Example(event.item, event.note)))

    def _remove_example(self, number: int, event: Event) -> None:
        gone = Example(event.item, event.note)
        self._set(number, examples=tuple(known for known in self._all[number].examples if known != gone))
