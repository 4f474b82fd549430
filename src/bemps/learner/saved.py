"""A learner on disk: a folder of JSON and plain arrays, never pickle. The model is fitted again when it is needed.

`save` writes the folder whole or not at all, after everything in it has been made again once and compared.
`load` makes nothing that `bemps.learner.registry` does not list; see `bemps.learner.folder` for the files.
"""

import json
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bemps import _io
from bemps.errors import InputError
from bemps.learner import folder as folders
from bemps.learner.asked import Batch, Why
from bemps.learner.descriptions import NotDescribable, Writing, digest_of
from bemps.learner.fields import Fields
from bemps.learner.first_format import upgraded
from bemps.learner.rebuilding import Reading
from bemps.learner.registry import MODELS, name_of
from bemps.learner.saved_items import describe_items, rebuild_items
from bemps.members.base import Model, take
from bemps.types import Array

if TYPE_CHECKING:
    from bemps.learner.active import ActiveLearner

VERSION = 2


def save(learner: "ActiveLearner", path: str | PathLike[str], *, force: bool, with_model: bool) -> None:
    """Write the learner, under a lock, where nothing that others saved or made is lost."""
    target = Path(path).resolve()
    writing = Writing(learner.items)
    state = _state_of(learner, writing, with_model)
    items = _encoded("items", state.pop("items"))
    _encoded("labels and settings", state)
    known = learner.saved_as[1] if learner.saved_as and learner.saved_as[0] == target else None
    if known is None and not target.exists():
        _io.check_output(target, option="path", folder=folders.KIND)  # before a lock is made beside it
    try:
        with folders.locked(target):
            folders.check_target(target, known, force)
            with _io.written_whole(target, "learner") as draft:
                _write(draft, state, items, writing.arrays)
            learner.saved_as = target, str(folders.token(target))
    except OSError as error:  # of the lock
        got = error.strerror or str(error)
        raise InputError(str(path), expected="a folder to write to", got=got, fix="Check path and rights.") from error


def _encoded(what: str, value: Any) -> bytes:
    """As JSON. Half a surrogate pair, from a damaged file, has no bytes in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=None if what == "items" else 1)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        got, fix = repr(text[error.start : error.end]), "Remove such characters from texts, ids and labels."
        raise InputError(f"save: {what}", expected="texts of whole characters", got=got, fix=fix) from error


def _write(draft: Path, state: dict[str, Any], items: bytes, arrays: dict[str, Array]) -> None:
    """All files; the JSON knows the bytes of the others."""
    draft.mkdir()
    _io.mark_folder(draft, folders.KIND)
    for name, rows in arrays.items():
        np.save(draft / name, rows, allow_pickle=False)
    (draft / "items.json").write_bytes(items)
    digests = {name: digest_of(draft / name) for name in ("items.json", *arrays)}
    (draft / folders.STATE).write_bytes(_encoded("labels and settings", state | {"files": digests}))


def _state_of(learner: "ActiveLearner", writing: Writing, with_model: bool) -> dict[str, Any]:
    pool, surprisal = learner.pool, learner.knowledge.given_surprisal
    last = learner.last_classes
    return {
        "version": VERSION,
        "items": describe_items(learner.items, writing),
        "model": _described_model(learner, writing) if with_model else None,
        "strategy": _named(learner.strategy, "strategy"),
        "cold_start": _named(learner.cold_start, "cold_start"),
        "options": _described_options(learner, writing),
        "explain": learner.explain,
        "estimation_size": learner.estimation_size,
        "seed": learner.seed,
        "surprisal": None if surprisal is None else writing.array(np.asarray(surprisal), "surprisal"),
        "ids": list(pool.ids),
        "classes": pool.classes,
        "closed": pool.closed,
        "labels": pool.labels,
        "skipped": sorted(pool.skipped),
        "excluded": sorted(pool.excluded),
        "changes": pool.version,
        "asked": None if learner.asked is None else _described_batch(learner.asked),
        "asked_at": learner.asked_at,
        "agreement": learner.agreement,
        "last_classes": None if last is None else [int(code) for code in last],
        "last_classes_at": learner.last_classes_at,
    }


def _described_batch(batch: Batch) -> dict[str, Any]:
    fields = {name: getattr(batch, name) for name in ("id", "items", "scores", "strategy")}
    return fields | {"why": [asdict(reason) for reason in batch.why]}


def _described_model(learner: "ActiveLearner", writing: Writing) -> Any:
    """The model, once it is sure that what is made from its description has the same description."""
    described = writing.describe(learner.model, "model")
    if name_of(type(learner.model)) not in MODELS:
        raise NotDescribable(
            "save",
            expected="a model of bemps.members, which can be made again",
            got=type(learner.model).__name__,
            fix="Save with with_model=False, and hand the model over again: ActiveLearner.load(path, model=...).",
        )
    reading = Reading(learner.items, lambda name: writing.arrays[name], trusted=True)
    again = Writing(learner.items)
    if again.describe(reading.rebuild(described), "model") != _renumbered(described, writing, again):
        raise NotDescribable(
            "save",
            expected="a model that comes back as itself",
            got=f"{type(learner.model).__name__}, whose settings change on the way",
            fix="Save with with_model=False, and hand the model over again: ActiveLearner.load(path, model=...).",
        )
    return described


def _renumbered(described: Any, writing: Writing, again: Writing) -> Any:
    """The description with its arrays counted from 0, as in `again`; the arrays have to be equal too."""
    names = [name for name in writing.arrays if name.startswith("array-")][-len(again.arrays) :] if again.arrays else []
    for new, old in zip(again.arrays, names, strict=True):
        if not np.array_equal(again.arrays[new], writing.arrays[old], equal_nan=True):
            return None
    text = json.dumps(described)
    for new, old in zip(again.arrays, names, strict=True):
        text = text.replace(f'{{"array": "{old}"}}', f'{{"array": "{new}"}}')
    return json.loads(text)


def _described_options(learner: "ActiveLearner", writing: Writing) -> Any:
    try:
        return writing.describe(learner.options, "options")
    except NotDescribable as error:
        fix = "Name a score, or use one of bemps.scores; a function cannot be saved."
        raise InputError("save", expected=error.expected, got=error.got, fix=fix) from error


def _named(strategy: object, what: str) -> str:
    if isinstance(strategy, str):
        return strategy
    raise InputError(
        what, expected="a strategy by name", got=repr(strategy), fix="A function cannot be saved; name a strategy."
    )


def load(path: str | PathLike[str], model: Model | None = None) -> "ActiveLearner":
    """The learner of a folder."""
    target = Path(path).resolve()
    if not target.is_dir() and not folders.lock_of(target).exists():
        folders.read_state(target)  # says what is wrong, and leaves no lock behind
    try:
        with folders.locked(target):
            return _load(target, model)
    except (PermissionError, FileNotFoundError):  # no lock where nothing can be written: nobody saves there
        return _load(target, model)


def _load(target: Path, model: Model | None) -> "ActiveLearner":
    token = folders.token(target)
    state = folders.read_state(target)
    if state.get("version") == 1:
        state = upgraded(state if model is None else state | {"model": None}, target)
    if state.get("version") != VERSION:
        raise InputError(
            str(target),
            expected=f"a learner of format {VERSION} or older",
            got=f"format {state.get('version')!r}"[:80],
            fix="Load it with the release of bemps that saved it.",
        )
    fields = Fields(state, str(target))
    folders.check_files(target, fields.value("files"))
    learner = _learner(fields, target, model)
    learner.saved_as = target, str(token)
    return learner


def _learner(fields: Fields, target: Path, model: Model | None) -> "ActiveLearner":
    from bemps.learner.active import ActiveLearner

    reading = Reading(None, lambda name: folders.read_array(target, name))
    reading.items = rebuild_items(fields.value("items") or folders.read_json(target, "items.json"), reading)
    classes = fields.texts("classes")
    surprisal = fields.value("surprisal")
    learner = ActiveLearner(
        model if model is not None else _rebuilt_model(fields.value("model"), reading),
        reading.items,
        ids=fields.texts("ids"),
        classes=classes if fields.flag("closed") else None,
        strategy=fields.text("strategy"),
        options=fields.options("options", reading),
        cold_start=fields.text("cold_start"),
        explain=fields.flag("explain"),
        surprisal=None if surprisal is None else reading.rebuild(surprisal),
        estimation_size=fields.whole("estimation_size", 1),
        seed=fields.whole("seed", 0),
    )
    _restore(learner, fields, classes)
    return learner


def _restore(learner: "ActiveLearner", fields: Fields, classes: list[str]) -> None:
    """What was told, skipped, asked and seen so far."""
    pool, known = learner.pool, set(learner.pool.ids)
    fields.expect(len(set(classes)) == len(classes), "classes", "different names")
    pool.classes, pool.labels = classes, fields.labels("labels", known, set(classes))
    pool.skipped = set(fields.texts("skipped", known))
    pool.excluded = frozenset(fields.texts("excluded", known))
    fields.expect(not pool.labels.keys() & pool.skipped, "skipped", "items without a label")
    pool.version = fields.whole("changes", 0)
    asked = fields.value("asked")
    learner.asked = None if asked is None else _batch(Fields(asked, f"{fields.where}: asked"), learner)
    learner.asked_at = fields.whole("asked_at", -1)
    learner.agreement = fields.numbers("agreement")
    learner.last_classes = fields.codes("last_classes", len(learner.estimation_rows()), len(classes))
    learner.last_classes_at = fields.whole("last_classes_at", -1)
    learner.reopen()


def _batch(fields: Fields, learner: "ActiveLearner") -> Batch:
    items, scores = fields.texts("items", set(learner.pool.ids)), fields.numbers("scores")
    reasons = [Fields(reason, fields.where) for reason in fields.values("why")]
    why = tuple(Why(r.number("gain"), r.number("share"), r.whole("stands_for", 0)) for r in reasons)
    fits = len(items) == len(scores) == len(set(items)) and len(why) in (0, len(items))
    fields.expect(fits, "items", "as many scores and reasons as items")
    contents = take(learner.items, learner.pool.positions(items))
    return Batch(fields.text("id"), tuple(items), tuple(scores), why, fields.text("strategy"), contents=contents)


def _rebuilt_model(state: Any, reading: Reading) -> Model:
    if state is None:
        raise InputError(
            "model",
            expected="a model, as this learner was saved without one",
            got="none",
            fix="Use ActiveLearner.load(path, model=...), with the model that was saved.",
        )
    model: Model = reading.rebuild(state)
    if name_of(type(model)) not in MODELS:
        got = str(state)[:80]
        raise InputError("model", expected="a class of bemps or scikit-learn", got=got, fix="Pass model= instead.")
    return model
