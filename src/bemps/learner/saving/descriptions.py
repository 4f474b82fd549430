"""Models, scores and options as JSON, by the table of `bemps.learner.saving.saved_classes`.

    1, "a", true, null, [..]                       as they are; a list is a list
    {"number": "nan"}                              what JSON has no number for
    {"tuple": [..]}, {"dict": [[key, value], ..]}  {"slice": [start, stop, step]}
    {"array": NAME}                                an array, in a file beside the JSON
    {"items": true}                                the learner's own items
    {"function": NAME}, {"dtype": NAME}            a function or a number type of the table
    {"file": PATH, "digest": HEX}                  a file outside, and what its bytes were
    {"object": NAME, "arguments": {..}}            an object of the table; "output" is scikit-learn's set_output

A value without such a form is refused when it is written. Anything of another form is refused when it is read
(`bemps.learner.saving.rebuilding`).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bemps.errors import InputError
from bemps.learner.saving import saved_classes
from bemps.types import Array

ODD_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class NotDescribable(InputError):
    """The error for a value that cannot be written as JSON."""


@dataclass
class DescriptionWriter:
    """Turns values into descriptions. Arrays are collected by name, for files beside the JSON.

    Attributes
    ----------
    items : object
        The items of the learner.
    portable : bool
        Whether the folders of vectors and images are left out, which are of this machine alone.
    arrays : dict of str to array
        The arrays.
    """

    items: object = None
    portable: bool = False
    arrays: dict[str, Array] = field(default_factory=dict)

    def describe(self, value: Any, where: str) -> Any:
        """Describe a value as JSON. `where` names the value in messages."""
        if value is None or isinstance(value, bool | str):
            return value
        if value is self.items:
            return {"items": True}
        for kinds, describe in _DESCRIBERS:
            if isinstance(value, kinds):
                return describe(self, value, where)
        name = saved_classes.name_of(type(value))
        if name is not None:
            return self._describe_ours(name, value, where)
        return self._describe_foreign(value, where)

    def number(self, value: Any, where: str) -> Any:
        """Describe a number. NaN and infinities get a name."""
        if isinstance(value, int | np.integer):
            return int(value)
        odd = next((name for name, number in ODD_NUMBERS.items() if str(value) == str(number)), None)
        return float(value) if odd is None else {"number": odd}

    def sequence(self, value: Any, where: str) -> Any:
        """Describe a list or a tuple."""
        parts = [self.describe(part, f"{where}[{i}]") for i, part in enumerate(value)]
        return {"tuple": parts} if isinstance(value, tuple) else parts

    def mapping(self, value: Any, where: str) -> Any:
        """Describe a dictionary as pairs."""
        return {"dict": [[self.describe(k, where), self.describe(v, f"{where}[{k!r}]")] for k, v in value.items()]}

    def array(self, value: Any, where: str) -> Any:
        """Describe an array by the name of its file."""
        if value.dtype.kind not in "fiub":
            raise _cannot(where, f"an array of dtype {value.dtype}")
        name = f"array-{len(self.arrays)}.npy"
        self.arrays[name] = value
        return {"array": name}

    def slice_(self, value: Any, where: str) -> Any:
        """Describe a slice."""
        return {"slice": [self.describe(part, where) for part in (value.start, value.stop, value.step)]}

    def _describe_ours(self, name: str, value: Any, where: str) -> Any:
        entry = saved_classes.BEMPS[name]
        arguments = {
            argument: self._argument(entry, argument, value, f"{where}.{argument}")
            for argument, kind in entry.arguments.items()
            if kind is not saved_classes.DROPPED
        }
        pool = getattr(value, "pool", None)
        if "pool" not in entry.arguments and pool is not None and pool is not self.items:
            raise _cannot(f"{where}.pool", "other items than the learner's")
        return {"object": name, "arguments": arguments}

    def _argument(self, entry: saved_classes.SavedClass, name: str, holder: Any, where: str) -> Any:
        if self.portable and entry.arguments[name] in saved_classes.LOCAL:
            return saved_classes.LOCAL[entry.arguments[name]]
        value = getattr(holder, entry.attributes.get(name, name))
        if isinstance(value, Path):
            value = str(value)
        if name in entry.files:
            return _file(value, where)
        if entry.arguments[name] is saved_classes.SEEN and value is self.items:
            return None
        if not entry.arguments[name].fits(value) and not isinstance(value, np.generic):
            raise _cannot(where, _words(value))
        return self.describe(value, where)

    def _describe_foreign(self, value: Any, where: str) -> Any:
        """Estimators, functions and number types."""
        name = saved_classes.sklearn_name(type(value))
        if name is not None:
            return self._describe_estimator(name, value, where)
        if any(value is kind for kind in saved_classes.DTYPES.values()):
            return {"dtype": value.__name__}
        function = saved_classes.function_name(value) if callable(value) else None
        if function is None:
            raise _cannot(where, _words(value))
        return {"function": function}

    def _describe_estimator(self, name: str, value: Any, where: str) -> Any:
        if "_metadata_request" in vars(value):
            raise _cannot(where, "an estimator with requested metadata")
        settings = {key: _unseeded(key, part) for key, part in value.get_params(deep=False).items()}
        for key, allowed in saved_classes.FORBIDDEN.items():
            if key in settings and settings[key] not in allowed:
                raise _cannot(f"{where}.{key}", repr(settings[key]))
        described: dict[str, Any] = {"object": name}
        described["arguments"] = {key: self.describe(part, f"{where}.{key}") for key, part in settings.items()}
        output = vars(value).get("_sklearn_output_config", {}).get("transform")
        return described if output is None else described | {"output": output}


_DESCRIBERS: tuple[tuple[Any, Callable[[DescriptionWriter, Any, str], Any]], ...] = (
    ((int, float, np.integer, np.float64), DescriptionWriter.number),
    ((list, tuple), DescriptionWriter.sequence),
    (dict, DescriptionWriter.mapping),
    (np.ndarray, DescriptionWriter.array),
    (slice, DescriptionWriter.slice_),
)


def _unseeded(key: str, value: Any) -> Any:
    """Leave out generators, which are drawn again in every fit (`seeded_clone`)."""
    return None if key == "random_state" and isinstance(value, np.random.RandomState | np.random.Generator) else value


def _words(value: object) -> str:
    return f"{type(value).__name__} {value!r}"[:100]


def _cannot(where: str, got: str) -> NotDescribable:
    return NotDescribable(
        "save",
        expected=f"{where} of a kind that can be written down and made again",
        got=got,
        fix="Save with with_model=False, and hand the model over again: ActiveLearner.load(path, model=...).",
    )


def _file(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value if value is None else [str(name) for name in value]
    path = Path(value).resolve()
    try:
        return {"file": str(path), "digest": digest_of(path)}
    except OSError as error:
        raise _cannot(where, f"{path} ({error.strerror})") from error


def digest_of(path: Path) -> str:
    """The BLAKE2 digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
