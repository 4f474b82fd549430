"""The command line as a newcomer uses it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import bemps
from bemps.cli import app
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


def test_demo_learns_and_writes_its_page(tmp_path):
    page = tmp_path / "demo.html"
    result = run(app, ["demo", "--seeds", "1", "--rounds", "2", "--batch", "30", "--out", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert text.count("<polyline") == 3
    assert all(name in text for name in ("coremse", "margin", "random"))
    assert "http" not in text.split("</style>")[1]  # nothing is fetched


def test_demo_gets_better_with_labels():
    from bemps.demo import Setting, learning_curves

    seen = []
    curves = learning_curves(
        Setting(seeds=1, rounds=2, batch=40, members=5, strategies=("coremse", "random")),
        lambda strategy, seed, labels: seen.append((strategy, labels)),
    )
    assert curves.labels.tolist() == [20, 60, 100]
    assert seen[:3] == [("coremse", 20), ("coremse", 60), ("coremse", 100)]
    for values in curves.accuracy.values():
        assert values[0, 2] > values[0, 0] + 0.05
    assert curves.accuracy["coremse"][0, 0] == curves.accuracy["random"][0, 0]  # the same initial labels
    assert curves.labels_to_reach("coremse", 2.0) is None
    assert curves.labels_to_reach("coremse", 0.1) == 20
