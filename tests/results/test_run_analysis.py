"""What reports show is computed outside of them, and once."""

import re
from pathlib import Path

import numpy as np
import pytest
from making_runs import synthetic_run

import bemps.report
from bemps.report import write_report
from bemps.results import read_run, run_analysis
from bemps.results.run_analysis import analyse_run, cached_arrays

REPORT = Path(bemps.report.__file__).parent


@pytest.fixture
def run_path(tmp_path):
    """A run that left vectors and no training dynamics."""
    synthetic_run(tmp_path)
    for name in ("dynamics", "epochs"):
        (tmp_path / f"{name}.parquet").unlink(missing_ok=True)
    return tmp_path


def never(*arguments, **options):
    raise AssertionError("computed again")


def test_the_report_neither_trains_nor_projects():
    for path in REPORT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"sklearn|bemps\.(members|learner|experiments)|training_|ece_of_epochs", text), path


def test_a_second_report_computes_nothing_anew(run_path, monkeypatch):
    first = write_report(run_path).read_text()
    assert {path.name.split("-")[0] for path in (run_path / "analysis").iterdir()} >= {"map", "tsne"}
    for name in ("training_dynamics", "ece_of_epochs", "projection"):
        monkeypatch.setattr(run_analysis, name, never)
    assert write_report(run_path).read_text() == first


def test_damaged_files_are_computed_anew(run_path):
    first = analyse_run(read_run(run_path))
    for path in (run_path / "analysis").iterdir():
        path.write_bytes(path.read_bytes()[:50])
    second = analyse_run(read_run(run_path))
    for key, projected in first.projections.items():
        np.testing.assert_array_equal(second.projections[key].points, projected.points)


def test_other_inputs_are_computed_anew(tmp_path):
    path, inputs = tmp_path / "analysis" / "a.npz", [np.arange(3.0)]
    assert cached_arrays(path, inputs, lambda: {"a": np.ones(1)})["a"] == 1
    assert cached_arrays(path, inputs, never)["a"] == 1
    assert cached_arrays(path, [np.arange(3.0) + 1], lambda: {"a": np.zeros(1)})["a"] == 0
    assert cached_arrays(path, [np.arange(3)], lambda: {"a": np.full(1, 2.0)})["a"] == 2
