"""The scripts of studies that play committed cells again, and that ask posteriors what they expect, on tiny data."""

import importlib
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from running import play
from test_run import OWN, own_encoder, write_questions

from bemps.experiments.inputs.run_data import CellData
from bemps.results import gain_diagnostic

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def script(monkeypatch):
    """Imports a script by its name."""
    monkeypatch.syspath_prepend(STUDIES)
    return importlib.import_module


def test_a_learner_that_is_told_the_kept_items_gives_the_measures_of_the_run(script, tmp_path, data_dir, monkeypatch):
    replay, encoder = script("replay"), str(own_encoder(tmp_path / "mine"))
    write_questions(tmp_path / "my.csv", data_dir, 120)
    settings = OWN | {"dataset": str(tmp_path / "my.csv"), "axes": {"encoder": encoder, "members": 3}, "full": False}
    run = tmp_path / "run"
    assert play(run, **settings).failures == ()
    monkeypatch.setattr(replay, "RESULTS", tmp_path)
    monkeypatch.setattr(replay, "ACQUIRED", tmp_path / "acquired")
    shutil.copy(run / "results.parquet", tmp_path / "tiny.parquet")
    replay.keep("tiny", [run])
    [row] = replay.parquet.read_table(replay.ACQUIRED / "tiny.parquet").to_pylist()
    found = [[measures[name] for name in replay.MEASURES] for measures in replay.replayed(row, run)]
    np.testing.assert_allclose(found, replay.committed("tiny", replay.cell_of(row)), atol=1e-6)


def test_a_row_of_the_diagnostic_has_both_means(script, monkeypatch):
    diagnostic = script("diagnostic")
    monkeypatch.setattr(diagnostic, "gain_diagnostic", partial(gain_diagnostic, batches=3))
    rng = np.random.default_rng(0)
    items, labels = rng.normal(size=(160, 388)).astype(np.float32), rng.integers(2, size=160)
    material = CellData(tuple(map(str, range(100))), ("a", "b"), labels[:100], labels[100:], items[:100], items[100:])
    correlation, predicted, realised = diagnostic.row(material, "minilm-words", "spectral", 40).split(" | ")
    assert correlation.endswith(")")
    assert float(predicted) > 0
    assert abs(float(realised)) < 1
