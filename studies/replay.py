"""The items that committed runs labelled, and their curves again: python studies/replay.py keep|play NAME RUN [RUN ...]

keep  write studies/acquired/NAME.parquet from the folders that `bemps run` left: one row for each cell, with the
      positions in the pool of all labelled items, in their order
play  train on those items again, with the data and vectors of a folder of this machine, and print how far each measure
      is from the committed one

Rules with k-means follow rounding in the vectors, which differs between processors: they may choose other items on
another machine. Played with the same items, the learner gives the committed curves again.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from pyarrow import parquet
from tables import RESULTS

from bemps import ActiveLearner
from bemps.experiments.grid import KEY, Cell
from bemps.experiments.inputs import run_data
from bemps.experiments.inputs.pool_encoding import form_of, view_options
from bemps.limits import limits
from bemps.metrics import measure_all
from bemps.models.model_registry import grid_model
from bemps.types import Array

ACQUIRED = RESULTS.parent / "acquired"
MEASURES = ("f1", "accuracy", "brier", "log_loss")
OWN = ("sizes", "positions", "pool")  # columns beside the key of a cell


def acquired_rows(run: Path) -> Iterator[dict[str, Any]]:
    """A row for each cell of a run, sorted by round as the run left them."""
    rows = parquet.read_table(run / "acquired.parquet").to_pylist()
    data = json.loads((run / "config.json").read_text())["data"]
    names = [name for name in rows[0] if name not in ("round", "id")]
    for key, group in groupby(rows, key=lambda row: tuple(row[name] for name in names)):
        labelled = list(group)
        dataset = labelled[0]["dataset"]
        ids = json.loads((run_data.folder_of(run, dataset) / "meta.json").read_text())["ids"]
        at = {name: position for position, name in enumerate(ids)}
        sizes = np.bincount([row["round"] for row in labelled])
        yield dict(zip(names, key, strict=True)) | {
            "pool": data[dataset]["fingerprint"],
            "sizes": sizes.tolist(),
            "positions": [at[row["id"]] for row in labelled],
        }


def keep(name: str, runs: list[Path]) -> None:
    rows = [row for run in runs for row in acquired_rows(run)]
    rows.sort(key=lambda row: tuple(str(value) for key, value in row.items() if key not in OWN))
    columns = {key: [row[key] for row in rows] for key in rows[0] if key not in ("sizes", "positions")}
    columns |= {key: pa.array([row[key] for row in rows], pa.list_(pa.uint16())) for key in ("sizes", "positions")}
    ACQUIRED.mkdir(exist_ok=True)
    table = pa.table(columns)
    parquet.write_table(table, ACQUIRED / f"{name}.parquet", compression="zstd", compression_level=19)


def cell_of(row: dict[str, Any]) -> Cell:
    options = {name: value for name, value in row.items() if name not in (*KEY, *OWN) and value is not None}
    return Cell(**{name: row[name] for name in KEY}, options=tuple(options.items()))


def replayed(row: dict[str, Any], run: Path) -> list[dict[str, float]]:
    """The measures after each round, of a learner that is told the committed items."""
    cell = cell_of(row)
    options, entry = dict(cell.options), grid_model(cell.model)
    folder = run_data.folder_of(run, cell.dataset)
    meta = json.loads((folder / "meta.json").read_text())
    if meta["fingerprint"] != row["pool"]:
        raise SystemExit(f"{folder} holds other items of {cell.dataset} than those of the committed run")
    form = form_of(entry, options, meta["kind"])
    cell_data = run_data.load(folder, form)
    mine = entry.options.keys() - {"encoder"}
    own = view_options(form, entry, options) | {name: value for name, value in options.items() if name in mine}
    learner = ActiveLearner(
        entry.make(cell_data.items, run_data.cache_of(folder), **own),
        cell_data.items,
        ids=cell_data.ids,
        classes=cell_data.classes,
        strategy="random",
        seed=cell.learner_seed,
        explain=False,
    )
    return list(_rounds(learner, cell_data, np.split(np.array(row["positions"]), np.cumsum(row["sizes"])[:-1])))


def _rounds(
    learner: ActiveLearner, cell_data: run_data.CellData, batches: list[Int[Array, " B"]]
) -> Iterator[dict[str, float]]:
    for batch in batches:
        learner.tell({cell_data.ids[row]: cell_data.classes[cell_data.labels[row]] for row in batch})
        yield measure_all(learner.predict(cell_data.test_items), cell_data.test_labels)


def committed(name: str, cell: Cell) -> Float[Array, "R M"]:
    table = parquet.read_table(
        RESULTS / f"{name}.parquet", filters=[(key, "==", value) for key, value in cell.key.items()]
    )
    return np.array([[row[measure] for measure in MEASURES] for row in table.sort_by("round").to_pylist()])


def play(name: str, run: Path, only: str | None) -> None:
    present = {path.name for path in (run / "shared").iterdir()}
    sys.stdout.write("| cell | " + " | ".join(f"largest difference in {measure}" for measure in MEASURES) + " |\n")
    sys.stdout.write("|---|" + "---|" * len(MEASURES) + "\n")
    for row in parquet.read_table(ACQUIRED / f"{name}.parquet").to_pylist():
        if row["dataset"] in present and (only is None or row["strategy"] in only.split(",")):
            again = np.array([[found[measure] for measure in MEASURES] for found in replayed(row, run)])
            gaps = np.abs(again - committed(name, cell_of(row))).max(0)
            cell = f"{row['dataset']}, {row['strategy']}, seed {row['seed']}"
            sys.stdout.write(f"| {cell} | {' | '.join(f'{gap:.1e}' for gap in gaps)} |\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("keep", "play"))
    parser.add_argument("name", help="of the experiment")
    parser.add_argument("run", nargs="+", type=Path, help="folders of `bemps run`; one for play")
    parser.add_argument("--only", help="play these strategies alone, with commas")
    given = parser.parse_args()
    if given.action == "keep":
        keep(given.name, given.run)
        return
    with limits(threads=1):
        play(given.name, given.run[0], given.only)


if __name__ == "__main__":
    main()
