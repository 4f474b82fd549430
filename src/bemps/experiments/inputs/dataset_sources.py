"""The source of a dataset: a published name, or a labelled file or folder of the user."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bemps import data
from bemps.data.sampling import sampled_rows
from bemps.errors import InputError, unknown_name

SPLIT_SEED = 0  # the hold-out and the part of a pool are the same at every seed of an experiment


@dataclass(frozen=True)
class DatasetSource:
    """A published dataset (`path` alone), or a file with its columns.

    Attributes
    ----------
    path : str
        The name or the file.
    text : str or tuple of str, optional
        The columns of the texts.
    image : str, optional
        The column of the image paths.
    label : str, optional
        The column of the labels.
    id : str, optional
        The column of the ids.
    test : str, optional
        The file of the test set.
    holdout : float
        The share to test on, if there is no test file.
    delimiter, encoding : str, optional
        Of a CSV, if they are not a comma and UTF-8; of both files.
    """

    path: str
    text: str | tuple[str, ...] | None = None
    image: str | None = None
    label: str | None = None
    id: str | None = None
    test: str | None = None
    holdout: float = 0.2
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def is_published(self) -> bool:
        """Whether it is a published dataset."""
        return self.path in data.datasets()

    @property
    def name(self) -> str:
        """The name in the column `dataset`: the published name, or the name of the file."""
        return self.path if self.is_published else Path(self.path).name

    def described(self) -> dict[str, Any]:
        """Return the settings for config.json. They have no folders, because a run may be moved with its files."""
        if self.is_published:
            return {"name": self.name}
        settings = {name: value for name, value in asdict(self).items() if value is not None} | {"path": self.name}
        return settings | ({"test": Path(self.test).name} if self.test else {})


def source_of(setting: object, columns: Mapping[str, Any]) -> DatasetSource:
    """Make a source from a name or path (with the `columns` of the flags), or from a table of a TOML file."""
    if isinstance(setting, str):
        return DatasetSource(setting) if setting in data.datasets() else _checked(_typed({"path": setting, **columns}))
    if not isinstance(setting, Mapping) or not isinstance(setting.get("path"), str):
        raise InputError(
            "dataset",
            expected='a name, a path, or a table {path = "my.csv", text = "body", label = "topic"}',
            got=repr(setting),
            fix="Correct it.",
        )
    fields = set(DatasetSource.__dataclass_fields__)
    for name in setting:
        if name not in fields:
            raise unknown_name(f"setting of dataset {setting['path']}", name, fields)
    return _checked(_typed(dict(columns) | dict(setting)))


def _typed(table: dict[str, Any]) -> DatasetSource:
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
    return DatasetSource(**table)


def _checked(source: DatasetSource) -> DatasetSource:
    if source.is_published:
        return DatasetSource(source.path)
    if not os.path.exists(source.path):
        where = "Or is it a file? There is none of that name."
        raise unknown_name("dataset", source.path, data.datasets(), where)
    if source.label is None:
        raise InputError(
            f"dataset {source.path}",
            expected="the column of the labels: with them the experiment plays the annotator",
            got="none",
            fix="Add --label COLUMN (--label folder for a folder of images).",
        )
    return source


def load(
    source: DatasetSource, *, data_dir: str | None, max_pool: int | None, max_test: int | None = None
) -> data.Dataset:
    """Load the pool and the test set of a dataset. Every row has a label.

    Parameters
    ----------
    source : DatasetSource
        The source.
    data_dir : str or None
        The folder of the published datasets.
    max_pool : int or None
        The largest number of items of the pool.
    max_test : int, optional
        The largest number of items of the test set.

    Returns
    -------
    Dataset
        The dataset.
    """
    dataset = _read_dataset(source, data_dir, max_pool)
    return replace(dataset, test=sampled_rows(dataset.test, max_test, seed=SPLIT_SEED))


def _read_dataset(source: DatasetSource, data_dir: str | None, max_pool: int | None) -> data.Dataset:
    if source.is_published:
        return data.load(source.path, data_dir=data_dir, max_pool=max_pool, seed=SPLIT_SEED)
    text = list(source.text) if isinstance(source.text, tuple) else source.text
    read = partial(
        data.read,
        text=text,
        image=source.image,
        label=source.label,
        id=source.id,
        delimiter=source.delimiter,
        encoding=source.encoding,
        others=False,
    )
    table, test = read(source.path), None if source.test is None else read(source.test)
    dataset = data.dataset_of(table, test, name=source.name, share=source.holdout, seed=SPLIT_SEED)
    pool = sampled_rows(dataset.pool, max_pool, seed=SPLIT_SEED)
    return data.Dataset(source.name, pool, dataset.test, None, dataset.removed, dataset.source, dataset.notes)


def fingerprint(dataset: data.Dataset) -> str:
    """A digest that changes with any item, id, label or class of the pool or of the test set."""
    digest = hashlib.blake2b(digest_size=8)
    for table in (dataset.pool, dataset.test):
        assert table.labels is not None
        digest.update("\n".join([*table.classes, "", *table.ids, "", *data.hashes_of(table.items)]).encode())
        digest.update(table.labels.astype("<i8").tobytes())
    return digest.hexdigest()
