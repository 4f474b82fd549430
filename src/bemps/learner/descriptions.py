"""Models, scores and options as JSON and back, by the table of `bemps.learner.registry`.

    1, "a", true, null, [..]                       as they are; a list is a list
    {"number": "nan"}                              what JSON has no number for
    {"tuple": [..]}, {"dict": [[key, value], ..]}  {"slice": [start, stop, step]}
    {"array": NAME}                                an array, in a file beside the JSON
    {"items": true}                                the learner's own items
    {"function": NAME}, {"dtype": NAME}            a function or a number type of the table
    {"file": PATH, "digest": HEX}                  a file outside, and what its bytes were
    {"object": NAME, "arguments": {..}}            an object of the table; "output" is scikit-learn's set_output

What has no such form is refused when it is written; what is not of this form, when it is read.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bemps.errors import InputError
from bemps.learner import registry
from bemps.types import Array

DEPTH = 40  # of values within values; more is no model
ODD_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class NotDescribable(InputError):
    """A value that cannot be written down."""


@dataclass
class Writing:
    """What a description refers to beside the JSON: the learner's items by identity, arrays by name."""

    items: object = None
    arrays: dict[str, Array] = field(default_factory=dict)

    def describe(self, value: Any, where: str) -> Any:
        """The value as JSON; `where` says in a refusal which part of what it is."""
        if value is None or isinstance(value, bool | str):
            return value
        if value is self.items:
            return {"items": True}
        for kinds, describe in _DESCRIBERS:
            if isinstance(value, kinds):
                return describe(self, value, where)
        name = registry.name_of(type(value))
        if name is not None:
            return self._describe_ours(name, value, where)
        return self._describe_foreign(value, where)

    def number(self, value: Any, where: str) -> Any:
        if isinstance(value, int | np.integer):
            return int(value)
        odd = next((name for name, number in ODD_NUMBERS.items() if str(value) == str(number)), None)
        return float(value) if odd is None else {"number": odd}

    def sequence(self, value: Any, where: str) -> Any:
        parts = [self.describe(part, f"{where}[{i}]") for i, part in enumerate(value)]
        return {"tuple": parts} if isinstance(value, tuple) else parts

    def mapping(self, value: Any, where: str) -> Any:
        return {"dict": [[self.describe(k, where), self.describe(v, f"{where}[{k!r}]")] for k, v in value.items()]}

    def array(self, value: Any, where: str) -> Any:
        if value.dtype.kind not in "fiub":
            raise _cannot(where, f"an array of dtype {value.dtype}")
        name = f"array-{len(self.arrays)}.npy"
        self.arrays[name] = value
        return {"array": name}

    def slice_(self, value: Any, where: str) -> Any:
        return {"slice": [self.describe(part, where) for part in (value.start, value.stop, value.step)]}

    def _describe_ours(self, name: str, value: Any, where: str) -> Any:
        entry = registry.BEMPS[name]
        arguments = {
            argument: self._argument(entry, argument, value, f"{where}.{argument}")
            for argument, kind in entry.arguments.items()
            if kind is not registry.DROPPED
        }
        pool = getattr(value, "pool", None)
        if "pool" not in entry.arguments and pool is not None and pool is not self.items:
            raise _cannot(f"{where}.pool", "other items than the learner's")
        return {"object": name, "arguments": arguments}

    def _argument(self, entry: registry.Entry, name: str, holder: Any, where: str) -> Any:
        value = getattr(holder, entry.attributes.get(name, name))
        if isinstance(value, Path):
            value = str(value)
        if name in entry.files:
            return _file(value, where)
        if not entry.arguments[name].fits(value) and not isinstance(value, np.generic):
            raise _cannot(where, _words(value))
        return self.describe(value, where)

    def _describe_foreign(self, value: Any, where: str) -> Any:
        """Estimators, functions and number types."""
        name = registry.sklearn_name(type(value))
        if name is not None:
            return self._describe_estimator(name, value, where)
        if any(value is kind for kind in registry.DTYPES.values()):
            return {"dtype": value.__name__}
        function = registry.function_name(value) if callable(value) else None
        if function is None:
            raise _cannot(where, _words(value))
        return {"function": function}

    def _describe_estimator(self, name: str, value: Any, where: str) -> Any:
        if "_metadata_request" in vars(value):
            raise _cannot(where, "an estimator with requested metadata")
        settings = {key: _unseeded(key, part) for key, part in value.get_params(deep=False).items()}
        for key, allowed in registry.FORBIDDEN.items():
            if key in settings and settings[key] not in allowed:
                raise _cannot(f"{where}.{key}", repr(settings[key]))
        described: dict[str, Any] = {"object": name}
        described["arguments"] = {key: self.describe(part, f"{where}.{key}") for key, part in settings.items()}
        output = vars(value).get("_sklearn_output_config", {}).get("transform")
        return described if output is None else described | {"output": output}


_DESCRIBERS: tuple[tuple[Any, Callable[[Writing, Any, str], Any]], ...] = (
    ((int, float, np.integer, np.float64), Writing.number),
    ((list, tuple), Writing.sequence),
    (dict, Writing.mapping),
    (np.ndarray, Writing.array),
    (slice, Writing.slice_),
)


def _unseeded(key: str, value: Any) -> Any:
    """Generators are drawn anew in every fit (`seeded_clone`), so that none needs to be kept."""
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
    """BLAKE2 of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@dataclass
class Reading:
    """Where descriptions find what they refer to."""

    items: Any
    array: Callable[[str], Array]
    trusted: bool = False  # the description is our own, not a file's: caches may be made where it says

    def rebuild(self, value: Any, depth: int = 0) -> Any:
        """What was described. Nothing outside of the table is made."""
        if depth > DEPTH:
            raise _damaged("values of fewer levels", f"more than {DEPTH}")
        if isinstance(value, list):
            return [self.rebuild(part, depth + 1) for part in value]
        if not isinstance(value, dict):
            return value
        if "object" in value:
            return self._object(value, depth)
        if set(value) == {"file", "digest"}:
            return _checked_file(value)
        form = next(iter(value)) if len(value) == 1 else ""
        if form not in _FORMS:
            raise _damaged("a described value", str(sorted(map(str, value)))[:80])
        return _FORMS[form](self, value[form], depth)

    def _object(self, value: Mapping[str, Any], depth: int) -> Any:
        name, arguments = value["object"], value.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise _damaged("the name of a class and its arguments", repr(name)[:80])
        made = {key: self.rebuild(part, depth + 1) for key, part in arguments.items()}
        if name in registry.BEMPS:
            return _ours(name, made, self.trusted)
        return _estimator(registry.sklearn_class(name), made, value.get("output"))

    def tuple_(self, value: Any, depth: int) -> Any:
        return tuple(self.rebuild(part, depth + 1) for part in _list(value))

    def dict_(self, value: Any, depth: int) -> Any:
        pairs = [self.rebuild(_list(pair, 2), depth + 1) for pair in _list(value)]
        if not all(isinstance(key, str | int | float | bool | None) for key, _ in pairs):
            raise _damaged("plain keys", "others")
        return dict(pairs)

    def slice_(self, value: Any, depth: int) -> Any:
        return slice(*self.rebuild(_list(value, 3), depth + 1))

    def array_(self, value: Any, depth: int) -> Any:
        return self.array(_named(value))

    def items_(self, value: Any, depth: int) -> Any:
        return self.items

    def number(self, value: Any, depth: int) -> Any:
        return _of_table(ODD_NUMBERS, value)

    def dtype(self, value: Any, depth: int) -> Any:
        return _of_table(registry.DTYPES, value)

    def function(self, value: Any, depth: int) -> Any:
        _of_table(registry.FUNCTIONS, value)
        return registry.function_of(value)


_FORMS: dict[str, Callable[[Reading, Any, int], Any]] = {
    "number": Reading.number,
    "tuple": Reading.tuple_,
    "dict": Reading.dict_,
    "slice": Reading.slice_,
    "array": Reading.array_,
    "items": Reading.items_,
    "function": Reading.function,
    "dtype": Reading.dtype,
}


def _damaged(expected: str, got: str) -> InputError:
    return InputError(
        "saved learner", expected=expected, got=got, fix="The folder is damaged or was not written by bemps."
    )


def _list(value: Any, size: int | None = None) -> list[Any]:
    if not isinstance(value, list) or size not in (None, len(value)):
        raise _damaged(f"a list of {'any length' if size is None else size}", repr(value)[:80])
    return value


def _named(value: Any) -> str:
    if not isinstance(value, str):
        raise _damaged("a name", repr(value)[:80])
    return value


def _of_table(table: Mapping[str, Any], value: Any) -> Any:
    if _named(value) not in table:
        raise _damaged(f"one of {', '.join(table)}", repr(value)[:80])
    return table[value]


def _checked_file(value: Mapping[str, Any]) -> str:
    """The path of a file whose bytes are what they were."""
    path = Path(_named(value["file"]))
    try:
        same = digest_of(path) == value["digest"]
    except (OSError, ValueError) as error:
        raise _changed(path, str(error)) from error
    if not same:
        raise _changed(path, "another content")
    return str(path)


def _changed(path: Path, got: str) -> InputError:
    fix = "Bring it back, or pass the model that is to be used now: ActiveLearner.load(path, model=...)."
    return InputError("model", expected=f"the file {path} as it was when the learner was saved", got=got, fix=fix)


def _ours(name: str, arguments: dict[str, Any], trusted: bool) -> Any:
    entry = registry.BEMPS[name]
    for key, value in arguments.items():
        if key not in entry.arguments or not entry.arguments[key].fits(value):
            words = entry.arguments[key].words if key in entry.arguments else f"one of {', '.join(entry.arguments)}"
            raise _damaged(f"{words} as {key} of {name}", repr(value)[:80])
    for key, kind in entry.arguments.items():
        if kind is registry.CACHE and key in arguments and not trusted:
            arguments[key] = _known_cache(arguments[key])
    return _made(registry.bemps_class(name), arguments)


def _known_cache(folder: str | None) -> str | None:
    """A folder in which bemps keeps vectors already; elsewhere nothing is written because a file says so."""
    path = Path(folder or "")
    try:
        inside = [entry.name for entry in path.iterdir() if entry.is_dir()] if folder and path.is_dir() else []
    except (OSError, ValueError):
        return None
    ours = [name for name in inside if name in ("embeddings", "tokens", "hidden") or _is_digest(name)]
    return folder if ours else None


def _is_digest(name: str) -> bool:
    return len(name) >= 32 and all(letter in "0123456789abcdef" for letter in name)


def _estimator(kind: type, arguments: dict[str, Any], output: Any) -> Any:
    for key, allowed in registry.FORBIDDEN.items():
        if key in arguments and arguments[key] not in allowed:
            raise _damaged(f"{key} of {kind.__name__} among {allowed}", repr(arguments[key])[:80])
    made = _made(kind, arguments)
    if output in ("default", "pandas", "polars") and hasattr(made, "set_output"):
        made.set_output(transform=output)
    return made


def _made(kind: type, arguments: dict[str, Any]) -> Any:
    """The object, once it can be made and copied; whatever its class finds wrong is the folder's fault."""
    try:
        made: Any = kind(**arguments)
        if hasattr(made, "get_params"):
            _check_estimator(made)
    except InputError:
        raise
    except Exception as cause:
        got = f"{type(cause).__name__}: {cause}"[:200]
        raise _damaged(f"arguments that {kind.__name__} takes", got) from cause
    return made


def _check_estimator(estimator: Any) -> None:
    """Steps and parts of the right form: scikit-learn looks at them when it copies and when it checks settings."""
    from sklearn.base import clone

    clone(estimator)
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    for check in ("_validate_steps", "_validate_transformers", "_validate_estimators"):
        if hasattr(estimator, check):
            getattr(estimator, check)()
