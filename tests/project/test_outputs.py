"""The commands that write files, and what they never write over."""

import csv
import json
import sqlite3
import sys
from zipfile import ZipFile

import numpy as np
import pytest
from typer.testing import CliRunner

from bemps import InputError
from bemps.cli import app
from bemps.learner import ActiveLearner
from bemps.project import open_project
from bemps.server.project_start import Source, Wishes, prepared
from bemps.server.results.result_messages import WriteResult
from bemps.server.results.result_worker import result_of
from bemps.store import NewAnswer, open_store

TEXTS = [f"{'crash error' if i % 2 else 'please add'} number {i}" for i in range(30)]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A project that was made from tickets.csv, a thesis, and the current folder."""
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["nr", "body"], *([f"n{i}", text] for i, text in enumerate(TEXTS))])
    source = Source(tmp_path / "tickets.csv", {"text": "body", "id": "nr"})
    store, _ = prepared(str(tmp_path / "t.bemps"), source, Wishes(classes=["bug", "wish"], model="tfidf", audit=0.0))
    with store:
        store.record([NewAnswer("ann", f"n{i}", "label", "bug" if i % 2 else "wish") for i in range(12)])
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
    (["t.bemps", "--format", "csv"], "which is an input"),
    (["./thesis/../t.bemps", "--format", "jsonl"], "which is an input"),
    (["t.bemps-wal", "--format", "csv"], "which is an input"),
    (["t.bemps.vectors", "--format", "huggingface"], "which is an input"),
    (["tickets.csv"], "which is an input"),
    (["link.csv"], "which is an input"),
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
    from bemps.cli.command_errors import command_line

    monkeypatch.setattr(sys, "argv", ["bemps", "export", "postgresql+psycopg://me:se:cret@host/db", "--out", "a b.csv"])
    assert command_line("--force") == "bemps export postgresql+psycopg://me@host/db --out 'a b.csv' --force"


def test_a_dataset_folder_is_replaced_with_force_alone(desk):
    pytest.importorskip("pyarrow")
    assert run("export", "t.bemps", "--out", "dataset").exit_code == 0
    assert run("export", "t.bemps", "--out", "dataset").exit_code == 2
    assert run("export", "t.bemps", "--out", "dataset", "--force").exit_code == 0
    (desk / "dataset" / ".bemps").unlink()
    assert run("export", "t.bemps", "--out", "dataset", "--force").exit_code == 2


def test_a_file_of_the_users_in_a_dataset_folder_stays(desk):
    pytest.importorskip("pyarrow")
    assert run("export", "t.bemps", "--out", "ds").exit_code == 0
    (desk / "ds" / "mine.txt").write_text("mine")
    done = run("export", "t.bemps", "--out", "ds", "--force")
    assert done.exit_code == 2
    assert "--out: expected a dataset alone; got ds, which also holds mine.txt" in " ".join(done.output.split())
    assert (desk / "ds" / "mine.txt").read_text() == "mine"


def test_a_program_stays_also_with_force(desk):
    (desk / "lab.py").write_text("print('years')")
    assert run("export", "t.bemps", "--out", "lab.py", "--format", "csv", "--force").exit_code == 2
    assert run("export", "t.bemps", "--out", "-", "--format", "csv").exit_code == 2
    assert (desk / "lab.py").read_text() == "print('years')"
    assert not (desk / "-").exists()


def test_the_source_of_a_project_in_the_current_folder_stays(desk, monkeypatch):
    (desk / "elsewhere").mkdir()
    (desk / "tickets.csv").rename(desk / "elsewhere" / "src.csv")
    source = Source(desk / "elsewhere" / "src.csv", {"text": "body", "id": "nr"})
    prepared("src.bemps", source, Wishes(classes=["bug", "wish"], model="none"))[0].close()
    before = everything(desk)
    done = run("export", "t.bemps", "--out", "elsewhere/src.csv", "--force")
    assert done.exit_code == 2
    assert "from which" in done.output
    assert everything(desk) == before


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


def test_select_takes_one_model_and_speaks_of_its_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.random.default_rng(0).dirichlet(np.ones(3), size=20))
    done = run("select", "one.npy", "-n", "2", "--out", "next.CSV")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "next.CSV").read_text().startswith("rank,index")
    done = run("select", "one.npy", "-n", "2", "--strategy", "coremse")
    assert done.exit_code == 2
    assert "--strategy margin" in done.output
    assert "strategy=" not in done.output
    assert "--out: expected" in run("select", "one.npy", "-n", "2", "--out", "nowhere/x.csv").output


def test_a_shared_folder_of_others_is_refused(desk):
    pytest.importorskip("pyarrow")
    settings = ["--dataset", "digits", "--strategies", "random", "--budget", "2", "--batch-size", "2", "--seeds", "1"]
    command = ["run", *settings, "--max-pool", "100", "--max-test", "50", "--no-full", "--jobs", "1"]
    done = run(*command, "--out", "runs2", "--shared", "thesis")
    assert done.exit_code == 2
    assert "--shared: expected a new folder, or a folder of shared data that bemps wrote" in " ".join(
        done.output.split()
    )
    assert [path.name for path in (desk / "thesis").iterdir()] == ["chapter1.tex"]
    assert run(*command, "--out", "runs2", "--shared", "common").exit_code == 0
    (desk / "common" / ".bemps").unlink()  # as earlier releases left it
    assert run(*command, "--out", "runs3", "--shared", "common").exit_code == 0
    assert len(list((desk / "common").glob("digits-*"))) == 1


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


def test_the_source_of_another_project_is_not_replaced_with_force(desk):
    (desk / "others.csv").write_text("body\none crash\ntwo wishes\n")
    store, _ = prepared(str(desk / "others.bemps"), Source(desk / "others.csv"), Wishes(classes=["bug", "wish"]))
    store.close()
    before = everything(desk)
    told = run("export", "t.bemps", "--out", "others.csv", "--force")
    assert told.exit_code != 0
    assert "from which others.bemps was made" in told.output
    assert everything(desk) == before


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A project of pictures of which one is no image, and one is empty."""
    pillow = pytest.importorskip("PIL.Image")
    (tmp_path / "im").mkdir()
    for number in range(20):
        colour = (200 + number, 40, 30) if number % 2 else (30, 40, 200 + number)
        pillow.new("RGB", (20, 20), colour).save(tmp_path / "im" / f"{number}.png")
    (tmp_path / "im" / "broken.png").write_bytes(b"\x89PNG broken")
    (tmp_path / "im" / "empty.jpg").touch()
    wishes = Wishes(classes=["warm", "cold"], model="pixels", audit=0.0)
    store, _ = prepared(str(tmp_path / "im.bemps"), Source(tmp_path / "im"), wishes)
    with store:
        store.record([NewAnswer("ann", f"{i}.png", "label", "warm" if i % 2 else "cold") for i in range(8)])
        store.record([NewAnswer("ann", "broken.png", "label", "warm")])
    monkeypatch.setattr("bemps.models.content_models.PIXELS", 8)  # quick to learn from
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [["predict", "im.bemps"], ["export", "im.bemps", "--what", "predictions"]])
def test_broken_images_stand_in_predictions_without_a_class_and_are_named(pictures, command):
    done = run(*command, "--out", "p.csv")
    assert done.exit_code == 0, done.output
    assert "2 images cannot be decoded; the predictions have no class there: broken.png, empty.jpg" in done.output
    with (pictures / "p.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert len(rows) == 22
    assert all(rows[f"{i}.png"]["label"] == ("warm" if i % 2 else "cold") for i in range(20))
    assert list(rows["empty.jpg"].values()) == ["empty.jpg", "empty.jpg", *[""] * 7]
    broken = rows["broken.png"]
    assert (broken["label"], broken["human"], broken["final"], broken["p_warm"]) == ("", "warm", "warm", "")
    assert run(*command, "--out", "p.jsonl").exit_code == 0
    assert run(*command, "--out", "p.json", "--format", "label-studio").exit_code == 0
    assert len(json.loads((pictures / "p.json").read_text())) == 20  # a tool has no use for an item without one


def test_a_learner_of_pictures_leaves_broken_ones_out_and_can_be_saved(pictures):
    with open_project(pictures / "im.bemps") as project:
        learner = project.learner()
        assert project.broken == {"broken.png", "empty.jpg"}
        assert len(learner.ask(12)) == 12
        project.export("model.learner", "model")
    assert ActiveLearner.load(pictures / "model.learner").ask(12).items == learner.ask(12).items


def test_the_zip_file_of_a_model_of_pictures_names_no_command_for_texts(pictures):
    (pictures / "out").mkdir()
    order = WriteResult(str(pictures / "im.bemps"), str(pictures / "out"), "im-model", "model")
    path = pictures / "out" / result_of(order, lambda _: None).name
    with ZipFile(path) as packed:
        words = packed.read("README.md").decode()
    assert 'learner.predict(["/path/of/an/image.png"])' in words
    assert "bemps predict" not in words
    learner = ActiveLearner.load(path)
    assert learner.classes[learner.predict([str(pictures / "im" / "9.png")]).argmax()] == "warm"


def test_new_images_are_refused_with_what_works(pictures):
    done = run("predict", "im.bemps", "im", "--out", "q.csv")
    assert done.exit_code == 2
    assert "open it with bemps label, and predict without FILE" in " ".join(done.output.split())


def test_an_image_under_two_names_is_asked_once_and_the_answer_counts_for_both(pictures):
    (pictures / "im" / "zz copy.png").write_bytes((pictures / "im" / "3.png").read_bytes())
    (pictures / "im" / "zz other.png").write_bytes((pictures / "im" / "3.png").read_bytes()[:-1] + b"!")  # as long
    (pictures / "im" / "zz empty.jpg").touch()
    store, notes = prepared(str(pictures / "im.bemps"), Source(pictures / "im"), Wishes())
    with store:
        assert store.copies() == {"zz copy.png": "3.png"}
        assert not {"zz copy.png"} & {*store.ids(), *store.audit()}
    assert any("1 rows repeat an image: it is asked once" in note for note in notes)
    assert run("predict", "im.bemps", "--out", "p.csv").exit_code == 0
    with (pictures / "p.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert rows["zz copy.png"]["human"] == rows["3.png"]["human"] == "warm"
    each = Wishes(classes=["warm", "cold"], model="none", duplicates="ask")
    with prepared(str(pictures / "each.bemps"), Source(pictures / "im"), each)[0] as store:
        assert store.copies() == {}
