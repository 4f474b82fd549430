"""Fields of a JSON object from a file. A field of another kind than expected is refused by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from bemps.errors import InputError
from bemps.learner.saving.rebuilding import DescriptionReader
from bemps.types import Array

LARGEST = 2**63 - 1


class JsonFields:
    """The fields of one object. `where` names the object in messages."""

    def __init__(self, state: Any, where: str) -> None:
        self.state, self.where = state, where
        self.expect(isinstance(state, dict), "", "an object")

    def expect(self, fits: bool, name: str, expected: str) -> None:
        """Refuse the field unless it fits.

        Parameters
        ----------
        fits : bool
            Whether the field is as expected.
        name : str
            The name of the field.
        expected : str
            What is expected, for the message.

        Raises
        ------
        InputError
            The field does not fit.
        """
        if not fits:
            got = repr(self.state.get(name) if isinstance(self.state, dict) else self.state)[:80]
            raise InputError(
                f"{self.where}: {name}".removesuffix(": "),
                expected=expected,
                got=got,
                fix="The folder is damaged or was not written by bemps.",
            )

    def value(self, name: str) -> Any:
        """Return a field of any kind; None if it is missing."""
        return self.state.get(name)

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.value(name)
        self.expect(isinstance(value, str), name, "a text")
        return str(value)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        self.expect(isinstance(self.value(name), bool), name, "true or false")
        return bool(self.value(name))

    def integer(self, name: str, low: int) -> int:
        """Return an integer, at least `low`."""
        value = self.value(name)
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= LARGEST
        self.expect(fits, name, f"a whole number from {low} on")
        return int(value)

    def number(self, name: str) -> float:
        """Return a number."""
        self.expect(_is_number(self.value(name)), name, "a number")
        return float(self.value(name))

    def values(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.value(name)
        self.expect(isinstance(value, list), name, "a list")
        return list(value)

    def numbers(self, name: str) -> list[float]:
        """Return a list of numbers."""
        values = self.values(name)
        self.expect(all(map(_is_number, values)), name, "numbers")
        return [float(value) for value in values]

    def texts(self, name: str, known: set[str] | None = None) -> list[str]:
        """Return a list of texts, all of them `known` if that is given."""
        values = self.values(name)
        self.expect(all(isinstance(value, str) for value in values), name, "texts")
        self.expect(known is None or known.issuperset(values), name, "ids of items")
        return values

    def labels(self, name: str, ids: set[str], classes: set[str]) -> dict[str, str]:
        """Return labels by id.

        Parameters
        ----------
        name : str
            The name of the field.
        ids : set of str
            The ids of the items.
        classes : set of str
            The names of the classes.

        Returns
        -------
        dict of str to str
            The labels.
        """
        value = self.value(name)
        self.expect(isinstance(value, dict) and ids.issuperset(value), name, "labels by the ids of items")
        self.expect(all(isinstance(v, str) and v in classes for v in value.values()), name, "names of classes")
        return dict(value)

    def codes(self, name: str, size: int, classes: int) -> Int[Array, " M"] | None:
        """Return codes of classes, one for each estimation point; None if there is no field.

        Parameters
        ----------
        name : str
            The name of the field.
        size : int
            The number of estimation points.
        classes : int
            The number of classes.

        Returns
        -------
        array of int (M,) or None
            The codes.
        """
        if self.value(name) is None:
            return None
        values = self.values(name)
        fits = all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < classes for v in values)
        self.expect(fits and len(values) == size, name, f"{size} positions of classes")
        return np.array(values, dtype=np.int64)

    def options(self, name: str, reader: DescriptionReader) -> Mapping[str, Any]:
        """Return options by name, rebuilt from their descriptions."""
        options = reader.rebuild(self.value(name))
        self.expect(isinstance(options, dict) and all(isinstance(key, str) for key in options), name, "options by name")
        return dict(options)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(abs(value) <= 1e308)
