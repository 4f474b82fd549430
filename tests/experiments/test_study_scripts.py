"""The scripts of studies that play committed cells again, and that ask posteriors what they expect, on tiny data."""

import importlib
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from running import play
from test_run import OWN, own_encoder, write_questions

from bemps.experiments.inputs.run_data import CellData
from bemps.results import Curve, gain_diagnostic

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


def test_batch_sizes_are_compared_where_all_have_a_round(script):
    """The gain over random grows with the labels alike for every size; only the means over all rounds differ."""
    batch_sizes = script("batch_sizes")

    def study(size: int) -> SimpleNamespace:
        labels = np.arange(26, 227, size)
        base = np.linspace(0.3, 0.5, len(labels)) + 0.01 * np.arange(3)[:, None]
        curves = {"random": base, "margin": base + 0.001 * (labels - 26), "badge": base + 0.1 / size}
        seeds = (0, 1, 2)
        return SimpleNamespace(
            by_set={
                "sst5": {rule: Curve(rule, rule, (), seeds, labels, {"f1": values}) for rule, values in curves.items()}
            }
        )

    table = batch_sizes.at_common_labels({size: study(size) for size in (100, 10, 50)}, ["margin", "badge"])
    head, _, margin, badge = table.splitlines()
    assert head == "| gain over random, minus that of B = 100 | B = 10 | B = 50 |"
    assert margin == "| margin | +.0000 ± .0000 | +.0000 ± .0000 |"
    assert badge == "| BADGE | +.0090 ± .0000 | +.0010 ± .0000 |"


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
