"""The whole report, on a synthetic run with known winners and on a real one."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.stats
import typer
from making_runs import grid, row, synthetic_run, write
from typer.testing import CliRunner

from bemps.cli.report import report
from bemps.errors import InputError
from bemps.report import write_report
from bemps.report.sections import curves
from bemps.report.style import Styles
from bemps.results import read_run

VOID = {"meta", "link", "br", "input", "img"}


class Reader(HTMLParser):
    """Checks that tags close in order, and gathers blocks, links and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.blocks, self.links, self.options, self.words = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if found.get("class") == "block":
            self.blocks.append(found)
        if tag == "option":
            self.options.append(found["value"])
        self.links += [found[name] for name in ("href", "src") if name in found]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "synthetic"
    synthetic_run(folder, datasets=("digits", "sst5"), batches=(5, 10))
    page = write_report(folder)
    return folder, page, Reader(page.read_text(encoding="utf-8"))


def table(folder, name):
    with (folder / "report" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_is_one_file_without_anything_from_outside(whole):
    folder, page, reader = whole
    assert page == folder / "report.html"
    assert all(link.startswith("report/") for link in reader.links)
    assert "http" not in page.read_text().replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in page.read_text()


def test_every_link_leads_to_a_file_and_every_file_is_linked(whole):
    folder, _, reader = whole
    there = {f"report/{path.name}" for path in (folder / "report").iterdir()} - {"report/.bemps"}
    assert set(reader.links) == there


def test_every_section_is_there(whole):
    text = "".join(whole[2].words)
    for heading in (
        "Learning curves",
        "Who beats whom",
        "Calibration",
        "Data maps",
        "Where the batches lie",
        "Time and memory",
        "About this run",
    ):
        assert heading in text


def test_without_script_the_first_choice_shows(whole):
    """The first of every dimension, each exactly where it should be; filters wait for the script."""
    first = {"data-dataset": "digits", "data-model": "logistic", "data-batch": "5", "data-metric": "f1"}
    for block in whole[2].blocks:
        matches = all(block[name] == value for name, value in first.items() if name in block)
        assert matches == ("hidden" not in block)
    assert whole[2].options == ["digits", "sst5", "logistic", "5", "10", *METRIC_ORDER]


METRIC_ORDER = ["f1", "accuracy", "brier", "log_loss", "ece", "remaining_gain"]


def test_known_winners_are_in_the_tables(whole):
    folder, _, reader = whole
    wins = {found["wins of"]: found for found in table(folder, "pairwise-f1-all-batch-sizes")}
    assert wins["coremse"]["random"] == "4"
    assert wins["random"]["coremse"] == "0"
    assert wins["coremse"]["total"] == "8"
    summary = table(folder, "summary-digits-logistic-b10-f1")
    assert [found["strategy"] for found in summary] == ["coremse", "margin", "random"]
    assert float(summary[0]["saving"]) > float(summary[1]["saving"]) > 0
    assert float(summary[0]["labels_random"]) == pytest.approx(120, abs=3)
    assert re.search(r"coremse needs \d+ labels for the weighted F1", "".join(reader.words))


@pytest.mark.parametrize("metric", METRIC_ORDER[:5])
def test_better_than_random_is_positive_whichever_way_a_measure_points(whole, metric):
    summary = {found["strategy"]: found for found in table(whole[0], f"summary-digits-logistic-b10-{metric}")}
    sign = -1 if metric in {"brier", "log_loss", "ece"} else 1
    for name in ("coremse", "margin"):
        apart = float(summary[name]["area"]) - float(summary["random"]["area"])
        assert float(summary[name]["better_than_random_by"]) == pytest.approx(sign * apart)
    assert "better_by" in table(whole[0], f"paired-{metric}-batches-of-10")[0]
    assert "area − random" not in whole[1].read_text(encoding="utf-8")


def test_curves_in_the_csv_are_the_means(whole):
    folder = whole[0]
    rows = [r for r in table(folder, "rounds-digits-logistic-b10-accuracy") if r["strategy"] == "random"]
    values = [
        np.mean([r["accuracy"] for r in grid() if r["strategy"] == "random" and r["round"] == n]) for n in range(11)
    ]
    np.testing.assert_allclose([float(r["mean"]) for r in rows], values)
    assert all(float(r["low"]) <= float(r["mean"]) <= float(r["high"]) for r in rows)


def test_what_the_run_says_is_escaped(whole):
    text = whole[1].read_text()
    assert "&lt;script&gt;" in text
    assert text.count("<script>") == 1


def test_the_same_run_gives_the_same_page(tmp_path):
    synthetic_run(tmp_path / "run", analysis=False)
    first = write_report(tmp_path / "run").read_bytes()
    with (tmp_path / "run" / "report" / ".bemps").open("a") as marker:
        marker.write("old.svg\n../../outside.svg\n")
    for name in ("run/report/old.svg", "outside.svg", "run/report/mine.svg"):
        (tmp_path / name).write_text("of an earlier report, or of somebody")
    assert write_report(tmp_path / "run").read_bytes() == first
    assert not (tmp_path / "run" / "report" / "old.svg").exists()
    assert (tmp_path / "run" / "report" / "mine.svg").exists()
    assert (tmp_path / "outside.svg").exists()


def test_a_report_of_an_earlier_release_is_made_anew(tmp_path):
    synthetic_run(tmp_path / "run", analysis=False)
    write_report(tmp_path / "run")
    (tmp_path / "run" / "report" / ".bemps").unlink()
    write_report(tmp_path / "run")


def test_what_is_no_report_is_not_replaced(tmp_path):
    synthetic_run(tmp_path / "run", analysis=False)
    page, folder = tmp_path / "run" / "report.html", tmp_path / "run" / "report"
    page.write_text("<!doctype html>my own")
    with pytest.raises(InputError, match="force=True"):
        write_report(tmp_path / "run")
    assert page.read_text() == "<!doctype html>my own"
    assert "Written by bemps" in write_report(tmp_path / "run", force=True).read_text()
    page.unlink()
    (folder / ".bemps").unlink()
    (folder / "curves.csv").write_text("my own")
    for force in (False, True):
        with pytest.raises(InputError, match="holds other files"):
            write_report(tmp_path / "run", force=force)
    assert (folder / "curves.csv").read_text() == "my own"


def test_nasty_names_neither_break_the_page_nor_leave_the_folder(tmp_path):
    nasty = '../x"><script>alert(1)</script>'
    rows = [
        row(s, seed, n, 0.5 + 0.01 * n, dataset=nasty) for s in ("random", nasty) for seed in (0, 1) for n in range(7)
    ]
    write(tmp_path / "run", "results", rows)
    page = write_report(tmp_path / "run")
    assert "<script>alert" not in page.read_text()
    Reader(page.read_text())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize("rows", [grid(seeds=1, rounds=0), grid(seeds=1, strategies=("margin",)), grid(rounds=3)])
def test_little_is_enough(tmp_path, rows):
    """One round, one strategy without random, too few rounds for the matrix."""
    write(tmp_path, "results", rows)
    Reader(write_report(tmp_path).read_text())


def test_the_dashed_line_is_explained_where_there_is_one(whole, tmp_path):
    said = "The dashed line is the classifier trained on all labels."
    assert said in "".join(whole[2].words)
    write(tmp_path, "results", grid())
    assert said not in "".join(Reader(write_report(tmp_path).read_text()).words)


def test_incomplete_results_are_named_on_the_page(tmp_path):
    write(tmp_path, "results", [r for r in grid() if r["strategy"] != "margin" or r["seed"] != 2 or r["round"] < 4])
    text = "".join(Reader(write_report(tmp_path).read_text()).words)
    assert "left out seed 2 (4 of 11 rounds), not finished" in text


def test_axes_have_a_table_of_their_own(tmp_path):
    rows = [
        row("coremse", seed, n, 0.5 + 0.01 * n + 0.001 * m, members=m)
        for m in (5, 10)
        for seed in (0, 1)
        for n in range(7)
    ]
    write(tmp_path, "results", rows)
    times = [{k: v for k, v in r.items() if k not in METRIC_ORDER} for r in rows]
    write(tmp_path, "timings", [r | {"train_seconds": float(r["members"]), "query_seconds": 0.25} for r in times])
    write_report(tmp_path)
    (found,) = table(tmp_path, "axis-members-digits-logistic-10")
    assert found["members=5"] == "5 / 0.25 / 0.555"
    assert found["members=10"] == "10 / 0.25 / 0.560"


def test_broken_dynamics_are_refused(tmp_path):
    synthetic_run(tmp_path)
    write(tmp_path, "dynamics", [{"dataset": "digits", "id": i, "epoch": e, "probability": 0.5, "correct": True}
                                 for i, e in (("a", 0), ("a", 1), ("b", 0))])  # fmt: skip
    with pytest.raises(InputError, match="3 rows of 2 items and 2 epochs"):
        write_report(tmp_path)


def test_a_file_in_the_way_is_said(tmp_path):
    write(tmp_path, "results", grid(seeds=1))
    (tmp_path / "report").write_text("not a folder")
    with pytest.raises(InputError, match=r"report, which is a file.*move it away"):
        write_report(tmp_path)


def command():
    app = typer.Typer()
    app.command()(report)
    return app


def test_on_the_command_line(tmp_path):
    write(tmp_path, "results", grid(seeds=1, rounds=2))
    told = CliRunner().invoke(command(), [str(tmp_path)])
    assert told.exit_code == 0
    assert "report.html" in told.output
    assert (tmp_path / "report.html").exists()


def test_an_empty_folder_on_the_command_line(tmp_path):
    told = CliRunner().invoke(command(), [str(tmp_path)])
    assert told.exit_code == 2
    assert "bemps run --dataset digits" in " ".join(told.output.split())


def test_shared_pools_give_maps_and_projections(tmp_path):
    """What the runner shares is enough: no further files."""
    synthetic_run(tmp_path, analysis=False)
    rng = np.random.default_rng(0)
    place = tmp_path / "shared" / "digits"
    (place / "plain").mkdir(parents=True)
    labels = (np.arange(200) % 3).tolist()
    meta = {"ids": [f"i{n}" for n in range(200)], "labels": labels, "classes": ["a", "b", "c"]}
    (place / "meta.json").write_text(json.dumps(meta))
    np.save(
        place / "plain" / "pool.npy", (rng.standard_normal((200, 6)) + np.array(labels)[:, None]).astype(np.float32)
    )
    text = "".join(Reader(write_report(tmp_path).read_text()).words)
    assert "Data maps" in text
    assert "Where the batches lie" in text
    (place / "meta.json").write_text("{}")
    with pytest.raises(InputError, match="Remove this folder"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("seeds", "band", "words"),
    [
        (3, "auto", "one standard error to each side"),
        (5, "auto", "its 95 % confidence band"),
        (3, "95", "its 95 % confidence band"),
        (6, "se", "one standard error to each side"),
    ],
)
def test_the_band_of_few_seeds_is_one_standard_error(tmp_path, seeds, band, words):
    write(tmp_path, "results", grid(seeds=seeds, rounds=3))
    run = read_run(tmp_path)
    section = curves.section(run, Styles(run.results.contestants), band)
    assert words in section.lead
    [line] = [one for one in next(iter(section.blocks[0].figures.values())).series if one.name == "coremse"]
    curve = next(iter(run.results.curves.values()))["coremse"]
    values = curve.values[section.blocks[0].filters["metric"]]
    error = values.std(0, ddof=1) / np.sqrt(seeds)
    wide = error if "standard error" in words else scipy.stats.t.ppf(0.975, seeds - 1) * error
    np.testing.assert_allclose(line.high - line.y, wide, atol=1e-12)


def test_an_unknown_band_is_refused(tmp_path):
    write(tmp_path, "results", grid(rounds=3))
    with pytest.raises(InputError, match="one of 95, auto, se"):
        write_report(tmp_path, band="sd")
