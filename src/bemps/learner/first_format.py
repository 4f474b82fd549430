"""Learners saved by release 0.1 (format 1), brought to the present format.

There a class stood by its module, `sklearn.linear_model._logistic:LogisticRegression`; it is looked up by its name in
the table of `bemps.learner.registry`, and the module has to be the one that the table knows.
"""

from pathlib import Path
from typing import Any

from bemps.errors import InputError
from bemps.learner import registry
from bemps.learner.folder import read_json


def upgraded(state: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The state as the present format has it."""
    options = state.get("options")
    surprisal = {"array": "surprisal.npy"} if (folder / "surprisal.npy").exists() else None
    return {
        **state,
        "version": 2,
        "items": _items(folder),
        "model": _described(state.get("model")),
        "options": {"dict": [[k, v] for k, v in options.items()]} if isinstance(options, dict) else options,
        "explain": state.get("explain", True),
        "surprisal": surprisal,
        "files": {},
        "excluded": [],
        "last_classes": None,
        "last_classes_at": -1,
    }


def _items(folder: Path) -> Any:
    if (folder / "items.npy").exists():
        return {"kind": "array"}
    return {"kind": "texts", "texts": read_json(folder, "items.json")}


def _described(value: Any, depth: int = 0) -> Any:
    if depth > 40:
        raise _lost("values of too many levels")
    if isinstance(value, list):
        if any(part is None for part in value):
            raise _lost("a model of which format 1 lost a part")
        return [_described(part, depth + 1) for part in value]
    if not isinstance(value, dict):
        return value
    name, arguments = value.get("class"), value.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise _lost(repr(value)[:80])
    made = {key: _described(part, depth + 1) for key, part in arguments.items()}
    return {"object": _name(name), "arguments": _tuples(made)}


def _tuples(arguments: dict[str, Any]) -> dict[str, Any]:
    """Format 1 wrote tuples as lists; these settings of scikit-learn have to be tuples."""
    ranges = ("ngram_range", "hidden_layer_sizes", "feature_range", "quantile_range")
    pairs = ("steps", "transformers", "estimators", "transformer_list")
    made = {key: {"tuple": v} if key in ranges and isinstance(v, list) else v for key, v in arguments.items()}
    return {
        key: [{"tuple": part} if isinstance(part, list) else part for part in v]
        if key in pairs and isinstance(v, list)
        else v
        for key, v in made.items()
    }


def _name(written: str) -> str:
    module, _, name = written.partition(":")
    ours = registry.NAMES.get((module, name))
    if ours is not None:
        return ours
    if module.startswith("sklearn."):
        for public in registry.SKLEARN:
            found = registry.public_estimators(public).get(name)
            if found is not None and found.__module__ == module:
                return f"{public}.{name}"
    raise _lost(repr(written)[:80])


def _lost(got: str) -> InputError:
    return InputError(
        "model", expected="a class of bemps or scikit-learn with all its settings", got=got, fix="Pass model= instead."
    )
