"""`read_run`: the folder that `bemps run` writes."""

import math
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from bemps._utils.existing_paths import path_exists
from bemps.data.json_text import parse_json
from bemps.data.parquet_files import opened_parquet, refuse_repeated_columns
from bemps.data.text_encoding import opened_text
from bemps.errors import InputError
from bemps.metrics import METRICS
from bemps.results.learning_curves import Results, collect_curves

KEYS = ("dataset", "model", "strategy", "batch_size", "seed")
INTEGERS = {"batch_size", "seed", "round", "labels", "epoch", "bin"}
SECONDS = {"train_seconds", "query_seconds"}  # not measured in every round
NUMBERS = {
    *METRICS,
    *SECONDS,
    "peak_memory_mb",
    *("items", "confidence", "correct", "probability", "ece", "running_ece"),
}
Columns = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class RunFolder:
    """The contents of the folder of a run.

    Attributes
    ----------
    path : Path
        The folder.
    results : Results
        The learning curves.
    axes : tuple of str
        Columns of the key besides dataset, model, strategy, batch size and seed.
    tables : dict of str to columns
        The optional files as columns, by name without ending.
    config : dict
        The configuration of the run.
    full : dict of str to dict of str to float
        Metrics of the classifiers trained on all labels, by `dataset/model`.
    """

    path: Path
    results: Results
    axes: tuple[str, ...]
    tables: dict[str, Columns] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    full: dict[str, dict[str, float]] = field(default_factory=dict)


OPTIONAL = {  # what each optional file must have beside the keys of the run
    "acquired": (*KEYS, "round", "id"),
    "timings": (*KEYS, "round", "train_seconds", "query_seconds"),
    "reliability": (*KEYS, "round", "bin", "items", "confidence", "correct"),
    "dynamics": ("dataset", "id", "epoch", "probability", "correct"),
    "epochs": ("dataset", "epoch", "kind", "ece"),
    "embeddings": ("dataset", "id", "label", "vector"),
}


def read_run(path: str | os.PathLike[str]) -> RunFolder:
    """Read the folder of a run.

    Parameters
    ----------
    path : path-like
        A folder that `bemps run` wrote.

    Returns
    -------
    RunFolder
        The results and the optional files.

    Raises
    ------
    InputError
        The folder has no results, or a file in it is not what `bemps run` writes.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise _unusable(folder, "a file" if path_exists(folder) else "no such folder")
    if not (folder / "results.parquet").is_file():
        raise _unusable(folder, "no results.parquet in it")
    rows = read_columns(folder / "results.parquet", (*KEYS, "round", "labels"))
    if not rows["round"]:
        raise _unusable(folder, "a results.parquet without a row")
    metrics = [name for name in METRICS if name in rows]
    if not metrics:
        raise _unusable(folder, f"a results.parquet without a measure ({', '.join(METRICS)})")
    tables = {
        name: read_columns(folder / f"{name}.parquet", needed)
        for name, needed in OPTIONAL.items()
        if (folder / f"{name}.parquet").is_file()
    }
    axes = _axes(rows, [tables[name] for name in ("acquired", "timings") if name in tables])
    _refuse_twice(folder, rows, axes)
    return RunFolder(
        folder,
        collect_curves(rows, axes, metrics),
        axes,
        tables,
        _config(folder / "config.json"),
        _full(folder / "full.json"),
    )


def read_columns(path: Path, needed: Collection[str]) -> Columns:
    """Read the columns of a Parquet file as lists. A missing column is refused."""
    fix = "Run the same `bemps run` command again: it repairs what is broken and continues."
    with opened_parquet(path, fix=fix) as file:
        names = file.schema_arrow.names
        missing = [name for name in needed if name not in names]
        if missing:
            raise InputError(
                str(path),
                expected=f"the columns {', '.join(needed)}",
                got=f"none called {', '.join(missing)}",
                fix="Give a folder that `bemps run` wrote.",
            )
        refuse_repeated_columns(path, names, names)
        table = file.read()
        columns = {name: table.column(name).to_pylist() for name in names}
    for name in INTEGERS & columns.keys():
        _refuse_other_kind(path, name, columns[name], "whole numbers", int)
    for name in NUMBERS & columns.keys():
        left_out = NoneType if name not in needed or name in SECONDS else float
        _refuse_other_kind(path, name, columns[name], "numbers", int, float, left_out)
    return columns


def _refuse_other_kind(path: Path, name: str, values: list[Any], words: str, *kinds: type) -> None:
    """Refuse a column with values of other types, or with infinite numbers."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, kinds) or (isinstance(value, float) and math.isinf(value)):
            got = f"{value!r} in row {row:,}"[:60]
            fix = "Give a folder that `bemps run` wrote."
            raise InputError(f"column {name} of {path}", expected=words, got=got, fix=fix)


def _axes(rows: Columns, others: list[Columns]) -> tuple[str, ...]:
    """Further columns of the key: those that every file of the run has and that are no metric."""
    known = {*KEYS, *METRICS, "round", "labels", "id", "train_seconds", "query_seconds", "peak_memory_mb"}
    shared = [name for name in rows if name not in known and all(name in other for other in others)]
    return tuple(shared if others else [name for name in shared if not isinstance(rows[name][0], float)])


def _refuse_twice(folder: Path, rows: Columns, axes: tuple[str, ...]) -> None:
    keys = Counter(zip(*(map(str, rows[name]) for name in (*KEYS, *axes, "round")), strict=True))
    twice, times = keys.most_common(1)[0]
    if times > 1:
        raise InputError(
            str(folder / "results.parquet"),
            expected="one row per round of a cell",
            got=f"{times} rows for {' '.join(twice)}",
            fix="Keep different runs in different folders.",
        )


def _unusable(folder: Path, got: str) -> InputError:
    new = "NEW_FOLDER" if folder.exists() else folder
    fix = f"Make one: bemps run --dataset digits --strategies coremse,margin,random --out {new}"
    if (folder / "config.json").is_file():
        got = f"a run without a finished table: {got}"
        fix = "Wait until `bemps run` ends, or run the same command again: it goes on."
    return InputError(str(folder), expected="a folder with the results of a run", got=got, fix=fix)


def _config(path: Path) -> dict[str, Any]:
    config = _json(path, {})
    if not isinstance(config, dict):
        raise _broken_json(path, type(config).__name__)
    return config


def _full(path: Path) -> dict[str, dict[str, float]]:
    """Metrics of the classifiers trained on all labels, by dataset/model. The file holds a list or an object."""
    content = _json(path, [])
    if isinstance(content, dict):
        content = [{"dataset": key, "model": None} | value for key, value in content.items() if isinstance(value, dict)]
    if not isinstance(content, list) or not all(
        isinstance(row, dict) and {"dataset", "model"} <= set(row) for row in content
    ):
        raise _broken_json(path, "something else than measures by dataset and model")
    return {
        str(row["dataset"]) if row["model"] is None else f"{row['dataset']}/{row['model']}": {
            name: float(value) for name, value in row.items() if isinstance(value, int | float) and abs(value) < 1e300
        }
        for row in content
    }


def _json(path: Path, without: Any) -> Any:
    if not path.is_file():
        return without
    with opened_text(path) as file:
        return parse_json(file.read(), str(path), "JSON of a run")


def _broken_json(path: Path, got: str) -> InputError:
    return InputError(str(path), expected="JSON of a run", got=got, fix="Run `bemps run` again, or remove the file.")
