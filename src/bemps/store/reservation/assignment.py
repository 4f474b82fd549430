"""Which items are for whom, by a column of the file: a person only gets the items of their share.

An item that several people answer goes to others too, where its share has too few people.
A value of the column is mapped to names, or is a name itself. Items without a value are for everybody, and so are those
of a value that is mapped to nobody.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bemps._utils.class_names import clash_key
from bemps.errors import InputError
from bemps.store.events import Item
from bemps.store.item_rows import as_json, column_text

MOST_VALUES = 200  # of the column: more would be a text of its own, not a share
EVERYBODY = ""  # stands for the share of items that are for everybody


@dataclass(frozen=True)
class Assignment:
    """The shares of a project's items.

    Attributes
    ----------
    column : str
        The column that decides.
    values : mapping of str to str
        The value of each item that has one, by its id.
    mapped : mapping of str to sequence of str
        The names for a value. A value that is not in it is a name itself.
    """

    column: str
    values: Mapping[str, str]
    mapped: Mapping[str, Collection[str]]

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """The people of each value, in a form that does not tell upper from lower case. Nobody means everybody."""
        return {value: frozenset(map(clash_key, self.people(value))) for value in set(self.values.values())}

    def people(self, value: str) -> list[str]:
        """Return the names of the people who get the items of a value; none if everybody does."""
        if value in self.mapped:
            return list(self.mapped[value])
        return list(self._mapped_by_key.get(clash_key(value), [value]))

    @cached_property
    def _mapped_by_key(self) -> dict[str, Collection[str]]:
        return {clash_key(value): names for value, names in self.mapped.items()}

    def values_without_items(self, values: Iterable[str]) -> list[str]:
        """Return those of some values that no item has; upper and lower case are the same."""
        present = set(map(clash_key, set(self.values.values())))
        return [value for value in values if clash_key(value) not in present]

    def share_of(self, item: str) -> str:
        """Return the share of an item: its value, or `EVERYBODY`."""
        value = self.values.get(item, EVERYBODY)
        return value if value and self.names[value] else EVERYBODY

    def shares_for(self, annotator: str) -> frozenset[str]:
        """Return the shares whose items a person gets."""
        name = clash_key(annotator)
        return frozenset({EVERYBODY, *(value for value, people in self.names.items() if name in people)})

    def allows(self, item: str, annotator: str, others: Collection[str] = (), answers: int = 1) -> bool:
        """Whether a person may be asked about an item.

        Parameters
        ----------
        item : str
            The id of the item.
        annotator : str
            Who would be asked.
        others : collection of str
            The people who have answered it, or have it in hand.
        answers : int
            How many people are to answer it.

        Returns
        -------
        bool
            True for the people of its share. Where these are fewer than `answers`, also for as many other people as
            are missing.
        """
        share = self.share_of(item)
        if share == EVERYBODY or clash_key(annotator) in self.names[share]:
            return True
        missing = answers - len(self.names[share])
        return missing > 0 and sum(clash_key(name) not in self.names[share] for name in others) < missing


def value_text(value: Any) -> str:
    """Return a value of a column as the text that is mapped to names: as the page shows it, in one line."""
    return " ".join(column_text(value).split())


def assignment_of(items: Iterable[Item], column: str, mapped: Mapping[str, Collection[str]] | None) -> Assignment:
    """Return the shares of items.

    Parameters
    ----------
    items : iterable of Item
        The items.
    column : str
        The column that decides.
    mapped : mapping of str to sequence of str, or None
        The names for a value.

    Returns
    -------
    Assignment
        The shares.
    """
    texts: dict[str, str] = {}  # each once: a large file has few values
    values = {}
    for item in items:
        if text := value_text(item.columns.get(column)):
            values[item.id] = texts.setdefault(text, text)
    return Assignment(column, values, dict(mapped or {}))


def check_assignment(column: str, columns: Collection[str], values: Iterable[Any]) -> None:
    """Refuse a column that is not there, or that has too many values.

    Parameters
    ----------
    column : str
        The column that is to decide who gets an item.
    columns : collection of str
        The columns of the project.
    values : iterable
        The values of the column.
    """
    what = "column to assign items by"
    if column not in columns:
        expected = f"one of {', '.join(columns)}" if columns else "a file with such a column"
        raise InputError(what, expected=expected, got=repr(column), fix="Correct its name.")
    different = {value_text(as_json(value)) for value in values} - {""}
    if len(different) > MOST_VALUES:
        got = f"{len(different):,} in {column!r}"
        raise InputError(what, expected=f"at most {MOST_VALUES} different values", got=got, fix="Choose another.")
