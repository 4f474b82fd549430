"""Rows of an optional file by the cell that they belong to."""

from collections import defaultdict

from bemps.statistics import RunFolder, Setting
from bemps.statistics.curves import contestant, variant, varying

Cell = tuple[Setting, str, int]


def cells_of(run: RunFolder, table: str) -> dict[Cell, dict[int, list[int]]]:
    """(setting, contestant, seed) -> round -> rows; empty where the file is not there."""
    rows = run.tables.get(table, {})
    shown = varying(rows, [axis for axis in run.axes if axis in rows])
    found: dict[Cell, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in range(len(rows.get("round", ()))):
        place = Setting(str(rows["dataset"][row]), str(rows["model"][row]), int(rows["batch_size"][row]))
        name = contestant(str(rows["strategy"][row]), variant(rows, shown, row))
        found[place, name, int(rows["seed"][row])][int(rows["round"][row])].append(row)
    return {cell: dict(by_round) for cell, by_round in found.items()}


def acquired_ids(run: RunFolder) -> dict[Setting, dict[str, dict[int, list[list[str]]]]]:
    """setting -> contestant -> seed -> the ids of every acquired batch, without the initial labels of round 0."""
    ids = run.tables.get("acquired", {}).get("id", [])
    found: dict[Setting, dict[str, dict[int, list[list[str]]]]] = {}
    for (place, name, seed), by_round in cells_of(run, "acquired").items():
        batches = [[str(ids[row]) for row in by_round[number]] for number in sorted(by_round) if number > 0]
        if batches and name in run.results.curves.get(place, {}):
            found.setdefault(place, {}).setdefault(name, {})[seed] = batches
    return found


def belongs(row_model: str | None, setting: Setting) -> bool:
    """Whether what was made with a model (any, where none is named) belongs to a setting."""
    return row_model is None or row_model == setting.model
