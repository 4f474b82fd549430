"""The command line as a newcomer uses it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import bemps
from bemps.cli import app
from bemps.experiments.models import MODELS
from making import predictions

run = CliRunner().invoke


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"probs": predictions(rng, 4, 30, 3), "features": rng.normal(size=(30, 5))}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "both.npz", **arrays)
    return tmp_path, arrays


def test_help_names_every_command_and_shows_examples():
    out = run(app, ["--help"]).output
    for name in ("demo", "select", "strategies", "bench"):
        assert name in out
        assert run(app, [name, "--help"]).exit_code == 0
    assert "bemps select probs.npy -n 50" in run(app, ["select", "--help"]).output


def test_help_of_run_names_every_model():
    out = " ".join(run(app, ["run", "--help"], env={"COLUMNS": "200"}).output.replace("│", " ").split())
    assert f"{', '.join(MODELS)};" in out


def test_strategies_lists_them_all():
    out = run(app, ["strategies"]).output
    assert all(name in out for name in bemps.strategies())


def test_select_writes_csv_to_standard_output(files):
    folder, arrays = files
    result = run(app, ["select", str(folder / "probs.npy"), "-n", "5", "--strategy", "coremse", "--seed", "3"])
    assert result.exit_code == 0, result.output
    rows = [line.split(",") for line in result.stdout.splitlines()]
    wanted = bemps.select(arrays["probs"], 5, "coremse", seed=3)
    assert rows[0] == ["rank", "index", "score", "stands_for"]
    assert [int(row[1]) for row in rows[1:]] == wanted.indices.tolist()
    assert [float(row[2]) for row in rows[1:]] == wanted.scores.tolist()
    assert [int(i) for i in rows[1][3].split()] == wanted.clusters[0].tolist()


def test_select_writes_json_and_takes_named_arrays_and_options(files):
    folder, arrays = files
    out = folder / "next.json"
    strategy = ["-n", "4", "--strategy", "coremse-km", "-o", "pool=3"]
    result = run(app, ["select", str(folder / "both.npz"), *strategy, "--out", str(out)])
    assert result.exit_code == 0, result.output
    wanted = bemps.select(arrays["probs"], 4, "coremse-km", features=arrays["features"], pool=3)
    assert json.loads(out.read_text())["indices"] == wanted.indices.tolist()
    single = run(app, ["select", str(folder / "probs.npy"), *strategy, "--features", str(folder / "features.npy")])
    assert [int(line.split(",")[1]) for line in single.stdout.splitlines()[1:]] == wanted.indices.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["probs.npy", "-n", "31"], "from 1 to 30"),
        (["probs.npy", "-n", "2", "--strategy", "coremsse"], "Did you mean 'coremse'"),
        (["probs.npy", "-n", "2", "-o", "T"], "NAME=VALUE"),
        (["probs.npy", "-n", "2", "--out", "next.xlsx"], ".csv or .json"),
        (["missing.npy", "-n", "2"], "a .npy or .npz file"),
        (["text.npy", "-n", "2"], "a .npy or .npz file"),
        (["objects.npy", "-n", "2"], "a .npy or .npz file"),
        (["odd.npz", "-n", "2"], "arrays named probs"),
        (["broken.npz", "-n", "2"], "a .npy or .npz file"),
        (["probs.npy", "-n", "2", "-o", "n=4"], "an option of the strategy"),
        (["probs.npy", "-n", "2", "--seed", "-1"], "seed: expected a whole number"),
        (["probs.npy", "-n", "2", "--out", "nowhere/next.csv"], "an existing folder"),
    ],
)
def test_select_refuses_in_one_sentence(files, arguments, message, monkeypatch):
    folder, arrays = files
    monkeypatch.chdir(folder)
    (folder / "text.npy").write_text("not an array")
    np.save(folder / "objects.npy", np.array([{"a": 1}]), allow_pickle=True)
    np.savez(folder / "odd.npz", p=arrays["probs"])
    (folder / "broken.npz").write_bytes((folder / "both.npz").read_bytes()[:200])
    result = run(app, ["select", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert not (folder / "next.xlsx").exists()


def test_select_without_a_model_yet(files):
    folder, _ = files
    np.savez(folder / "cold.npz", embeddings=np.random.default_rng(0).normal(size=(20, 3)))
    for strategy in ("typiclust", "coreset"):
        out = folder / f"{strategy}.json"
        result = run(app, ["select", str(folder / "cold.npz"), "-n", "3", "--strategy", strategy, "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert np.isfinite(json.loads(out.read_text())["scores"]).all()


def test_demo_is_a_grid_with_its_report(tmp_path):
    result = run(app, ["demo", "--seeds", "1", "--budget", "60", "--batch", "30", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "demo" / "report.html").read_text()
    assert all(name in text for name in ("corelog-ties", "coremse", "margin", "random"))
    assert "Labels to reach" in result.output
    shown = [line.split("│")[1:-1] for line in result.output.splitlines() if line.strip().startswith("│")]
    first, last = ([float(value) for value in row] for row in (shown[0], shown[-1]))
    assert (first[0], last[0]) == (20, 80)
    assert all(after > before for before, after in zip(first[1:], last[1:], strict=True))
    assert len(set(first[1:])) == 1  # the same initial labels
