"""The folder that `bemps run` leaves, as columns."""

import math
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from bemps.data.encoding import opened_text
from bemps.data.json_text import parse_json
from bemps.data.parquet import opened_parquet, refuse_twice
from bemps.errors import InputError
from bemps.statistics.curves import Results, collect
from bemps.statistics.metrics import METRICS

KEYS = ("dataset", "model", "strategy", "batch_size", "seed")
WHOLE = {"batch_size", "seed", "round", "labels", "epoch", "bin"}
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
    """Everything that is there; `tables` holds the optional files by name without ending."""

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
    """The results of a run, and what else lies beside them; refused with what to do when they cannot be used."""
    folder = Path(path)
    if not folder.is_dir():
        raise _unusable(folder, "no such folder")
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
        folder, collect(rows, axes, metrics), axes, tables, _config(folder / "config.json"), _full(folder / "full.json")
    )


def read_columns(path: Path, needed: Collection[str]) -> Columns:
    """A Parquet file as lists, with at least the columns that are needed."""
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
        refuse_twice(path, names, names)
        table = file.read()
        columns = {name: table.column(name).to_pylist() for name in names}
    for name in WHOLE & columns.keys():
        _refuse_other_kind(path, name, columns[name], "whole numbers", int)
    for name in NUMBERS & columns.keys():
        left_out = NoneType if name not in needed or name in SECONDS else float
        _refuse_other_kind(path, name, columns[name], "numbers", int, float, left_out)
    return columns


def _refuse_other_kind(path: Path, name: str, values: list[Any], words: str, *kinds: type) -> None:
    """The columns that are computed with must hold numbers."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, kinds) or (isinstance(value, float) and math.isinf(value)):
            got = f"{value!r} in row {row:,}"[:60]
            fix = "Give a folder that `bemps run` wrote."
            raise InputError(f"column {name} of {path}", expected=words, got=got, fix=fix)


def _axes(rows: Columns, others: list[Columns]) -> tuple[str, ...]:
    """Further columns of the key: those that every file of the run shares and that are no measure."""
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
    return InputError(
        str(folder),
        expected="a folder with the results of a run",
        got=got,
        fix=f"Make one: bemps run --dataset digits --strategies coremse,margin,random --out {folder}",
    )


def _config(path: Path) -> dict[str, Any]:
    told = _json(path, {})
    if not isinstance(told, dict):
        raise _broken_json(path, type(told).__name__)
    return told


def _full(path: Path) -> dict[str, dict[str, float]]:
    """Measures of the classifier trained on every label, by dataset/model; in the file a list or such an object."""
    told = _json(path, [])
    if isinstance(told, dict):
        told = [{"dataset": key, "model": None} | value for key, value in told.items() if isinstance(value, dict)]
    if not isinstance(told, list) or not all(
        isinstance(row, dict) and {"dataset", "model"} <= set(row) for row in told
    ):
        raise _broken_json(path, "something else than measures by dataset and model")
    return {
        str(row["dataset"]) if row["model"] is None else f"{row['dataset']}/{row['model']}": {
            name: float(value) for name, value in row.items() if isinstance(value, int | float) and abs(value) < 1e300
        }
        for row in told
    }


def _json(path: Path, without: Any) -> Any:
    if not path.is_file():
        return without
    with opened_text(path) as file:
        return parse_json(file.read(), str(path), "JSON of a run")


def _broken_json(path: Path, got: str) -> InputError:
    return InputError(str(path), expected="JSON of a run", got=got, fix="Run `bemps run` again, or remove the file.")
