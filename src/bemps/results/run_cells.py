"""Rows of an optional file of a run, by the cell that they belong to."""

from collections import defaultdict

from bemps.results.learning_curves import Setting, axis_values, contestant_name, varying_axes
from bemps.results.run_reading import RunFolder

CellKey = tuple[Setting, str, int]
Batches = dict[str, dict[int, list[list[str]]]]


def cells_of(run: RunFolder, table: str) -> dict[CellKey, dict[int, list[int]]]:
    """The rows of a table by cell and round.

    Parameters
    ----------
    run : RunFolder
        The run.
    table : str
        The name of the file, without ending.

    Returns
    -------
    dict
        (setting, contestant, seed) to round to rows; empty if there is no such file.
    """
    rows = run.tables.get(table, {})
    axes = varying_axes(rows, [axis for axis in run.axes if axis in rows])
    cells: dict[CellKey, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in range(len(rows.get("round", ()))):
        setting = Setting(str(rows["dataset"][row]), str(rows["model"][row]), int(rows["batch_size"][row]))
        name = contestant_name(str(rows["strategy"][row]), axis_values(rows, axes, row))
        cells[setting, name, int(rows["seed"][row])][int(rows["round"][row])].append(row)
    return {cell: dict(by_round) for cell, by_round in cells.items()}


def acquired_ids(run: RunFolder) -> dict[Setting, Batches]:
    """The ids of every acquired batch, without the initial labels of round 0.

    Returns
    -------
    dict
        Setting to contestant to seed to batches.
    """
    ids = run.tables.get("acquired", {}).get("id", [])
    acquired: dict[Setting, Batches] = {}
    for (setting, name, seed), by_round in cells_of(run, "acquired").items():
        batches = [[str(ids[row]) for row in by_round[number]] for number in sorted(by_round) if number > 0]
        if batches and name in run.results.curves.get(setting, {}):
            acquired.setdefault(setting, {}).setdefault(name, {})[seed] = batches
    return acquired


def model_matches(row_model: str | None, setting: Setting) -> bool:
    """Whether the results of a model (any, if it is None) belong to a setting."""
    return row_model is None or row_model == setting.model
