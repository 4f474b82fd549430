"""Calibration over the epochs of a training on all labels: what a run writes, and that it is the same every time."""

import csv

import numpy as np
import pytest
from running import Notes, bytes_of, play, rows

from bemps.data import load
from bemps.experiments import epoch_runs
from bemps.experiments.inputs.run_data import folder_of
from bemps.metrics import BIN_KINDS
from bemps.results import ece_of_epochs, running_average

LITTLE = {"strategies": "random", "seeds": 1, "budget": 10}


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("epochs") / "run"
    assert play(out, **LITTLE).failures == ()
    return out


def test_the_numbers_are_those_of_the_training_by_hand(finished_run):
    digits = load("digits")
    pool, test = (np.asarray(part.items / 16, dtype=np.float32).astype(float) for part in (digits.pool, digits.test))
    errors = ece_of_epochs(pool, digits.pool.labels, test, digits.test.labels, np.random.default_rng(0))
    found = rows(finished_run, "epochs")
    assert {(r["dataset"], r["vectors"]) for r in found} == {("digits", "plain")}
    for kind in BIN_KINDS:
        mine = [r for r in found if r["kind"] == kind]
        assert [r["epoch"] for r in mine] == list(range(1, 21))
        np.testing.assert_allclose([r["ece"] for r in mine], errors[kind], atol=1e-6)
        np.testing.assert_allclose([r["running_ece"] for r in mine], running_average(errors[kind]), atol=1e-6)
    last = [r for r in found if r["kind"] == "equal-mass"][-1]
    assert last["ece"] < 0.15 < found[0]["ece"]


def test_what_is_there_is_not_learnt_again_and_what_is_missing_is(finished_run, monkeypatch):
    before = bytes_of(finished_run)
    (finished_run / "epochs.parquet").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(epoch_runs, "ece_of_epochs", None)
        assert play(finished_run, **LITTLE).failures == ()
    assert bytes_of(finished_run) == before
    (finished_run / "epochs" / "digits.json").unlink()
    watcher = Notes()
    assert play(finished_run, watcher=watcher, **LITTLE).failures == ()
    assert ("calibration over epochs", 1) in watcher.stages
    assert bytes_of(finished_run) == before


def test_a_training_that_fails_stops_no_cell_and_is_tried_again(tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("no such luck")

    with monkeypatch.context() as patch:
        patch.setattr(epoch_runs, "ece_of_epochs", broken)
        outcome = play(tmp_path, **LITTLE)
    assert outcome.rounds == outcome.planned
    assert [failure.key["strategy"] for failure in outcome.failures] == ["epochs on all labels"]
    assert "no such luck" in outcome.failures[0].cause
    assert rows(tmp_path, "epochs") == []
    assert play(tmp_path, **LITTLE).failures == ()
    assert len(rows(tmp_path, "epochs")) == 60


def test_none_without_the_training_on_all_labels(tmp_path):
    play(tmp_path, full=False, **LITTLE)
    assert rows(tmp_path, "epochs") == []


def test_vectors_of_an_encoder_come_before_plain_rows(tmp_path):
    for form in ("plain", "vectors"):
        place = folder_of(tmp_path, "digits") / form
        place.mkdir(parents=True)
        (place / "pool.npy").touch()
    forms = {("digits", "vectors"), ("digits", "plain"), ("digits", "images"), ("texts", "plain")}
    assert epoch_runs.epoch_trainings(forms, tmp_path) == [epoch_runs.EpochTraining("digits", "vectors")]
    assert epoch_runs.epoch_trainings(forms - {("digits", "vectors")}, tmp_path) == [
        epoch_runs.EpochTraining("digits", "plain")
    ]


def test_texts_have_epochs_where_a_model_reads_vectors_of_them(tmp_path, data_dir):
    trec = load("trec6", data_dir=data_dir)
    with (tmp_path / "my.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "topic"])
        writer.writerows((trec.pool.items[i], trec.classes[trec.pool.labels[i]]) for i in range(150))
    mine = {"dataset": ["digits", {"path": str(tmp_path / "my.csv"), "text": "body", "label": "topic"}]}
    play(tmp_path / "texts", **LITTLE, **mine)
    assert {(r["dataset"], r["vectors"]) for r in rows(tmp_path / "texts", "epochs")} == {("digits", "plain")}
    mine |= {"dataset": mine["dataset"][1], "model": ["logistic", "spectral"], "axes": {"encoder": ["tfidf"]}}
    assert play(tmp_path / "vectors", **LITTLE, **mine).failures == ()
    assert {(r["dataset"], r["vectors"]) for r in rows(tmp_path / "vectors", "epochs")} == {("my.csv", "tfidf")}
