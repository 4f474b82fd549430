"""Where a dataset of a run comes from: a known name, or a labelled file or folder of the user's own."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bemps import data
from bemps.data.sampling import part_of
from bemps.errors import InputError, unknown_name

SPLIT_SEED = 0  # the hold-out and the part of a pool are the same at every seed of an experiment


@dataclass(frozen=True)
class Source:
    """A known name (`path` alone), or a file with its columns; `holdout` is the share to test on without `test`."""

    path: str
    text: str | tuple[str, ...] | None = None
    image: str | None = None
    label: str | None = None
    id: str | None = None
    test: str | None = None
    holdout: float = 0.2

    @property
    def known(self) -> bool:
        return self.path in data.datasets()

    @property
    def name(self) -> str:
        """What stands in the column `dataset`: the known name, or the name of the file."""
        return self.path if self.known else Path(self.path).name

    def described(self) -> dict[str, Any]:
        """For config.json: no folders, so that a run can be moved with its files."""
        if self.known:
            return {"name": self.name}
        told = {name: value for name, value in asdict(self).items() if value is not None} | {"path": self.name}
        return told | ({"test": Path(self.test).name} if self.test else {})


def source_of(given: object, columns: Mapping[str, Any]) -> Source:
    """A source from a name or path (with the `columns` of the flags), or from a table of a TOML file."""
    if isinstance(given, str):
        return Source(given) if given in data.datasets() else _checked(_typed({"path": given, **columns}))
    if not isinstance(given, Mapping) or not isinstance(given.get("path"), str):
        raise InputError(
            "dataset",
            expected='a name, a path, or a table {path = "my.csv", text = "body", label = "topic"}',
            got=repr(given),
            fix="Correct it.",
        )
    fields = set(Source.__dataclass_fields__)
    for name in given:
        if name not in fields:
            raise unknown_name(f"setting of dataset {given['path']}", name, fields)
    return _checked(_typed(dict(columns) | dict(given)))


def _typed(table: dict[str, Any]) -> Source:
    """A source of settings that are each of the right kind."""
    text = table.get("text")
    if isinstance(text, list | tuple) and text and all(isinstance(name, str) for name in text):
        table["text"] = tuple(text)
    for name, value in table.items():
        kind = (int, float) if name == "holdout" else tuple if name == "text" and isinstance(value, tuple) else str
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            expected = "a number between 0 and 1" if name == "holdout" else "a text"
            raise InputError(
                f"{name} of dataset {table['path']}", expected=expected, got=repr(value)[:60], fix="Correct it."
            )
    return Source(**table)


def _checked(source: Source) -> Source:
    if source.known:
        return Source(source.path)
    if not os.path.exists(source.path):
        where = "Or is it a file? There is none of that name."
        raise unknown_name("dataset", source.path, data.datasets(), where)
    if source.label is None:
        raise InputError(
            f"dataset {source.path}",
            expected="the column of the labels, which the experiment plays the annotator with",
            got="none",
            fix="Add --label COLUMN (--label folder for a folder of images).",
        )
    return source


def load(source: Source, *, data_dir: str | None, max_pool: int | None, max_test: int | None = None) -> data.Dataset:
    """The dataset: pool and test set, every row labelled, at most so many of each."""
    whole = _whole(source, data_dir, max_pool)
    return replace(whole, test=part_of(whole.test, max_test, seed=SPLIT_SEED))


def _whole(source: Source, data_dir: str | None, max_pool: int | None) -> data.Dataset:
    if source.known:
        return data.load(source.path, data_dir=data_dir, max_pool=max_pool, seed=SPLIT_SEED)
    text = list(source.text) if isinstance(source.text, tuple) else source.text
    read = partial(data.read, text=text, image=source.image, label=source.label, id=source.id, others=False)
    table, test = read(source.path), None if source.test is None else read(source.test)
    whole = data.dataset_of(table, test, name=source.name, share=source.holdout, seed=SPLIT_SEED)
    pool = part_of(whole.pool, max_pool, seed=SPLIT_SEED)
    return data.Dataset(source.name, pool, whole.test, None, whole.removed, whole.source, whole.notes)


def fingerprint(dataset: data.Dataset) -> str:
    """Changes when an item, an id, a label or a class of the pool or of the test set does."""
    digest = hashlib.blake2b(digest_size=8)
    for table in (dataset.pool, dataset.test):
        assert table.labels is not None
        digest.update("\n".join([*table.classes, "", *table.ids, "", *data.hashes_of(table.items)]).encode())
        digest.update(table.labels.astype("<i8").tobytes())
    return digest.hexdigest()
