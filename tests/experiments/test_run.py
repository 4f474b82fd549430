"""The grid: what it writes, that it is the same every time, and what happens when a cell fails."""

import csv
import importlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from encoder_weights import needs_weights
from running import SMALL, Notes, bytes_of, finished, play, rows
from safetensors.torch import load_file, save_file
from tiny_bert import tiny_bert

import bemps
from bemps.acquisition.option_trial import try_options
from bemps.acquisition.strategy_registry import STRATEGIES
from bemps.data import initial_labels, load
from bemps.errors import InputError
from bemps.experiments import config_of, read_toml, run
from bemps.experiments.grid import cells
from bemps.experiments.inputs import pool_encoding
from bemps.experiments.inputs import run_data as materials
from bemps.experiments.run_errors import OtherConfiguration
from bemps.experiments.run_plan import plan_run
from bemps.models.encoders import encoder_files
from bemps.models.model_registry import grid_models
from bemps.models.option_values import OPTION_VALUES, check_options

MODELS = grid_models()

PLUGIN = """import bemps

def mine(context: bemps.Context) -> bemps.Selection:
    doubt = 1 - context.probs.mean(0).max(1)
    picks = doubt.argsort()[::-1][: context.n].copy()
    return bemps.Selection(picks, doubt[picks])
"""


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    out = tmp_path_factory.mktemp("golden") / "run"
    watcher = Notes()
    outcome = play(out, watcher=watcher)
    assert outcome.failures == ()
    return out, watcher


def test_rows_are_complete_and_in_order(golden):
    found = rows(golden[0])
    assert len(found) == 3 * 2 * 3
    assert [(r["strategy"], r["seed"], r["round"]) for r in found] == [
        (strategy, seed, number)
        for strategy in ("coremse", "margin", "random")
        for seed in (0, 1)
        for number in range(3)
    ]
    assert {r["labels"] for r in found} == {20, 30, 40}
    assert all(r["members"] == 3 for r in found)
    for row in found:
        assert 0.3 < row["accuracy"] < 1
        assert 0 < row["ece"] < 1
        assert 0 < row["remaining_gain"] < row["brier"] < 2
        assert row["log_loss"] > 0


def test_acquired_ids_are_the_initial_labels_and_the_batches(golden):
    digits, found = load("digits"), rows(golden[0], "acquired")
    for seed in (0, 1):
        start = {digits.pool.ids[i] for i in initial_labels(digits, seed=seed)}
        for strategy in ("coremse", "margin", "random"):
            mine = [r for r in found if r["strategy"] == strategy and r["seed"] == seed]
            assert {r["id"] for r in mine if r["round"] == 0} == start
            assert [sum(r["round"] == number for r in mine) for number in range(3)] == [20, 10, 10]
            assert len({r["id"] for r in mine}) == 40


def test_results_are_those_of_a_learner_by_hand(golden, tmp_path):
    """The numbers of a cell, without the harness."""
    cell = next(c for c in cells(config_of(SMALL)) if (c.strategy, c.seed) == ("coremse", 1))
    digits = load("digits")
    x, x_test = (np.asarray(part.items / 16, dtype=np.float32) for part in (digits.pool, digits.test))
    model = MODELS["logistic"].make(x, tmp_path, members=3)
    learner = bemps.ActiveLearner(
        model, x, ids=digits.pool.ids, classes=digits.classes, strategy="coremse", seed=cell.learner_seed
    )
    names = {name: digits.classes[code] for name, code in zip(digits.pool.ids, digits.pool.labels, strict=True)}
    learner.tell({digits.pool.ids[i]: names[digits.pool.ids[i]] for i in initial_labels(digits, seed=1)})
    accuracy = []
    for _ in range(3):
        accuracy.append(float((learner.predict(x_test).argmax(1) == digits.test.labels).mean()))
        learner.tell({name: names[name] for name in learner.ask(10).items})
    assert accuracy == [r["accuracy"] for r in rows(golden[0]) if (r["strategy"], r["seed"]) == ("coremse", 1)]


def test_timings_and_full_and_config(golden):
    out, _ = golden
    timed = rows(out, "timings")
    assert all(r["train_seconds"] > 0 and r["peak_memory_mb"] > 10 for r in timed)
    assert all((r["query_seconds"] is None) == (r["round"] == 2) for r in timed)
    [full] = json.loads((out / "full.json").read_text())
    assert full["labels"] == 1297
    assert full["accuracy"] > 0.95
    config = json.loads((out / "config.json").read_text())
    assert config["config"]["budget"] == 20
    assert config["data"]["digits"]["initial"] == 20
    assert config["versions"]["numpy"] == np.__version__


def test_progress_counts_rounds(golden):
    _, watcher = golden
    assert watcher.stages[-1] == ("rounds", 18)
    assert watcher.done[-1] == 18


def test_run_again_and_with_other_jobs_gives_the_same_bytes(golden, tmp_path):
    play(tmp_path / "again")
    play(tmp_path / "two", jobs=2)
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "two") == bytes_of(golden[0])


def test_a_cell_does_not_depend_on_the_others(golden, tmp_path):
    play(tmp_path / "one", strategies="margin", seeds=[1])
    mine = [r for r in rows(golden[0]) if r["strategy"] == "margin" and r["seed"] == 1]
    assert rows(tmp_path / "one") == mine


def test_axes_multiply_only_the_cells_they_apply_to():
    config = config_of(SMALL | {"axes": {"T": [0.3, 1], "estimation_size": [50, 100], "members": [3, 4]}, "seeds": 1})
    keys = [cell.key for cell in cells(config)]
    assert [sum(key["strategy"] == name for key in keys) for name in config.strategies] == [8, 2, 2]
    assert all("T" not in key and "estimation_size" not in key for key in keys if key["strategy"] == "random")
    assert {key["T"] for key in keys if key["strategy"] == "coremse"} == {0.3, 1.0}


def test_a_fixed_validation_set_is_apart_from_what_is_asked_and_the_same_for_every_strategy(tmp_path, monkeypatch):
    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    given, real = [], SklearnEnsemble.__init__

    def spy(self, *arguments, **options):
        given.append(options["validation"])
        real(self, *arguments, **options)

    monkeypatch.setattr(SklearnEnsemble, "__init__", spy)
    axes = {"members": 2, "validation": ["none", "fixed"], "calibrate": False}
    play(tmp_path / "run", strategies=["margin", "random"], seeds=1, budget=400, batch_size=200, axes=axes, full=False)
    none, fixed = ([one for one in given if (one == "none") is plain] for plain in (True, False))
    assert (len(none), len(fixed)) == (2, 2)
    quarter = len(load("digits").pool) // 4
    assert [len(one.labels) for one in fixed] == [quarter, quarter]
    assert np.array_equal(fixed[0].items, fixed[1].items)
    material = materials.load(materials.folder_of(tmp_path / "run", "digits"), "plain")
    asked = {row["id"] for row in rows(tmp_path / "run", "acquired") if row["validation"] == "fixed"}
    held = {row.tobytes() for row in np.asarray(fixed[0].items)}
    assert len(asked) > 400
    assert not held & {material.items[material.ids.index(name)].tobytes() for name in asked}
    only = play(tmp_path / "only", strategies="random", seeds=1, budget=10, axes={"validation": "fixed", "members": 2})
    assert only.failures == ()  # also the training on all labels, which has no such part
    with pytest.raises(InputError, match="a fixed validation set"):
        play(tmp_path / "more", strategies="random", seeds=1, budget=1_200, axes={"validation": "fixed"})


def test_axes_reach_model_strategy_and_learner(tmp_path):
    out = tmp_path / "run"
    axes = {"T": [0.2, 1.0], "estimation_size": [100], "members": [2], "resample": ["dirichlet", "bootstrap"]}
    play(out, strategies=["corelog", "random"], seeds=1, axes=axes, full=False)
    found = rows(out)
    assert {(r["strategy"], r["T"], r["estimation_size"]) for r in found} == {
        ("corelog", 0.2, 100),
        ("corelog", 1.0, 100),
        ("random", None, None),
    }
    picked = {
        (r["T"], r["resample"]): {a["id"] for a in rows(out, "acquired") if a["T"] == r["T"] and a["round"] == 1}
        for r in found
        if r["strategy"] == "corelog"
    }
    assert picked[0.2, "dirichlet"] != picked[1.0, "dirichlet"]
    assert json.loads((out / "full.json").read_text()) == []


def test_names_of_options_of_models_and_strategies_are_apart():
    model_options = {name for entry in MODELS.values() for name in entry.options}
    assert not model_options & {name for entry in STRATEGIES.values() for name in entry.options}


def test_the_last_batch_is_what_is_left_of_the_budget(tmp_path):
    play(tmp_path / "run", strategies="random", seeds=1, budget=25, batch_size=[10, 20])
    found = [(r["batch_size"], r["labels"]) for r in rows(tmp_path / "run")]
    assert found == [(10, 20), (10, 30), (10, 40), (10, 45), (20, 20), (20, 40), (20, 45)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "logistik"}, "logistic"),
        ({"strategies": ["coremsse"]}, "coremse"),
        ({"dataset": "digit"}, "digits"),
        ({"axes": {"member": [3]}}, "members"),
        ({"axes": {"members": [3, "x"]}}, "of one kind"),
        ({"axes": {"seed": [3]}}, "a column already"),
        ({"axes": {"encoder": ["minilm"]}}, "axis"),
        ({"axes": {"T": ["abc"]}}, "option T of coremse: expected a number; got 'abc'"),
        ({"axes": {"T": [0.5, 1.5]}}, r"T: expected a number in \(0, 1\]; got 1.5"),
        ({"axes": {"members": ["abc"]}}, "option members of logistic: expected a whole number, at least 1; got 'abc'"),
        ({"axes": {"members": [2.5]}}, "option members of logistic: expected a whole number"),
        ({"axes": {"resample": ["bootstrp"]}}, "option resample of logistic: .*Did you mean 'bootstrap'"),
        ({"axes": {"calibrate": ["yes"]}}, "option calibrate of logistic: expected true or false"),
        ({"axes": {"calibrate": [True]}}, "held-out labels"),
        ({"axes": {"estimation_size": [0]}, "strategies": "corelog"}, "estimation_size of corelog: expected a whole"),
        ({"axes": {"balance": ["abc"]}, "strategies": "corelog-ties", "model": "spectral"}, "expected true or false"),
        ({"axes": {"covariance": ["x"]}, "model": "spectral"}, "option covariance of spectral: expected one of full"),
        ({"axes": {"epochs": [0]}, "model": "heads"}, "option epochs of heads"),
        ({"axes": {"frozen": ["bge-word"]}, "model": "adapted"}, "Did you mean 'bge-words'"),
        ({"budget": 0}, "1 or more"),
        ({"budgett": 10}, "budget"),
        ({"budget": 5000}, "Lower --budget"),
        ({"seeds": "many"}, "whole number"),
        ({"text": "body"}, "a file of your own"),
        ({"strategies": ["random", "badge"]}, "a model with features, which badge needs: spectral"),
        ({"strategies": ["alps"], "model": "spectral"}, "surprisal of words"),
        ({"model": "finetuned"}, "text items"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        play(tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_labels_of_one_class_are_refused_before_anything_is_written(tmp_path):
    rows = [f"text number {i},a" for i in range(200)]
    (tmp_path / "one.csv").write_text("\n".join(["body,topic", *rows]))
    with pytest.raises(InputError, match=r"dataset one\.csv: expected labels of at least two classes; got a\."):
        play(tmp_path / "run", dataset=str(tmp_path / "one.csv"), text="body", label="topic", model="logistic")
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_pool_that_the_test_file_leaves_too_small_says_so(tmp_path):
    rows = ["body,topic", *(f"text number {i},{'ab'[i % 2]}" for i in range(50))]
    (tmp_path / "pool.csv").write_text("\n".join([*rows, "no label,"]))
    (tmp_path / "test.csv").write_text("\n".join(rows[:49]))
    reason = r"got 2 \(pool: 1 without a label, left out; pool: 48 rows also in the test set, left out\)\. Lower"
    with pytest.raises(InputError, match=reason):
        play(
            tmp_path / "run",
            **{"dataset": str(tmp_path / "pool.csv"), "test": str(tmp_path / "test.csv")},
            **{"text": "body", "label": "topic", "model": "logistic"},
        )


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failed_cell_stops_no_other(tmp_path, jobs):
    plugin = tmp_path / "bad.py"
    plugin.write_text("def wrong(context):\n    raise RuntimeError('on purpose')\n")
    out = tmp_path / "run"
    outcome = play(out, jobs=jobs, strategies=["wrong", "random"], seeds=1, plugin=str(plugin))
    [failure] = outcome.failures
    assert failure.key["strategy"] == "wrong"
    assert "RuntimeError: on purpose" in failure.traceback
    assert (outcome.rounds, outcome.planned) == (3, 6)
    assert json.loads((out / "failures.json").read_text())[0]["key"]["strategy"] == "wrong"


def test_a_worker_that_dies_stops_no_other(tmp_path):
    plugin = tmp_path / "bad.py"
    plugin.write_text("import os\ndef deadly(context):\n    os._exit(3)\n")
    outcome = play(tmp_path / "run", jobs=2, strategies=["deadly", "random"], seeds=1, plugin=str(plugin))
    assert [failure.key["strategy"] for failure in outcome.failures] == ["deadly"]
    assert "died" in outcome.failures[0].traceback
    assert {r["strategy"] for r in rows(tmp_path / "run")} == {"random"}


def test_a_strategy_of_the_user_joins_the_grid(tmp_path):
    (tmp_path / "my.py").write_text(PLUGIN)
    code, _, errors = finished(
        tmp_path / "run",
        *("--dataset", "digits", "--plugin", str(tmp_path / "my.py"), "--strategies", "mine,least-confidence"),
        *("--seeds", "1", "--budget", "10", "--axis", "members=3", "--jobs", "1", "--no-full"),
    )
    assert code == 0, errors
    assert {r["strategy"] for r in rows(tmp_path / "run")} == {"mine", "least-confidence"}


def test_plugins_are_checked(tmp_path):
    (tmp_path / "none.py").write_text("def helper(x):\n    return x\n")
    with pytest.raises(InputError, match="public function"):
        play(tmp_path / "run", plugin=str(tmp_path / "none.py"))
    (tmp_path / "taken.py").write_text("def margin(context):\n    return None\n")
    with pytest.raises(InputError, match="margin"):
        play(tmp_path / "run", plugin=str(tmp_path / "taken.py"))
    (tmp_path / "broken.py").write_text("import nothing_like_this\n")
    with pytest.raises(InputError, match="No module named 'nothing_like_this'"):
        play(tmp_path / "run", plugin=str(tmp_path / "broken.py"))


def write_questions(path, data_dir, count):
    trec = load("trec6", data_dir=data_dir)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "topic"])
        writer.writerows((trec.pool.items[i], trec.classes[trec.pool.labels[i]]) for i in range(count))


def test_a_file_of_the_user(tmp_path, data_dir):
    write_questions(tmp_path / "my.csv", data_dir, 400)
    code, out, errors = finished(
        tmp_path / "run",
        *("--dataset", str(tmp_path / "my.csv"), "--text", "body", "--label", "topic", "--strategies", "margin,random"),
        *("--seeds", "1", "--budget", "10", "--axis", "members=2", "--jobs", "1"),
    )
    assert code == 0, errors
    found = rows(tmp_path / "run")
    assert {r["dataset"] for r in found} == {"my.csv"}
    assert [r["labels"] for r in found] == [26, 36, 26, 36]
    assert "my.csv: text" in out


def test_a_file_with_semicolons_in_another_encoding(tmp_path):
    lines = [f"grün {i};{'ja' if i % 3 else 'nein'}" for i in range(90)]
    (tmp_path / "my.csv").write_text("\n".join(["Frage;Klasse", *lines]), encoding="cp1252")
    columns = ("--dataset", str(tmp_path / "my.csv"), "--text", "Frage", "--label", "Klasse")
    rest = ("--strategies", "random", "--seeds", "1", "--budget", "5", "--initial", "10", "--no-full", "--jobs", "1")
    code, _, errors = finished(tmp_path / "run", *columns, "--encoding", "cp1252", *rest)
    assert code == 2
    assert "--delimiter" in errors
    described = ("--delimiter", ";", "--encoding", "cp1252", "--holdout", "0.5")
    code, out, errors = finished(tmp_path / "run", *columns, *described, *rest)
    assert code == 0, errors
    assert "pool 45, test 45" in out


def test_what_a_cell_refuses_is_a_sentence(tmp_path):
    refusal = "raise InputError('mine', expected='rain', got='sun', fix='Wait.')"
    (tmp_path / "mine.py").write_text(f"from bemps import InputError\ndef mine(context):\n    {refusal}\n")
    settings = ("--dataset", "digits", "--strategies", "mine", "--seeds", "1", "--budget", "10", "--no-full")
    code, _, errors = finished(tmp_path / "run", *settings, "--plugin", str(tmp_path / "mine.py"), "--jobs", "1")
    assert code == 1
    assert "mine: expected rain" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("value", ["T=abc", "members=abc", "resample=abc"])
def test_a_wrong_value_of_an_axis_is_refused_before_any_work(tmp_path, value):
    settings = ("--dataset", "digits", "--strategies", "coremse", "--seeds", "1", "--budget", "10")
    code, out, errors = finished(tmp_path / "run", *settings, "--axis", value, "--jobs", "1")
    assert code == 2
    assert f"option {value.partition('=')[0]} of" in " ".join(errors.split())
    assert "abc" in errors
    assert "reading data" not in out
    assert not (tmp_path / "run").exists()


def test_every_option_of_every_model_has_its_values():
    assert {name for row in grid_models().values() for name in row.options} - {"encoder"} == set(OPTION_VALUES)
    for name, row in grid_models().items():
        defaults = {option: value for option, value in row.options.items() if value is not None and option != "encoder"}
        check_options(name, defaults, row.options)


def test_every_strategy_refuses_a_wrong_value_in_a_sentence():
    for name, entry in STRATEGIES.items():
        for option, default in entry.options.items():
            try_options(name, {} if default is None else {option: default})
            with pytest.raises(InputError):  # -1 is of the kind that the type checker of the tests lets through
                try_options(name, {option: -1 if default is None and option != "compat" else "abc"})


def test_vectors_of_encoders_are_made_once_in_parts(tmp_path, data_dir, monkeypatch):
    needs_weights("minilm")
    from bemps.models.encoders.text_encoder import TextEncoder

    monkeypatch.setattr(pool_encoding, "PART", 50)
    write_questions(tmp_path / "my.csv", data_dir, 150)
    settings = {"dataset": str(tmp_path / "my.csv"), "text": "body", "label": "topic", "model": "spectral", "seeds": 1}
    settings |= {
        "strategies": ["corelog-laplace-margin"],
        "budget": 10,
        "axes": {"encoder": ["minilm", "tfidf", "minilm-words"]},
    }
    assert play(tmp_path / "run", **settings).failures == ()
    assert {r["encoder"] for r in rows(tmp_path / "run")} == {"minilm", "tfidf", "minilm-words"}
    shared = tmp_path / "run" / "shared" / "my.csv"
    assert sorted(path.name for path in (shared / "minilm").glob("*.npy")) == ["pool.npy", "test.npy"]
    texts = json.loads((shared / "raw" / "pool.json").read_text())
    vectors = np.load(shared / "minilm" / "pool.npy")
    np.testing.assert_allclose(vectors[45:55], TextEncoder().embeddings(texts[45:55]), atol=1e-5)
    both = np.load(shared / "minilm-words" / "pool.npy")
    scale = np.linalg.norm(both[:, :384], axis=1, keepdims=True)
    np.testing.assert_allclose(both[:, :384] / scale, vectors, atol=1e-5)
    assert sorted(path.name for path in (shared / "minilm-words").glob("*.npy")) == ["pool.npy", "test.npy"]


def own_encoder(folder):
    """A copy of a tiny encoder, whose files can be changed."""
    shutil.copytree(tiny_bert(), folder)
    return folder


OWN = {"text": "body", "label": "topic", "model": "spectral", "strategies": "margin", "seeds": 1, "budget": 10}


def test_a_folder_of_your_own_is_an_encoder_known_by_its_content(tmp_path, data_dir):
    write_questions(tmp_path / "my.csv", data_dir, 120)
    encoder = own_encoder(tmp_path / "mine")
    settings = OWN | {"dataset": str(tmp_path / "my.csv"), "axes": {"encoder": str(encoder)}}
    together = tmp_path / "together"

    def vectors(name: str) -> np.ndarray:
        assert run(config_of(SMALL | settings), tmp_path / name, shared=together).failures == ()
        [form] = json.loads((tmp_path / name / "config.json").read_text())["encoders"].values()
        return np.load(tmp_path / name / "shared" / "my.csv" / form / "pool.npy")

    first = vectors("first")
    [known] = json.loads((tmp_path / "first" / "config.json").read_text())["encoders"].values()
    assert {row["encoder"] for row in rows(tmp_path / "first")} == {str(encoder)}
    assert first.shape[1] > 2 * 32  # two layers, and words beside them
    state = load_file(encoder / "model.safetensors")
    save_file({name: value * 1.1 for name, value in state.items()}, encoder / "model.safetensors")
    assert np.abs(vectors("second")[:, :64] - first[:, :64]).max() > 1e-3
    with pytest.raises(OtherConfiguration, match=f"encoders.{encoder}: was 'mine-"):
        run(config_of(SMALL | settings), tmp_path / "first", shared=together)
    np.testing.assert_array_equal(np.load(tmp_path / "first/shared/my.csv" / known / "pool.npy"), first)


def test_a_name_on_the_hub_is_an_encoder_of_a_grid(tmp_path, data_dir, monkeypatch):
    write_questions(tmp_path / "my.csv", data_dir, 120)
    encoder, asked = own_encoder(tmp_path / "mine"), []

    def fetch(repository: str, path: str, commit: str | None = None) -> Path:
        asked.append(repository)
        if not (encoder / path).exists():
            raise FileNotFoundError(path)
        return encoder / path

    monkeypatch.setattr(encoder_files, "fetch_from_hub", fetch)
    settings = OWN | {"dataset": str(tmp_path / "my.csv"), "axes": {"encoder": ["tfidf", "someone/mine"]}}
    play(tmp_path / "run", **settings)
    assert {row["encoder"] for row in rows(tmp_path / "run")} == {"tfidf", "someone/mine"}
    assert set(asked) == {"someone/mine"}
    (encoder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="expected a repository on the Hugging Face hub"):
        run(config_of(SMALL | settings), tmp_path / "other")


@pytest.mark.parametrize("option", ["frozen", "tuned"])
def test_encoders_that_are_options_are_known_by_their_content_before_anything_runs(option, tmp_path, data_dir):
    needs_weights("minilm", "bge-small")
    write_questions(tmp_path / "my.csv", data_dir, 120)
    encoder = own_encoder(tmp_path / "mine")
    settings = OWN | {"dataset": str(tmp_path / "my.csv"), "model": "adapted", "full": False}

    def plan(value: str) -> dict[str, str]:
        config = config_of(SMALL | settings | {"axes": {option: value}})
        watcher = Notes()
        return plan_run(config, cells(config), tmp_path / "run", None, watcher).described()["encoders"]

    before = plan(str(encoder))
    assert list(before) == [f"{option}={encoder}"]
    assert plan(str(encoder)) == before
    with (encoder / "tokenizer.json").open("a") as file:
        file.write(" ")
    assert plan(str(encoder)) != before
    with pytest.raises(InputError, match="expected a repository on the Hugging Face hub"):
        plan("nosuch/name")
    (encoder / "config.json").unlink()
    with pytest.raises(InputError, match=r"config\.json"):
        plan(str(encoder))


def test_more_layers_than_minilm_has_are_refused():
    check_options("finetuned", {"top_layers": 6}, MODELS["finetuned"].options)
    with pytest.raises(InputError, match="option top_layers of finetuned: expected at most 6, the layers of MiniLM"):
        check_options("finetuned", {"top_layers": 7}, MODELS["finetuned"].options)


def test_encoders_that_do_not_fit_are_refused_before_anything_runs(tmp_path, data_dir):
    write_questions(tmp_path / "my.csv", data_dir, 120)
    encoder = own_encoder(tmp_path / "mine")
    (encoder / "tokenizer.json").unlink()
    of_texts = OWN | {"dataset": str(tmp_path / "my.csv")}
    of_rows = {"dataset": "digits", "model": "spectral", "strategies": "margin"}
    for settings, name, message in (
        (of_texts, str(encoder), "expected model.onnx or model.safetensors, and tokenizer.json; got no tokenizer.json"),
        (of_texts, "mpnte", "Did you mean 'mpnet'.*Or the folder of a text encoder, or its name on the Hugging Face"),
        (of_rows, str(encoder), "encoder of array items: expected one of plain"),
    ):
        with pytest.raises(InputError, match=message):
            run(config_of(SMALL | settings | {"axes": {"encoder": name}}), tmp_path / "run")
        assert not (tmp_path / "run" / "shared").exists()


def test_vectors_that_others_hold_are_not_made_again(tmp_path, data_dir, monkeypatch):
    needs_weights("minilm")
    write_questions(tmp_path / "my.csv", data_dir, 120)
    settings = {"dataset": str(tmp_path / "my.csv"), "text": "body", "label": "topic", "model": "spectral", "seeds": 1}
    settings |= {"strategies": "margin", "budget": 10, "full": False}

    def vectors(name: str, encoder: str, shared: str) -> np.ndarray:
        config = config_of(SMALL | settings | {"axes": {"encoder": encoder}})
        assert run(config, tmp_path / name, shared=tmp_path / shared).failures == ()
        return np.load(tmp_path / name / "shared" / "my.csv" / encoder / "pool.npy")

    alone = vectors("alone", "minilm", "apart")
    vectors("words", "minilm-words", "together")
    monkeypatch.setattr(pool_encoding, "encode_part", None)
    np.testing.assert_array_equal(vectors("after", "minilm", "together"), alone)


def test_a_folder_of_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    digits = load("digits")
    for i in range(120):
        place = tmp_path / "photos" / digits.classes[digits.pool.labels[i]]
        place.mkdir(parents=True, exist_ok=True)
        image.fromarray((digits.pool.items[i].reshape(8, 8) * 15).astype(np.uint8)).save(place / f"{i}.png")
    play(tmp_path / "run", dataset=str(tmp_path / "photos"), label="folder", strategies="margin", seeds=1)
    assert [r["labels"] for r in rows(tmp_path / "run")] == [20, 30, 40]
    assert rows(tmp_path / "run")[-1]["accuracy"] > 0.5


def test_words_surprise_a_language_model_adapted_on_the_pool_once(tmp_path, data_dir, monkeypatch):
    needs_weights("minilm")
    write_questions(tmp_path / "my.csv", data_dir, 120)
    settings = {"dataset": str(tmp_path / "my.csv"), "text": "body", "label": "topic", "model": "spectral", "seeds": 1}
    settings |= {"strategies": "alps", "budget": 10, "axes": {}, "full": False}
    shared = tmp_path / "vectors"
    for number in range(2):
        config = config_of(SMALL | settings)
        assert run(config, tmp_path / f"run{number}", shared=shared).failures == ()
        # made once: the second run finds what the first one left
        monkeypatch.setattr(pool_encoding, "write_surprisal", None)
        monkeypatch.setattr(pool_encoding, "encode_part", None)
    assert bytes_of(tmp_path / "run0") == bytes_of(tmp_path / "run1")
    [folder] = (path for path in shared.iterdir() if path.is_dir())
    assert np.load(folder / "surprisal" / "pool.npy").shape[1] == 128


def test_texts_are_fine_tuned_and_images_trained_on(tmp_path, data_dir):
    needs_weights("minilm")
    write_questions(tmp_path / "my.csv", data_dir, 60)
    small = {"strategies": "margin", "seeds": 1, "budget": 10, "full": False}
    axes = {"epochs": 2, "members": 2, "top_layers": 1}
    text = {"dataset": str(tmp_path / "my.csv"), "text": "body", "label": "topic", "model": "finetuned", "axes": axes}
    assert play(tmp_path / "text", **small, **text).failures == ()
    assert list((tmp_path / "text" / "shared" / "my.csv" / "cache").iterdir())
    pictures = {"dataset": "mnist", "model": "mnist-bnn", "max_pool": 60, "axes": {"members": 2}}
    outcome = run(config_of(SMALL | small | pictures), tmp_path / "images", data_dir=str(data_dir))
    assert outcome.failures == ()
    assert [r["labels"] for r in rows(tmp_path / "images")] == [20, 30]


def test_vgg_has_the_width_that_is_asked_for(tmp_path):
    pytest.importorskip("torch")
    vgg = MODELS["vgg16bn"]
    images = np.zeros((3, 32, 32, 3), dtype=np.uint8)
    slim = vgg.make(images, tmp_path, members=2, width=8)
    whole = vgg.make(images, tmp_path)
    assert slim.network.build(10, 0.5, None).head[1].in_features == 8 * 8
    assert whole.network.build(10, 0.5, None).head[1].in_features == 8 * 64
    assert set(vgg.options) == {"members", "posterior", "width"}


def test_reliability_bins_hold_every_test_item(golden):
    binned, told = rows(golden[0], "reliability"), rows(golden[0])
    items = len(load("digits").test)
    for result in told:
        mine = [r for r in binned if all(r[name] == result[name] for name in ("strategy", "seed", "round"))]
        assert sum(r["items"] for r in mine) == items
        assert sum(r["correct"] for r in mine) / items == pytest.approx(result["accuracy"])
        assert all(r["bin"] / 20 <= r["confidence"] / r["items"] <= (r["bin"] + 1) / 20 for r in mine)


def test_a_file_needs_its_label_column(tmp_path):
    (tmp_path / "my.csv").write_text("body,topic\na,b\n")
    with pytest.raises(InputError, match="--label"):
        play(tmp_path / "run", dataset=str(tmp_path / "my.csv"), text="body")


def test_toml_and_flags_say_the_same(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(
        'dataset = ["digits"]\nstrategies = ["coremse", "margin", "random"]\nseeds = 2\nbudget = 20\naxes.members = 3\n'
    )
    assert config_of(read_toml(path)) == config_of(SMALL)
    path.write_text("dataset = [")
    with pytest.raises(InputError, match="TOML"):
        read_toml(path)


def test_flags_may_be_repeated_or_have_commas(monkeypatch):
    import typer
    from typer.testing import CliRunner

    commands = importlib.import_module("bemps.cli.run")  # `bemps.cli.run` is also the name of the command in it
    told = []
    monkeypatch.setattr(commands, "run_shown", lambda flags, file: told.append(flags))
    app = typer.Typer()
    app.command()(commands.run)
    commas = "--model heads,forest --strategies margin,random --batch-size 5,10 --axis T=0.3,1"
    again = "--model heads --model forest --strategies margin --strategies random "
    again += "--batch-size 5 --batch-size 10 --axis T=0.3 --axis T=1"
    assert [CliRunner().invoke(app, given.split()).exit_code for given in (commas, again)] == [0, 0]
    expected = {"model": ["heads", "forest"], "strategies": ["margin", "random"], "batch_size": [5, 10]}
    assert told == [expected | {"axes": {"T": [0.3, 1]}}] * 2
    assert CliRunner().invoke(app, ["--strategies", ",", "--out", "x"]).exit_code == 0
    assert told[-1] == {"strategies": [], "out": "x"}  # refused later, never replaced by the default


def test_help_shows_a_file_that_works():
    from bemps.cli.run import run as command

    text = command.__doc__.split("experiment.toml (")[1].split("\n", 1)[1]
    settings = tomllib.loads("\n".join(line.strip() for line in text.splitlines()))
    assert settings.pop("out") == "runs/paper"
    settings["dataset"] = settings["dataset"][0]
    assert len(cells(config_of(settings))) == 2 * 2 * 5 * (8 + 8 + 2 + 2)


def test_the_command_reports_failures_with_exit_code_one(tmp_path):
    (tmp_path / "bad.py").write_text("def wrong(context):\n    raise RuntimeError('on purpose')\n")
    code, _, errors = finished(
        tmp_path / "run",
        *("--dataset", "digits", "--strategies", "wrong", "--plugin", str(tmp_path / "bad.py"), "--seeds", "2"),
        *("--budget", "10", "--jobs", "1", "--no-full", "--axis", "members=2"),
    )
    assert code == 1
    assert "2 cell(s)" in errors
    assert errors.count("RuntimeError: on purpose") == 1
    assert "strategy=wrong" in errors


@pytest.mark.parametrize("model", ["forest", "spectral", "heads", "heads-mc"])
def test_every_model_runs_on_rows(tmp_path, model):
    if model.startswith("heads"):
        pytest.importorskip("torch")
    small = {"strategies": "coremse", "seeds": 1, "budget": 10, "axes": {}, "full": model == "spectral"}
    outcome = play(tmp_path / "run", model=model, **small)
    assert outcome.failures == ()
    assert rows(tmp_path / "run")[-1]["accuracy"] > 0.5


@pytest.mark.soak
def test_the_harness_costs_little():
    """The numbers of docs/reference/experiments.md, with slack for busy machines. Apart, where no types are checked."""
    code = "import overhead; print(*overhead.overheads(overhead.load('digits'), 'logistic', repeats=2))"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    _, learner, harness = map(float, told.stdout.split())
    assert harness < 1.15 * learner


def test_an_axis_on_the_command_line_leaves_those_of_the_file(tmp_path, monkeypatch):
    """`--axis members=10` dropped `axes.encoder`, and the grid ran on other vectors."""
    import bemps.experiments
    from bemps.cli.run import run_shown

    (tmp_path / "grid.toml").write_text('dataset = "digits"\naxes.encoder = ["plain"]\naxes.members = [3]\n')
    seen = []

    def stop(settings):
        seen.append(settings["axes"])
        raise InputError("stop", expected="", got="", fix="")

    monkeypatch.setattr(bemps.experiments, "config_of", stop)
    with pytest.raises(InputError, match="stop"):
        run_shown({"axes": {"members": [10]}, "out": str(tmp_path / "out")}, tmp_path / "grid.toml")
    assert seen == [{"encoder": ["plain"], "members": [10]}]
