"""Models, scores and options rebuilt from their descriptions, which may come from anybody."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.errors import InputError
from bemps.learner.saving import saved_classes
from bemps.learner.saving.descriptions import ODD_NUMBERS, digest_of
from bemps.types import Array

DEPTH = 40  # of values within values; more is no model


@dataclass
class DescriptionReader:
    """Rebuilds values from their descriptions.

    Attributes
    ----------
    items : object
        The items of the learner.
    array : callable
        From the name of an array to the array.
    trusted : bool
        Whether the description is our own and not from a file. Only then it may name a new cache folder.
    cache : str or None
        The folder for vectors where the description names none.
    """

    items: Any
    array: Callable[[str], Array]
    trusted: bool = False
    cache: str | None = None

    def rebuild(self, value: Any, depth: int = 0) -> Any:
        """Rebuild a value. Only classes of the table are made."""
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
        values = {key: self.rebuild(part, depth + 1) for key, part in arguments.items()}
        if name in saved_classes.BEMPS:
            return _ours(name, values, self)
        return _estimator(saved_classes.sklearn_class(name), values, value.get("output"))

    def tuple_(self, value: Any, depth: int) -> Any:
        """Rebuild a tuple."""
        return tuple(self.rebuild(part, depth + 1) for part in _list(value))

    def dict_(self, value: Any, depth: int) -> Any:
        """Rebuild a dictionary."""
        pairs = [self.rebuild(_list(pair, 2), depth + 1) for pair in _list(value)]
        if not all(isinstance(key, str | int | float | bool | None) for key, _ in pairs):
            raise _damaged("plain keys", "others")
        return dict(pairs)

    def slice_(self, value: Any, depth: int) -> Any:
        """Rebuild a slice."""
        return slice(*self.rebuild(_list(value, 3), depth + 1))

    def array_(self, value: Any, depth: int) -> Any:
        """Read an array."""
        return self.array(_named(value))

    def items_(self, value: Any, depth: int) -> Any:
        """Return the items of the learner."""
        return self.items

    def number(self, value: Any, depth: int) -> Any:
        """Return a number that JSON does not have."""
        return _of_table(ODD_NUMBERS, value)

    def dtype(self, value: Any, depth: int) -> Any:
        """Return a number type of the table."""
        return _of_table(saved_classes.DTYPES, value)

    def function(self, value: Any, depth: int) -> Any:
        """Return a function of the table."""
        _of_table(saved_classes.FUNCTIONS, value)
        return saved_classes.function_of(value)


_FORMS: dict[str, Callable[[DescriptionReader, Any, int], Any]] = {
    "number": DescriptionReader.number,
    "tuple": DescriptionReader.tuple_,
    "dict": DescriptionReader.dict_,
    "slice": DescriptionReader.slice_,
    "array": DescriptionReader.array_,
    "items": DescriptionReader.items_,
    "function": DescriptionReader.function,
    "dtype": DescriptionReader.dtype,
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


def _ours(name: str, arguments: dict[str, Any], reader: DescriptionReader) -> Any:
    entry = saved_classes.BEMPS[name]
    for key, value in arguments.items():
        if key not in entry.arguments or not entry.arguments[key].fits(value):
            words = entry.arguments[key].words if key in entry.arguments else f"one of {', '.join(entry.arguments)}"
            raise _damaged(f"{words} as {key} of {name}", repr(value)[:80])
    for key, kind in entry.arguments.items():
        if kind is saved_classes.CACHE and key in arguments and not reader.trusted:
            arguments[key] = _known_cache(arguments[key]) or reader.cache
    parameters = {entry.parameters.get(key, key): value for key, value in arguments.items()}
    return _construct(saved_classes.bemps_class(name), parameters)


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
    for key, allowed in saved_classes.FORBIDDEN.items():
        if key in arguments and arguments[key] not in allowed:
            raise _damaged(f"{key} of {kind.__name__} among {allowed}", repr(arguments[key])[:80])
    estimator = _construct(kind, arguments)
    if output in ("default", "pandas", "polars") and hasattr(estimator, "set_output"):
        estimator.set_output(transform=output)
    return estimator


def _construct(kind: type, arguments: dict[str, Any]) -> Any:
    """Make the object and check that it can be copied; an error of its class means that the folder is damaged."""
    try:
        instance: Any = kind(**arguments)
        if hasattr(instance, "get_params"):
            _check_estimator(instance)
    except InputError:
        raise
    except Exception as cause:
        got = f"{type(cause).__name__}: {cause}"[:200]
        raise _damaged(f"arguments that {kind.__name__} takes", got) from cause
    return instance


def _check_estimator(estimator: Any) -> None:
    """Steps and parts of the right form: scikit-learn looks at them when it copies and when it checks settings."""
    from sklearn.base import clone

    clone(estimator)
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    for check in ("_validate_steps", "_validate_transformers", "_validate_estimators"):
        if hasattr(estimator, check):
            getattr(estimator, check)()
