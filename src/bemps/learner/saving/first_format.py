"""Learners saved by release 0.1 (format 1), brought to the present format.

Format 1 named a class with its module, `sklearn.linear_model._logistic:LogisticRegression`. Classes of bemps have moved
since, so they are looked up by name alone in the table `saved_classes`; scikit-learn's must be in the module that it
names.
"""

from pathlib import Path
from typing import Any

from bemps.errors import InputError
from bemps.learner.saving import saved_classes
from bemps.learner.saving.learner_folder import read_json

OWN_CLASSES = {(entry.name or name): name for name, entry in saved_classes.BEMPS.items()}


def upgraded_state(state: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Convert a state of format 1 to the present format."""
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
    values = {key: _described(part, depth + 1) for key, part in arguments.items()}
    return {"object": _name(name), "arguments": _tuples(values)}


def _tuples(arguments: dict[str, Any]) -> dict[str, Any]:
    """Format 1 wrote tuples as lists; these settings of scikit-learn have to be tuples."""
    ranges = ("ngram_range", "hidden_layer_sizes", "feature_range", "quantile_range")
    pairs = ("steps", "transformers", "estimators", "transformer_list")
    values = {key: {"tuple": v} if key in ranges and isinstance(v, list) else v for key, v in arguments.items()}
    return {
        key: [{"tuple": part} if isinstance(part, list) else part for part in v]
        if key in pairs and isinstance(v, list)
        else v
        for key, v in values.items()
    }


def _name(written: str) -> str:
    module, _, name = written.partition(":")
    if module.startswith("bemps.") and name in OWN_CLASSES:
        return OWN_CLASSES[name]
    if module.startswith("sklearn."):
        for public in saved_classes.SKLEARN:
            estimator = saved_classes.public_estimators(public).get(name)
            if estimator is not None and estimator.__module__ == module:
                return f"{public}.{name}"
    raise _lost(repr(written)[:80])


def _lost(got: str) -> InputError:
    return InputError(
        "model", expected="a class of bemps or scikit-learn with all its settings", got=got, fix="Pass model= instead."
    )
