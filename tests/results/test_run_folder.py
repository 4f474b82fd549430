"""Reading a run folder, and what broken ones say."""

import numpy as np
import pytest
from making_runs import KEYS, grid, row, synthetic_run, write

from bemps.errors import InputError
from bemps.results import costs, read_run
from bemps.results.learning_curves import Setting


def test_a_whole_folder(tmp_path):
    synthetic_run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert run.results.contestants == ("coremse", "margin", "random")
    assert set(run.tables) == {"acquired", "timings", "reliability", "dynamics", "embeddings"}
    assert run.full["digits/logistic"]["f1"] == 0.94
    assert run.config["budget"] == 100
    assert run.axes == ()
    assert run.results.notes == ()


def test_measures_of_all_labels_as_a_list(tmp_path):
    write(tmp_path, "results", grid())
    (tmp_path / "full.json").write_text('[{"dataset": "digits", "model": "logistic", "labels": 9, "f1": 0.9}]')
    assert read_run(tmp_path).full["digits/logistic"]["f1"] == 0.9


def test_results_alone_are_enough(tmp_path):
    write(tmp_path, "results", grid())
    assert read_run(tmp_path).tables == {}


def test_axes_are_the_columns_that_every_file_shares(tmp_path):
    rows = [row("coremse", 0, n, 0.5, members=m, fresh=1.5) for m in (5, 10) for n in range(3)]
    write(tmp_path, "results", rows)
    write(tmp_path, "acquired", [{k: r[k] for k in (*KEYS, "members", "round")} | {"id": "a"} for r in rows])
    run = read_run(tmp_path)
    assert run.axes == ("members",)
    assert run.results.contestants == ("coremse members=5", "coremse members=10")


def test_no_folder_says_how_to_make_one(tmp_path):
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"without a finished table: no results\.parquet in it\. Wait until"):
        read_run(tmp_path / "begun")
    with pytest.raises(InputError, match=r"no such folder.*bemps run --dataset digits"):
        read_run(tmp_path / "none")


def test_an_empty_folder_says_how_to_fill_it(tmp_path):
    with pytest.raises(InputError, match=r"no results\.parquet.*bemps run"):
        read_run(tmp_path)


def test_results_without_rows(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Table.from_pylist(grid()).schema
    pq.write_table(schema.empty_table(), tmp_path / "results.parquet")
    with pytest.raises(InputError, match="without a row"):
        read_run(tmp_path)


def test_broken_parquet_is_refused(tmp_path):
    (tmp_path / "results.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(InputError, match=r"a Parquet file; got.*Run the same"):
        read_run(tmp_path)


def test_missing_columns_are_named(tmp_path):
    write(tmp_path, "results", [{"dataset": "a", "model": "m", "strategy": "s"}])
    with pytest.raises(InputError, match="none called batch_size, seed, round, labels"):
        read_run(tmp_path)


def test_results_without_a_measure(tmp_path):
    write(tmp_path, "results", [{k: r[k] for k in (*KEYS, "round", "labels")} for r in grid()])
    with pytest.raises(InputError, match="without a measure"):
        read_run(tmp_path)


def test_two_rows_for_one_round_are_refused(tmp_path):
    write(tmp_path, "results", grid() + grid()[:1])
    with pytest.raises(InputError, match="2 rows for digits logistic coremse 10 0 0"):
        read_run(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]", "3", '[{"dataset": "a"}]'])
def test_broken_json_is_refused(tmp_path, text):
    write(tmp_path, "results", grid())
    (tmp_path / "full.json").write_text(text)
    with pytest.raises(InputError, match="JSON of a run"):
        read_run(tmp_path)


def test_costs_are_means_over_rounds_and_seeds():
    rows = [row("coremse", s, n, 0.5) | {"train_seconds": 1.0 + s, "query_seconds": n} for s in (0, 1) for n in (0, 1)]
    rows[0]["query_seconds"] = None
    rows[1]["peak_memory_mb"], rows[2]["peak_memory_mb"] = 10.0, 30.0
    columns = {name: [r.get(name) for r in rows] for name in (*rows[0], "peak_memory_mb")}
    cost = costs(columns)[Setting("digits", "logistic", 10)]["coremse"]
    assert (cost.train_seconds, cost.peak_memory_mb, cost.rounds) == (1.5, 30.0, 4)
    assert cost.query_seconds == pytest.approx(2 / 3)
    del columns["peak_memory_mb"]
    assert np.isnan(costs(columns)[Setting("digits", "logistic", 10)]["coremse"].peak_memory_mb)


def test_a_path_that_exists_is_not_offered_to_a_new_run(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(InputError, match=r"got a file\..*--out NEW_FOLDER"):
        read_run(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"no results\.parquet in it.*--out NEW_FOLDER"):
        read_run(tmp_path)
