"""Saving and loading of learners: a folder of JSON and plain arrays, never pickle.

The model is fitted again when it is needed. `save` writes the folder completely or not at all, after it has rebuilt and
compared everything in it once. `load` makes only classes of the table `saved_classes`. `learner_folder` describes the
files.
"""

import json
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bemps._utils import files
from bemps._utils.archives import is_archive
from bemps.errors import InputError
from bemps.learner.batch import Batch, Why
from bemps.learner.saving import learner_folder
from bemps.learner.saving.descriptions import DescriptionWriter, NotDescribable, digest_of
from bemps.learner.saving.first_format import upgraded_state
from bemps.learner.saving.json_fields import JsonFields
from bemps.learner.saving.rebuilding import DescriptionReader
from bemps.learner.saving.saved_classes import MODELS, name_of
from bemps.learner.saving.saved_items import describe_items, rebuild_items
from bemps.models.base import Model, take
from bemps.types import Array, Progress

if TYPE_CHECKING:
    from bemps.learner.active_learner import ActiveLearner

VERSION = 2


def save(
    learner: "ActiveLearner", path: str | PathLike[str], *, force: bool, with_model: bool = True, portable: bool = False
) -> None:
    """Save a learner, under a lock. Nothing that others saved is lost.

    Parameters
    ----------
    learner : ActiveLearner
        The learner.
    path : path
        The folder.
    force : bool
        Whether another learner in the folder may be replaced.
    with_model : bool
        Whether to save the model.
    portable : bool
        Whether folders of this machine are left out: those of kept vectors and of images.

    Raises
    ------
    InputError
        The folder cannot be written, or something of the learner cannot be saved.
    """
    target = _folder(path)
    writer = DescriptionWriter(learner.items, portable)
    state = _state_of(learner, writer, with_model)
    items = _encoded("items", state.pop("items"))
    _encoded("labels and settings", state)
    known = learner.saved_as[1] if learner.saved_as and learner.saved_as[0] == target else None
    try:
        if known is None and not target.exists():
            files.check_output(target, option="path", folder=learner_folder.KIND)  # before a lock is made beside it
        with learner_folder.locked(target):
            learner_folder.check_target(target, known, force)
            with files.written_whole(target, "learner") as draft:
                _write(draft, state, items, writer.arrays)
            learner.saved_as = target, str(learner_folder.folder_token(target))
    except OSError as error:  # of the name or the lock
        got = error.strerror or str(error)
        raise InputError(str(path), expected="a folder to write to", got=got, fix="Check path and rights.") from error


def _folder(path: Any) -> Path:
    try:
        folder = Path(path).resolve()
        folder.with_name("lock")  # the root has no name, and no place beside it
    except (TypeError, ValueError, OSError) as error:
        fix = "For example 'tickets.learner'."
        raise InputError("path", expected="the path of a folder", got=repr(path)[:80], fix=fix) from error
    return folder


def _encoded(what: str, value: Any) -> bytes:
    """As JSON. Half a surrogate pair, from a damaged file, has no bytes in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=None if what == "items" else 1)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        got, fix = repr(text[error.start : error.end]), "Remove such characters from texts, ids and labels."
        raise InputError(f"save: {what}", expected="texts of whole characters", got=got, fix=fix) from error


def _write(draft: Path, state: dict[str, Any], items: bytes, arrays: dict[str, Array]) -> None:
    """All files; the JSON knows the bytes of the others, and its own content."""
    draft.mkdir()
    files.mark_folder(draft, learner_folder.KIND)
    for name, rows in arrays.items():
        np.save(draft / name, rows, allow_pickle=False)
    (draft / "items.json").write_bytes(items)
    digests = {name: digest_of(draft / name) for name in ("items.json", *arrays)}
    state = state | {"files": digests}
    state[learner_folder.DIGEST] = learner_folder.state_digest(state)
    (draft / learner_folder.STATE).write_bytes(_encoded("labels and settings", state))


def _state_of(learner: "ActiveLearner", writer: DescriptionWriter, with_model: bool) -> dict[str, Any]:
    pool, surprisal = learner.pool, learner.fitted_model.item_surprisal
    last = learner.last_classes
    return {
        "version": VERSION,
        "items": describe_items(learner.items, writer),
        "model": _described_model(learner, writer) if with_model else None,
        "strategy": _named(learner.strategy, "strategy"),
        "cold_start": _named(learner.cold_start, "cold_start"),
        "options": _described_options(learner, writer),
        "explain": learner.explain,
        "estimation_size": learner.estimation_size,
        "seed": learner.seed,
        "surprisal": None if surprisal is None else writer.array(np.asarray(surprisal), "surprisal"),
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


def _described_model(learner: "ActiveLearner", writer: DescriptionWriter) -> Any:
    """The model, once it is sure that what is made from its description has the same description."""
    described = writer.describe(learner.model, "model")
    if name_of(type(learner.model)) not in MODELS:
        raise NotDescribable(
            "save",
            expected="a model of bemps.models, which can be made again",
            got=type(learner.model).__name__,
            fix="Save with with_model=False, and hand the model over again: ActiveLearner.load(path, model=...).",
        )
    reader = DescriptionReader(learner.items, lambda name: writer.arrays[name], trusted=True)
    again = DescriptionWriter(learner.items, writer.portable)
    if again.describe(reader.rebuild(described), "model") != _renumbered(described, writer, again):
        raise NotDescribable(
            "save",
            expected="a model that comes back as itself",
            got=f"{type(learner.model).__name__}, whose settings change on the way",
            fix="Save with with_model=False, and hand the model over again: ActiveLearner.load(path, model=...).",
        )
    return described


def _renumbered(described: Any, writer: DescriptionWriter, again: DescriptionWriter) -> Any:
    """The description with its arrays counted from 0, as in `again`; the arrays have to be equal too."""
    names = [name for name in writer.arrays if name.startswith("array-")][-len(again.arrays) :] if again.arrays else []
    for new, old in zip(again.arrays, names, strict=True):
        if not np.array_equal(again.arrays[new], writer.arrays[old], equal_nan=True):
            return None
    text = json.dumps(described)
    for new, old in zip(again.arrays, names, strict=True):
        text = text.replace(f'{{"array": "{old}"}}', f'{{"array": "{new}"}}')
    return json.loads(text)


def _described_options(learner: "ActiveLearner", writer: DescriptionWriter) -> Any:
    try:
        return writer.describe(learner.options, "options")
    except NotDescribable as error:
        fix = "Name a score, or use one of bemps.scores; a function cannot be saved."
        raise InputError("save", expected=error.expected, got=error.got, fix=fix) from error


def _named(strategy: object, what: str) -> str:
    if isinstance(strategy, str):
        return strategy
    raise InputError(
        what, expected="a strategy by name", got=repr(strategy), fix="A function cannot be saved; name a strategy."
    )


def load(
    path: str | PathLike[str], model: Model | None = None, cache: str | None = None, progress: Progress | None = None
) -> "ActiveLearner":
    """Load the learner of a folder, or of a zip file that holds such a folder."""
    learner = _load_any(path, model, cache)
    if progress is not None:
        _report(learner.model, progress)
    return learner


def learns_for_minutes(learner: "ActiveLearner") -> bool:
    """Whether an encoder is fine-tuned on the labels before the first prediction."""
    return hasattr(learner.model, "tuned") or hasattr(learner.model, "fit_encoder")


def _report(model: Any, progress: Progress) -> None:
    """Let a model, and the encoder that it reads with, report what they do."""
    encode: Any = getattr(getattr(model, "frozen", model), "encode", None)
    for part in (model, encode):
        if hasattr(part, "progress"):
            part.progress = progress


def _load_any(path: str | PathLike[str], model: Model | None, cache: str | None) -> "ActiveLearner":
    target = _folder(path)
    if is_archive(target):
        with learner_folder.unpacked(target) as folder:
            learner = _load(folder, model, cache)
        learner.saved_as = None
        return learner
    if not target.is_dir() and not learner_folder.lock_of(target).exists():
        learner_folder.read_state(target)  # says what is wrong, and leaves no lock behind
    try:
        with learner_folder.locked(target):
            return _load(target, model, cache)
    except (PermissionError, FileNotFoundError):  # no lock where nothing can be written: nobody saves there
        return _load(target, model, cache)


def _load(target: Path, model: Model | None, cache: str | None) -> "ActiveLearner":
    folder_token = learner_folder.folder_token(target)
    state = learner_folder.read_state(target)
    if state.get("version") == 1:
        state = upgraded_state(state if model is None else state | {"model": None}, target)
    if state.get("version") != VERSION:
        raise InputError(
            str(target),
            expected=f"a learner of format {VERSION} or older",
            got=f"format {state.get('version')!r}"[:80],
            fix="Load it with the release of bemps that saved it.",
        )
    fields = JsonFields(state, str(target))
    learner_folder.check_files(target, fields.value("files"))
    learner = _learner(fields, target, model, cache)
    learner.saved_as = target, str(folder_token)
    return learner


def _learner(fields: JsonFields, target: Path, model: Model | None, cache: str | None) -> "ActiveLearner":
    from bemps.learner.active_learner import ActiveLearner

    reader = DescriptionReader(None, lambda name: learner_folder.read_array(target, name), cache=cache)
    reader.items = rebuild_items(fields.value("items") or learner_folder.read_json(target, "items.json"), reader)
    classes = fields.texts("classes")
    surprisal = fields.value("surprisal")
    learner = ActiveLearner(
        model if model is not None else _rebuilt_model(fields.value("model"), reader),
        reader.items,
        ids=fields.texts("ids"),
        classes=classes if fields.flag("closed") else None,
        strategy=fields.text("strategy"),
        options=fields.options("options", reader),
        cold_start=fields.text("cold_start"),
        explain=fields.flag("explain"),
        surprisal=None if surprisal is None else reader.rebuild(surprisal),
        estimation_size=fields.integer("estimation_size", 1),
        seed=fields.integer("seed", 0),
    )
    _restore(learner, fields, classes)
    return learner


def _restore(learner: "ActiveLearner", fields: JsonFields, classes: list[str]) -> None:
    """Restore labels, skipped items, the asked batch and the last predictions."""
    pool, known = learner.pool, set(learner.pool.ids)
    fields.expect(len(set(classes)) == len(classes), "classes", "different names")
    labels, skipped = fields.labels("labels", known, set(classes)), set(fields.texts("skipped", known))
    pool.excluded = frozenset(fields.texts("excluded", known))
    fields.expect(not labels.keys() & skipped, "skipped", "items without a label")
    pool.sync(labels, skipped, classes, fields.integer("changes", 0))
    asked = fields.value("asked")
    learner.asked = None if asked is None else _batch(JsonFields(asked, f"{fields.where}: asked"), learner)
    learner.asked_at = fields.integer("asked_at", -1)
    learner.agreement = fields.numbers("agreement")
    learner.last_classes = fields.codes("last_classes", len(learner.estimation_rows()), len(classes))
    learner.last_classes_at = fields.integer("last_classes_at", -1)
    learner.restore_asked_batch()


def _batch(fields: JsonFields, learner: "ActiveLearner") -> Batch:
    items, scores = fields.texts("items", set(learner.pool.ids)), fields.numbers("scores")
    reasons = [JsonFields(reason, fields.where) for reason in fields.values("why")]
    why = tuple(Why(r.number("gain"), r.number("share"), r.integer("stands_for", 0)) for r in reasons)
    fits = len(items) == len(scores) == len(set(items)) and len(why) in (0, len(items))
    fields.expect(fits, "items", "as many scores and reasons as items")
    contents = take(learner.items, learner.pool.positions(items))
    return Batch(fields.text("id"), tuple(items), tuple(scores), why, fields.text("strategy"), contents=contents)


def _rebuilt_model(state: Any, reader: DescriptionReader) -> Model:
    if state is None:
        raise InputError(
            "model",
            expected="a model, as this learner was saved without one",
            got="none",
            fix="Use ActiveLearner.load(path, model=...), with the model that was saved.",
        )
    model: Model = reader.rebuild(state)
    if name_of(type(model)) not in MODELS:
        got = str(state)[:80]
        raise InputError("model", expected="a class of bemps or scikit-learn", got=got, fix="Pass model= instead.")
    return model
