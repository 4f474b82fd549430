"""The study of whole systems: what was computed is not computed again, and half a cell is."""

import json
import runpy
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch, tmp_path):
    """The functions of the script with one quick system on a made-up set, and where its rows go."""
    monkeypatch.syspath_prepend(str(STUDIES))
    names = runpy.run_path(str(STUDIES / "systems.py"))
    calls = []

    class Table:
        labels = np.array([0, 1, 1])

    class Data:
        name, classes, test = "letters", ("a", "b"), Table()

    def play(data, encode, seed):
        calls.append(seed)
        while True:
            yield np.array([0, 1, 0])

    run = names["run"]
    run.__globals__["SYSTEMS"] = {"quick": (None, play)}
    run.__globals__["dataset_of"] = lambda name, folder: Data()
    out = tmp_path / "rows.jsonl"

    def start(labels, seeds=(0,)):
        given = Namespace(
            seeds=seeds, sets=["letters"], systems=["quick"], labels=labels, out=out, cache=tmp_path, data=None
        )
        run(given)
        return [json.loads(line) for line in out.read_text().splitlines()]

    return start, calls


def test_a_row_after_the_initial_labels_and_after_each_batch(study):
    start, _ = study
    rows = start(126)
    assert [row["labels"] for row in rows] == [26, 76, 126]
    assert all(row["f1"] == pytest.approx(2 / 3, abs=1e-4) for row in rows)


def test_a_whole_cell_is_not_computed_again(study):
    start, calls = study
    start(126)
    rows = start(126, seeds=(0, 1))
    assert calls == [0, 1]
    assert len(rows) == 6


def test_a_cell_that_stopped_early_is_computed_again_and_its_last_rows_count(study, tmp_path, monkeypatch):
    start, calls = study
    start(76)
    start(126)
    assert calls == [0, 0]
    monkeypatch.syspath_prepend(str(STUDIES))
    cells = runpy.run_path(str(STUDIES / "systems.py"))["rows_of"](tmp_path / "rows.jsonl")
    assert list(cells["quick", "letters", 0]) == [26, 76, 126]
