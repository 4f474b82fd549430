"""The benchmarks measure what they say, at small sizes."""

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import bemps
from bemps.acquisition import baselines
from benchmarks import __main__ as bench_command
from benchmarks import broadcast_forms, core_speed, training_cost
from benchmarks.document_blocks import with_block
from benchmarks.measuring import Row, ensemble, peak_bytes

app = typer.Typer()
app.command()(bench_command.bench)


def test_the_plain_form_is_the_gain_plus_a_constant_for_each_point():
    probs, points = ensemble(4, 30, 3).astype(np.float64), ensemble(4, 20, 3, seed=1).astype(np.float64)
    for plain, ours in ((broadcast_forms.core_mse, bemps.core_mse(probs, points).matrix()),):
        difference = plain(probs, points) - 4 * ours
        assert np.allclose(difference, difference[0])
    assert broadcast_forms.core_log(probs, points).shape == (30, 20)


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_the_plain_form_of_wmocu_is_a_constant_for_each_point_less_the_gain(c):
    probs, points = ensemble(4, 30, 3).astype(np.float64), ensemble(4, 20, 3, seed=1).astype(np.float64)
    gain = baselines.wmocu_gain(probs, points, np.full(4, 0.25), np.full(20, 0.05), c=c)
    total = broadcast_forms.wmocu(probs, points, c) + gain.matrix()
    assert np.allclose(total, total[0])
    assert gain.matrix().max() > 1e-4


def test_rows_tell_ratios_and_memory_is_seen():
    assert Row("x", ours=2.0, theirs=8.0).ratio == 4.0
    assert peak_bytes(lambda: np.ones(10**6)) >= 8 * 10**6


def test_small_sizes_run(monkeypatch):
    monkeypatch.setattr(core_speed, "SHAPE", (3, 200, 20, 3))
    monkeypatch.setattr(core_speed, "_largest_points", lambda *_: 0)
    rows = [*core_speed.against_broadcast(1), *core_speed.against_logarithm(1)]
    assert len(rows) == 4
    assert all(row.ours > 0 and row.theirs > 0 for row in rows)


def test_text_around_the_tables_stays():
    written = (
        "# Benchmarks\n\nBy hand, above.\n\n<!-- bench: A -->\nold\n<!-- end of bench: A -->\n\n## By hand\n\nbelow\n"
    )
    once = with_block(written, "A", "## A\n\nnew")
    assert once == written.replace("old", "## A\n\nnew")
    added = with_block(once, "B", "more")
    assert added.startswith(once.rstrip())
    assert with_block(added, "B", "more") == added
    torn = written.replace("<!-- end of bench: A -->\n", "")
    assert "below" in with_block(torn, "A", "new")


def test_bench_keeps_what_people_wrote(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_command, "_round", lambda: "| a table |")
    out = tmp_path / "benchmarks.md"
    out.write_text("# Benchmarks\n\nWritten by hand.\n")
    for _ in range(2):
        assert CliRunner().invoke(app, ["--part", "round", "--out", str(out)]).exit_code == 0
    text = out.read_text()
    assert "Written by hand." in text
    assert text.count("| a table |") == text.count("## One full round") == 1


def test_the_heads_that_follow_each_answer_are_timed_at_small_sizes(monkeypatch):
    monkeypatch.setattr(training_cost, "WINDOW", 400)
    monkeypatch.setattr(training_cost, "LABELLED", 40)
    (_, first, _), (_, following, unit) = training_cost._following()
    assert 0 < following <= first
    assert unit == "seconds; at most 1"


def test_members_are_one_of_the_usual_parts(monkeypatch):
    measured = []
    for part in ("core", "peers", "round", "encoders", "members", "quality"):
        monkeypatch.setattr(bench_command, f"_{part}", lambda *_, part=part: measured.append(part) or [])
    assert CliRunner().invoke(app, []).exit_code == 0
    assert measured == ["core", "peers", "round", "encoders", "members"]
