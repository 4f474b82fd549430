"""A learner on disk: a folder of JSON and plain arrays, never pickle. The model is fitted again when it is needed.

learner.json   settings, labels, what was skipped and asked
items.json     texts, or
items.npy      rows of numbers
surprisal.npy  where vectors of surprisal were given
"""

import importlib
import inspect
import json
import os
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bemps.errors import InputError
from bemps.learner.asked import Batch, Why
from bemps.members.base import Items, Model

if TYPE_CHECKING:
    from bemps.learner.active import ActiveLearner

VERSION = 1
TRUSTED = ("bemps.", "sklearn.")  # whose classes a file may name
PLAIN = (str, int, float, bool, type(None))


def save(learner: "ActiveLearner", path: str | PathLike[str]) -> None:
    """Write the learner; the JSON last and at once, so that a killed save leaves the earlier one readable."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    _save_items(learner.items, folder)
    if learner.knowledge.given_surprisal is not None and not (folder / "surprisal.npy").exists():
        np.save(folder / "surprisal.npy", learner.knowledge.given_surprisal, allow_pickle=False)
    pool = learner.pool
    state = {
        "version": VERSION,
        "model": described(learner.model),
        "strategy": _named(learner.strategy, "strategy"),
        "cold_start": _named(learner.cold_start, "cold_start"),
        "options": learner.options,
        "explain": learner.explain,
        "estimation_size": learner.estimation_size,
        "seed": learner.seed,
        "ids": list(pool.ids),
        "classes": pool.classes,
        "closed": pool.closed,
        "labels": pool.labels,
        "skipped": sorted(pool.skipped),
        "changes": pool.version,
        "asked": None if learner.asked is None else asdict(learner.asked),
        "asked_at": learner.asked_at,
        "agreement": learner.agreement,
    }
    draft = folder / "learner.json.part"
    draft.write_text(json.dumps(state, ensure_ascii=False, indent=1), encoding="utf-8")
    os.replace(draft, folder / "learner.json")


def load(path: str | PathLike[str], model: Model | None = None) -> "ActiveLearner":
    """The learner of a folder."""
    from bemps.learner.active import ActiveLearner

    folder = Path(path)
    state = _state(folder)
    learner = ActiveLearner(
        model if model is not None else _rebuilt_model(state["model"]),
        _load_items(folder),
        ids=state["ids"],
        classes=state["classes"] if state["closed"] else None,
        strategy=state["strategy"],
        options=state["options"],
        cold_start=state["cold_start"],
        explain=state.get("explain", True),
        surprisal=_load_surprisal(folder / "surprisal.npy"),
        estimation_size=state["estimation_size"],
        seed=state["seed"],
    )
    pool = learner.pool
    pool.classes, pool.labels, pool.skipped = state["classes"], state["labels"], set(state["skipped"])
    pool.version = state["changes"]
    learner.asked = None if state["asked"] is None else _batch(state["asked"])
    learner.asked_at, learner.agreement = state["asked_at"], state["agreement"]
    return learner


def _batch(state: dict[str, Any]) -> Batch:
    why = tuple(Why(**reason) for reason in state["why"])
    return Batch(state["id"], tuple(state["items"]), tuple(state["scores"]), why, state["strategy"])


def _state(folder: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((folder / "learner.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            str(folder), expected="a folder written by learner.save", got=str(error), fix="Check the path."
        ) from error
    if state.get("version") != VERSION:
        raise InputError(
            str(folder),
            expected=f"a learner of format {VERSION}",
            got=f"format {state.get('version')!r}",
            fix="Load it with the release of bemps that saved it.",
        )
    return state


def _save_items(items: Items, folder: Path) -> None:
    """Items do not change, so they are written once."""
    if isinstance(items, np.ndarray):
        if not (folder / "items.npy").exists():
            np.save(folder / "items.npy", items, allow_pickle=False)
    elif not (folder / "items.json").exists():
        (folder / "items.json").write_text(json.dumps(list(items), ensure_ascii=False), encoding="utf-8")


def _load_items(folder: Path) -> Items:
    if (folder / "items.npy").exists():
        rows: np.ndarray = np.load(folder / "items.npy", allow_pickle=False)
        return rows
    texts: list[str] = json.loads((folder / "items.json").read_text(encoding="utf-8"))
    return texts


def _load_surprisal(path: Path) -> np.ndarray | None:
    return np.load(path, allow_pickle=False) if path.exists() else None


def _named(strategy: object, what: str) -> str:
    if isinstance(strategy, str):
        return strategy
    raise InputError(
        what, expected="a strategy by name", got=repr(strategy), fix="A function cannot be saved; name a strategy."
    )


def described(value: object) -> Any:
    """A model as JSON: its class and constructor arguments, as far down as they can be written; else None."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [described(part) for part in value]
    kind = type(value)
    if not f"{kind.__module__}.".startswith(TRUSTED):
        return None
    names = [name for name in inspect.signature(kind).parameters if name not in ("args", "kwargs")]
    if not all(hasattr(value, name) for name in names):
        return None
    arguments = {name: described(getattr(value, name)) for name in names}
    lost = any(arguments[name] is None and getattr(value, name) is not None for name in names)
    return None if lost else {"class": f"{kind.__module__}:{kind.__qualname__}", "arguments": arguments}


def rebuilt(described_value: Any) -> Any:
    """What `described` described; only classes of bemps and scikit-learn are made."""
    if isinstance(described_value, list):
        return [rebuilt(part) for part in described_value]
    if not isinstance(described_value, dict):
        return described_value
    module, _, name = described_value["class"].partition(":")
    if not f"{module}.".startswith(TRUSTED) or not name.isidentifier():
        raise InputError(
            "model", expected="a class of bemps or scikit-learn", got=repr(described_value["class"]), fix="Pass model=."
        )
    kind = getattr(importlib.import_module(module), name)
    return kind(**{key: rebuilt(part) for key, part in described_value["arguments"].items()})


def _rebuilt_model(state: Any) -> Model:
    if state is None:
        raise InputError(
            "model",
            expected="a model, as this one could not be written as JSON",
            got="none",
            fix="Use ActiveLearner.load(path, model=...), with the model that was saved.",
        )
    model: Model = rebuilt(state)
    return model
