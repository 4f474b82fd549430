"""Curves from rows: what is averaged, what is left out, and that it is said."""

import numpy as np
import pytest
from making_runs import grid, row
from scipy import stats

from bemps.results.learning_curves import Setting, collect_curves, interval

PLACE = Setting("digits", "logistic", 10)


def columns(rows):
    return {name: [found[name] for found in rows] for name in rows[0]}


def collected(rows, axes=()):
    return collect_curves(columns(rows), axes, ("accuracy", "f1", "remaining_gain"))


def test_a_curve_is_the_values_by_seed_and_round():
    curve = collected(grid(seeds=2, rounds=6)).curves[PLACE]["margin"]
    assert curve.seeds == (0, 1)
    assert curve.labels.tolist() == [20, 30, 40, 50, 60, 70, 80]
    assert curve.values["accuracy"].shape == (2, 7)
    np.testing.assert_allclose(curve.values["accuracy"][:, 0], 0.5)


def test_rows_may_come_in_any_order():
    rows = grid(seeds=3, rounds=5)
    mixed = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    one, other = (collected(r).curves[PLACE]["coremse"] for r in (rows, mixed))
    np.testing.assert_array_equal(one.values["f1"], other.values["f1"])


def test_interval_is_the_t_interval():
    values = np.array([0.8, 0.9, 0.7, 0.75])
    mean, low, high = interval(values)
    expected = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
    np.testing.assert_allclose([low, high], expected)
    assert mean == pytest.approx(0.7875)


def test_one_seed_has_no_band():
    mean = collected(grid(seeds=1)).curves[PLACE]["random"].mean("f1")
    assert np.isfinite(mean.mean).all()
    assert np.isnan(mean.low).all()
    assert np.isnan(mean.high).all()


def test_unfinished_seeds_are_left_out_and_named():
    rows = [r for r in grid(seeds=3) if not (r["strategy"] == "margin" and r["seed"] == 2 and r["round"] > 4)]
    results = collected(rows)
    assert results.curves[PLACE]["margin"].seeds == (0, 1)
    assert any("margin" in note and "seed 2 (5 of 11 rounds)" in note for note in results.notes)
    assert any("no finished seed 2, which others have" in note for note in results.notes)


def test_missing_contestants_and_short_curves_are_named():
    rows = grid(datasets=("digits", "sst5"))
    rows = [r for r in rows if not (r["dataset"] == "sst5" and r["strategy"] == "margin")]
    rows = [r for r in rows if not (r["dataset"] == "digits" and r["strategy"] == "coremse" and r["round"] > 6)]
    notes = collected(rows).notes
    assert any(note.startswith("margin on sst5") and "no results" in note for note in notes)
    assert any(note.startswith("coremse on digits") and "7 of 11 rounds" in note for note in notes)
    assert len(notes) == 2


def test_axes_that_vary_make_contestants_and_constant_ones_do_not():
    rows = [row("coremse", 0, n, 0.5, members=m, T=0.5) for m in (5, 10) for n in range(3)]
    assert collected(rows, ("members", "T")).contestants == ("coremse members=5", "coremse members=10")


def test_a_contestant_without_a_value_on_an_axis_keeps_its_name():
    rows = [row("coremse", 0, n, 0.5, T=t) for t in (0.1, 0.5) for n in range(3)]
    rows += [row("random", 0, n, 0.5, T=None) for n in range(3)]
    assert collected(rows, ("T",)).contestants == ("coremse T=0.1", "coremse T=0.5", "random")


def test_a_measure_that_is_missing_somewhere_is_not_had():
    rows = grid(seeds=1)
    rows[3]["remaining_gain"] = None
    results = collected(rows)
    assert "coremse" not in results.with_metric(PLACE, "remaining_gain")
    assert set(results.with_metric(PLACE, "f1")) == {"coremse", "margin", "random"}
