"""The commands that write files, and what they never write over."""

import csv
import json
import sqlite3
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from bemps import InputError
from bemps.cli import app
from bemps.project import open_project
from bemps.serve.starting import Source, Wishes, prepared
from bemps.store import Said, open_store

TEXTS = [f"{'crash error' if i % 2 else 'please add'} number {i}" for i in range(30)]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A project that was made from tickets.csv, a thesis, and the current folder."""
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["nr", "body"], *([f"n{i}", text] for i, text in enumerate(TEXTS))])
    source = Source(tmp_path / "tickets.csv", {"text": "body", "id": "nr"})
    store, _ = prepared(str(tmp_path / "t.bemps"), source, Wishes(classes=["bug", "wish"], model="tfidf", audit=0.0))
    with store:
        store.record([Said("ann", f"n{i}", "label", "bug" if i % 2 else "wish") for i in range(12)])
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "500"})


def everything(folder):
    """Every file's bytes; the project's own bookkeeping beside it may change."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".bemps"))
    }


EXPORTS = [
    ["export", "t.bemps"],
    ["export", "t.bemps", "--what", "predictions"],
    ["export", "t.bemps", "--what", "events"],
    ["predict", "t.bemps"],
    ["predict", "t.bemps", "tickets.csv", "--text", "body"],
]
OUTS = [
    (["thesis"], "holds other files"),
    (["thesis", "--format", "csv"], "which is a folder"),
    ([".."], "holds"),
    (["../"], "holds"),
    (["."], "holds"),
    (["t.bemps", "--format", "csv"], "what this reads"),
    (["./thesis/../t.bemps", "--format", "jsonl"], "what this reads"),
    (["t.bemps-wal", "--format", "csv"], "what this reads"),
    (["t.bemps.vectors", "--format", "huggingface"], "what this reads"),
    (["tickets.csv"], "what this reads"),
    (["link.csv"], "what this reads"),
    (["other.bemps", "--format", "csv"], "project or other database"),
    (["nowhere/x.csv"], "existing folder"),
    (["x.xml"], "--format"),
]


@pytest.mark.parametrize("command", EXPORTS)
@pytest.mark.parametrize(("out", "words"), OUTS)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_nothing_of_the_users_is_ever_replaced(desk, command, out, words, force, monkeypatch):
    monkeypatch.setattr("bemps.learner.ActiveLearner.predict", lambda *_: pytest.fail("work before the check"))
    (desk / "link.csv").symlink_to(desk / "tickets.csv")
    with open_store(desk / "other.bemps", create=True) as store:
        store.add_class("bug", "ann")
    before = everything(desk)
    done = run(*command, "--out", *out, *force)
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.split())
    assert everything(desk) == before
    with open_store(desk / "t.bemps") as store:
        assert len(store.answers()) == 12


@pytest.mark.parametrize("command", EXPORTS)
def test_an_earlier_export_needs_force_and_the_message_has_the_command(desk, command, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/bemps", *command, "--out", "x.csv"])
    assert run(*command, "--out", "x.csv").exit_code == 0
    before = (desk / "x.csv").read_bytes()
    done = run(*command, "--out", "x.csv")
    assert done.exit_code == 2
    assert f"bemps {' '.join(command)} --out x.csv --force" in done.output
    (desk / "x.csv").write_text("mine")
    assert run(*command, "--out", "x.csv").exit_code == 2
    assert (desk / "x.csv").read_text() == "mine"
    assert run(*command, "--out", "x.csv", "--force").exit_code == 0
    assert (desk / "x.csv").read_bytes() == before


def test_the_command_to_repeat_shows_no_password(monkeypatch):
    from bemps.cli.failures import command_line

    monkeypatch.setattr(sys, "argv", ["bemps", "export", "postgresql+psycopg://me:se:cret@host/db", "--out", "a b.csv"])
    assert command_line("--force") == "bemps export postgresql+psycopg://me@host/db --out 'a b.csv' --force"


def test_a_dataset_folder_is_replaced_with_force_alone(desk):
    pytest.importorskip("pyarrow")
    assert run("export", "t.bemps", "--out", "dataset").exit_code == 0
    assert run("export", "t.bemps", "--out", "dataset").exit_code == 2
    assert run("export", "t.bemps", "--out", "dataset", "--force").exit_code == 0
    (desk / "dataset" / ".bemps").unlink()
    assert run("export", "t.bemps", "--out", "dataset", "--force").exit_code == 2


def test_the_same_in_python(desk):
    with open_project(desk / "t.bemps") as project:
        for path in ("tickets.csv", "t.bemps", "thesis", ".."):
            for what in ("labels", "predictions", "events", "model"):
                with pytest.raises(InputError):
                    project.export(path, what, None if what == "model" else "csv", force=True)
        project.export("labels.csv")
        with pytest.raises(InputError, match="force=True"):
            project.export("labels.csv")
        project.export("labels.csv", force=True)
    assert (desk / "thesis" / "chapter1.tex").read_text() == "years"
    assert (desk / "tickets.csv").read_text().startswith("nr,body")


def test_a_project_of_an_earlier_release_protects_its_source(desk):
    with sqlite3.connect(desk / "t.bemps") as connection:
        connection.execute("DELETE FROM settings WHERE name = 'sources'")
    connection.close()
    assert run("export", "t.bemps", "--out", "tickets.csv", "--force").exit_code == 2


def test_every_file_that_items_came_from_is_protected(desk):
    (desk / "more.csv").write_text("nr,body\nx1,one more text\n")
    source = Source(desk / "more.csv", {"text": "body", "id": "nr"})
    prepared(str(desk / "t.bemps"), source, Wishes())[0].close()
    for name in ("tickets.csv", "more.csv"):
        assert run("export", "t.bemps", "--out", name, "--force").exit_code == 2


def test_images_of_a_project_are_protected(tmp_path, monkeypatch):
    pillow = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    for name in ("a.png", "b.png"):
        pillow.new("RGB", (8, 8), "red").save(tmp_path / "photos" / name)
    store, _ = prepared(
        str(tmp_path / "p.bemps"), Source(tmp_path / "photos"), Wishes(classes=["x", "y"], model="none")
    )
    store.close()
    monkeypatch.chdir(tmp_path)
    for out in (["photos"], ["photos/a.png", "--format", "csv"]):
        assert run("export", "p.bemps", "--out", *out, "--force").exit_code == 2
    assert run("export", "p.bemps", "--out", "photos/labels.csv").exit_code == 0
    assert (tmp_path / "photos" / "a.png").read_bytes().startswith(b"\x89PNG")


def test_select_does_not_replace_its_arrays_or_other_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("probs.npy", np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 20)))
    (tmp_path / "next.csv").write_text("mine")
    (tmp_path / "probs.csv").symlink_to("probs.npy")
    select = ["select", "probs.npy", "-n", "2"]
    assert run(*select, "--out", "next.csv").exit_code == 2
    assert run(*select, "--out", "probs.csv", "--force").exit_code == 2
    assert (tmp_path / "next.csv").read_text() == "mine"
    assert run(*select, "--out", "next.csv", "--force").exit_code == 0
    assert (tmp_path / "next.csv").read_text().startswith("rank,index")
    assert np.load("probs.npy").shape == (4, 20, 3)


def test_a_run_does_not_move_into_a_folder_of_others_and_resumes_in_its_own(desk):
    pytest.importorskip("pyarrow")
    settings = ["--dataset", "digits", "--strategies", "random", "--budget", "2", "--batch-size", "2", "--seeds", "1"]
    command = ["run", *settings, "--max-pool", "100", "--max-test", "50", "--no-full", "--jobs", "1"]
    (desk / "thesis" / "lock").write_text("the key to my diary")
    done = run(*command, "--out", "thesis")
    assert done.exit_code == 2
    assert "holds other files" in " ".join(done.output.split())
    assert (desk / "thesis" / "lock").read_text() == "the key to my diary"
    assert run(*command, "--out", "runs/mine").exit_code == 0
    assert run(*command, "--out", "runs/mine").exit_code == 0
    (desk / "runs" / "mine" / ".bemps").unlink()  # as earlier releases left it
    assert json.loads((desk / "runs" / "mine" / "config.json").read_text())["versions"]
    assert run(*command, "--out", "runs/mine").exit_code == 0
