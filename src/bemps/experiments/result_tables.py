"""The Parquet files of a run, written from the journals. Equal rounds give equal bytes."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bemps._utils.extras import optional_import
from bemps.experiments.cell import CellSetting, initial_ids, journal_path
from bemps.experiments.config import Config
from bemps.experiments.grid import KEY, Cell
from bemps.experiments.inputs.run_data import folder_of, load
from bemps.experiments.journal import Record, read_journal, write_atomically
from bemps.metrics import METRICS

RESULTS = ("round", "labels", *METRICS)
TIMINGS = ("round", "train_seconds", "query_seconds", "peak_memory_mb")
BINNED = ("round", "bin", "items", "confidence", "correct")  # the last two are sums over the items
_KINDS = {str: "string", int: "int64", float: "float64", bool: "bool"}
_TYPES = {
    **dict.fromkeys(("dataset", "model", "strategy", "id", "vectors", "kind"), "string"),
    **dict.fromkeys(("batch_size", "seed", "round", "labels", "bin", "epoch"), "int64"),
}


def write_tables(work: Mapping[Cell, CellSetting], config: Config, out: Path) -> int:
    """Write results, acquired, reliability and timings from all stored rounds.

    Parameters
    ----------
    work : mapping of Cell to CellSetting
        The cells.
    config : Config
        The configuration.
    out : Path
        The folder of the run.

    Returns
    -------
    int
        The number of rounds.
    """
    rounds = {cell: read_journal(journal_path(out, cell), cell.key).rounds for cell in work}
    axes = {name: _KINDS[type(values[0])] for name, values in config.axes.items()}
    rows = [(cell, record) for cell, records in rounds.items() for record in records]
    write_columns(out / "results.parquet", _columns(rows, axes, RESULTS), axes)
    write_columns(out / "timings.parquet", _columns(rows, axes, TIMINGS), axes)
    binned = [(cell, binned_record) for cell, record in rows for binned_record in _bins(record)]
    write_columns(out / "reliability.parquet", _columns(binned, axes, BINNED), axes)
    acquired = [pair for cell, records in rounds.items() for pair in _acquired(cell, records, work[cell])]
    write_columns(out / "acquired.parquet", _columns(acquired, axes, ("round", "id")), axes)
    return len(rows)


def _acquired(cell: Cell, records: list[Record], setting: CellSetting) -> Iterable[tuple[Cell, Record]]:
    """Round 0: the initial labels; round r: what was chosen after round r - 1 and was labelled for round r."""
    if not records:
        return
    cell_data = load(folder_of(setting.out, cell.dataset), setting.form)
    batches = [initial_ids(cell_data, setting.initial, cell.seed), *(record["next"] for record in records[:-1])]
    for number, batch in enumerate(batches):
        yield from ((cell, {"round": number, "id": name}) for name in batch)


def _bins(record: Record) -> Iterable[Record]:
    """The confidence bins of a round that are not empty."""
    for number, values in enumerate(record["bins"]):
        if values[0]:
            yield dict(zip(BINNED, (record["round"], number, *values), strict=True))


def _columns(rows: list[tuple[Cell, Record]], axes: Mapping[str, str], names: Iterable[str]) -> dict[str, list[Any]]:
    keys = [cell.key for cell, _ in rows]
    columns: dict[str, list[Any]] = {name: [key.get(name) for key in keys] for name in (*KEY, *axes)}
    return columns | {name: [record[name] for _, record in rows] for name in names}


def write_columns(path: Path, columns: dict[str, list[Any]], axes: Mapping[str, str]) -> None:
    """Write a Parquet file atomically.

    Parameters
    ----------
    path : Path
        The file.
    columns : dict of str to list
        The values by column.
    axes : mapping of str to str
        Types of the columns that are axes.
    """
    pa = optional_import("pyarrow", "experiments", "writing Parquet")
    parquet = optional_import("pyarrow.parquet", "experiments", "writing Parquet")
    types = {name: axes.get(name) or _TYPES.get(name, "float64") for name in columns}
    arrays = [pa.array(values, type=pa.type_for_alias(types[name])) for name, values in columns.items()]
    buffer = io.BytesIO()
    parquet.write_table(pa.table(arrays, names=list(columns)), buffer)
    write_atomically(path, buffer.getvalue())
