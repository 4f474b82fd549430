"""From a file and some options to a project: made the first time, resumed and brought up to date after that."""

import os
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bemps._io import remove
from bemps.data import ImageFiles, Table, read
from bemps.errors import InputError, unknown_name
from bemps.exchange.columns import columns_of, to_settings, with_source
from bemps.exchange.entries import copy_key, items_of
from bemps.project_models import BY_KIND
from bemps.store import Change, Store, open_store
from bemps.strategies import find

LARGEST_AUDIT = 2_000
DUPLICATES = ("once", "ask")  # what to do with rows of the same text
NO_MODEL = "none"  # items at random, nothing is learnt
OWNER = "bemps label"  # the annotator of what was set up on the command line


@dataclass(frozen=True)
class Source:
    """Where the items come from: a file or folder, and its columns; see `bemps.data.read`."""

    path: Path
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def stamp(self) -> list[Any]:
        """Changes when the file does; a folder is looked through every time."""
        told = self.path.stat()
        return [
            str(self.path.resolve()),
            told.st_size,
            told.st_mtime_ns,
            [list(pair) for pair in sorted(self.columns.items())],
        ]


@dataclass(frozen=True)
class Wishes:
    """What the command line asks of a project; None leaves what is there."""

    classes: Sequence[str] | None = None
    title: str | None = None
    guidelines: str | None = None
    audit: float | None = None
    overlap: float | None = None
    model: str | None = None
    strategy: str | None = None
    stop_below: float | None = None
    seed: int | None = None
    duplicates: str | None = None


Rows = tuple[Table, Sequence[str]]  # of a file or folder, and the contents of its items
DEFAULTS = {"audit_share": 0.1, "overlap_share": 0.0, "seed": 0, "stop_rise": 0.01}


def prepared(where: str, source: Source | None, wishes: Wishes) -> tuple[Store, list[str]]:
    """The project's store, and what there is to say about it."""
    classes = None if wishes.classes is None else checked_classes(wishes.classes)
    _check_names(wishes)
    new, read = not ("://" in where or Path(where).exists()), None
    if new:
        if source is None:
            raise InputError("project", expected="one that exists", got=where, fix="Name the file to label as well.")
        read = read_items(source, classes)  # what cannot be read leaves no half-made project behind
        _enough(classes or read[0].classes)
    store = open_store(where, create=source is not None)
    try:
        return store, _brought_up_to_date(store, source, wishes, classes, read)
    except BaseException:
        _close(store, new)
        raise


def _close(store: Store, new: bool) -> None:
    """Close a store that could not be filled; a file that was made for it goes again, unless others are in it."""
    empty = new and store.path is not None and not store.count()
    store.close()
    if empty and store.path is not None:
        for ending in ("", "-wal", "-shm"):
            remove(store.path.with_name(store.path.name + ending))


def _check_names(wishes: Wishes) -> None:
    """Names of a model or strategy that do not exist are found out before anything is made."""
    known = {"auto", NO_MODEL, *(name for names in BY_KIND.values() for name in names)}
    if wishes.model is not None and wishes.model not in known:
        raise unknown_name("--model", wishes.model, known)
    if wishes.strategy is not None:
        find(wishes.strategy)
    if wishes.duplicates not in (None, *DUPLICATES):
        raise unknown_name("--duplicates", wishes.duplicates, DUPLICATES)


def _brought_up_to_date(
    store: Store, source: Source | None, wishes: Wishes, classes: tuple[str, ...] | None, read: Rows | None
) -> list[str]:
    """Items, classes and settings in one transaction: a refusal leaves the project as it was."""
    settings, notes = store.settings, []
    fresh = not settings.get("id")
    if source is None and fresh:
        raise InputError("project", expected="items", got="none", fix="Name the file to label as well.")
    if source is not None and read is None and _is_new(source, settings):
        read = read_items(source, classes)
    with store.changing() as change:
        if source is not None and read is not None:
            once = copy_key({"kind": read[0].kind, "duplicates": wishes.duplicates or settings.get("duplicates")})
            notes += _fill(change, source, read, classes, once)
            change.set_all(_origin(source, read, wishes, settings))
        if not fresh:
            notes += _new_classes(change, classes)
        change.set_all(_new_settings(settings, wishes))
    return notes + _draw_audit(store)


def _is_new(source: Source, settings: Mapping[str, Any]) -> bool:
    """Whether the file has changed, or was read by a release that did not keep its columns."""
    return settings.get("stamp") != source.stamp or "columns" not in settings


def _new_settings(settings: Mapping[str, Any], wishes: Wishes) -> dict[str, Any]:
    """What was asked for and is not so already, and the defaults of what was never set."""
    wanted = {
        "title": wishes.title,
        "guidelines": wishes.guidelines,
        "audit_share": wishes.audit,
        "overlap_share": wishes.overlap,
        "model": None if wishes.model == NO_MODEL else wishes.model,
        "no_model": None if wishes.model is None else wishes.model == NO_MODEL,
        "strategy": wishes.strategy,
        "stop_rise": wishes.stop_below,
        "seed": wishes.seed,
        "duplicates": wishes.duplicates,
    }
    given = {
        name: DEFAULTS.get(name) if value is None and name not in settings else value for name, value in wanted.items()
    }
    return {name: value for name, value in given.items() if value is not None and settings.get(name) != value}


def _fill(
    change: Change, source: Source, read: Rows, classes: tuple[str, ...] | None, once: Callable[[str], str] | None
) -> list[str]:
    """Items and classes of the file that the project has not."""
    table, contents = read
    for name in dict.fromkeys((*(classes or ()), *table.classes)):
        if name not in change.classes():
            change.add_class(name, OWNER)
    _enough(change.classes())
    rows = change.add_items(items_of(table, contents), once)
    if not rows:
        return [f"nothing new in {source.path}"]
    notes = [f"{rows - change.copies:,} new items from {source.path} ({table.found})"]
    if change.copies:
        notes.append(f"{change.copies:,} rows repeat a text: it is asked once, and the answer counts for all of them")
    return notes


def _origin(source: Source, read: Rows, wishes: Wishes, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where items came from; the first time also what the project is."""
    path = source.path.resolve()
    origin = {"stamp": source.stamp} | with_source(settings, path) | to_settings(settings, columns_of(*read))
    if settings.get("id"):
        return origin
    return origin | {
        "kind": read[0].kind,
        "title": wishes.title or source.path.stem.replace("_", " "),
        "folder": str(path if path.is_dir() else path.parent),
        "id": uuid.uuid4().hex,
    }


def _enough(names: Collection[str]) -> None:
    if len(names) < 2:
        fix = "For example: --classes bug,feature,question"
        raise InputError("--classes", expected="at least two", got=str(len(names) or "none"), fix=fix)


def read_items(source: Source, classes: tuple[str, ...] | None) -> Rows:
    """The table of a file or folder, and what its items show."""
    columns = dict(source.columns)
    if source.path.is_dir():
        columns.setdefault("id", "path")  # stable, and no image is opened
    table = read(source.path, **columns, classes=classes)
    if isinstance(table.items, ImageFiles):
        return table, _image_names(table.items, source.path)
    if not isinstance(table.items, list):
        raise InputError(str(source.path), expected="texts or images", got="numbers", fix="Name the text column.")
    return table, table.items


def _image_names(images: ImageFiles, path: Path) -> list[str]:
    """Paths relative to the data folder; what lies outside it, also through a link, would never be shown."""
    folder = (path if path.is_dir() else path.parent).resolve()
    names = []
    for place in images.paths:
        if not Path(place).resolve().is_relative_to(folder):
            raise InputError("image", expected=f"a file inside {folder}", got=place, fix="Copy it there.")
        names.append(Path(os.path.relpath(Path(place).absolute(), folder)).as_posix())
    return names


def checked_classes(names: Sequence[str]) -> tuple[str, ...]:
    """At least two names that nobody can mix up: also not by case or white space."""
    tidy = tuple(" ".join(name.split()) for name in names)
    seen: dict[str, str] = {}
    for name in tidy:
        if not name:
            raise InputError("--classes", expected="names", got="an empty one", fix="Remove the extra comma.")
        other = seen.setdefault(name.casefold(), name)
        if list(tidy).count(name) > 1 or other != name:
            raise InputError("--classes", expected="different names", got=f"{other!r} and {name!r}", fix="Rename one.")
    if len(tidy) < 2:
        raise InputError(
            "--classes", expected="at least two", got=str(len(tidy)), fix="For example: --classes bug,wish"
        )
    return tidy


def _new_classes(change: Change, classes: tuple[str, ...] | None) -> list[str]:
    """A class more on the command line is a class more; none is ever taken away there."""
    new = [name for name in classes or () if name not in change.classes()]
    for name in new:
        change.add_class(name, OWNER)
    return [f"new classes: {', '.join(new)}"] if new else []


def _draw_audit(store: Store) -> list[str]:
    """Set the audit slice aside before anything is chosen by the model: a fair sample of the pool."""
    share, have = float(store.settings.get("audit_share", 0.0)), store.audit()
    answered = store.current()
    free = [item for item in store.ids() if item not in answered and item not in have]
    wanted = min(LARGEST_AUDIT, round(share * store.count())) - len(have)
    if wanted <= 0 or not free:
        return []
    rng = np.random.default_rng([int(store.settings.get("seed", 0)), len(have)])
    drawn = rng.choice(len(free), min(wanted, len(free)), replace=False)
    store.mark_audit([free[row] for row in drawn])
    return [f"{len(drawn):,} items set aside at random to measure accuracy ({share:.0%} of those you will be asked)"]
