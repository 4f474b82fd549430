"""bemps export, import and predict as people type them."""

import csv
import itertools
import shutil
import subprocess
import sys
from io import StringIO

import pytest
from encoder_weights import needs_weights
from rich.console import Console
from typer.testing import CliRunner

from bemps.cli import app, terminal_progress
from bemps.errors import pip_install
from bemps.formats.entries import PredictedItem, counted
from bemps.models.model_registry import MODELS
from bemps.project import Project
from bemps.store import Item, NewAnswer, open_store

LONG = "x" * 300  # longer than file systems allow
TEXTS = [f"{'crash error' if i % 2 else 'please add'} number {i}" for i in range(30)]


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "tickets.bemps"
    with open_store(path, create=True) as store:
        store.set("model", "tfidf")
        for name in ("bug", "wish"):
            store.add_class(name, "lead")
        store.add_items(Item(f"i{i}", text) for i, text in enumerate(TEXTS))
        store.record([NewAnswer("ann", f"i{i}", "label", "bug" if i % 2 else "wish") for i in range(12)])
    return path


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_export_and_import(project, tmp_path):
    done = run("export", project, "--out", tmp_path / "labels.csv")
    assert done.exit_code == 0, done.output
    rows = table(tmp_path / "labels.csv")
    assert list(rows[0]) == ["id", "text", "label", "annotator", "time"]
    assert len(rows) == 12
    done = run("import", project, tmp_path / "labels.csv")
    assert "0 answers taken over, 12 were there already" in done.output


def test_import_takes_labels_with_spaces_around_them(project, tmp_path):
    (tmp_path / "labels.csv").write_text("id;label\ni20; bug\ni21;wish \ni22; new kind \n")
    done = run("import", project, tmp_path / "labels.csv", "--add-classes")
    assert "3 answers taken over" in done.output
    with open_store(project) as store:
        assert [known.name for known in store.classes()] == ["bug", "wish", "new kind"]
    run("export", project, "--out", tmp_path / "all.csv")
    labels = {row["id"]: row["label"] for row in table(tmp_path / "all.csv")}
    assert [labels[name] for name in ("i20", "i21", "i22")] == ["bug", "wish", "new kind"]


@pytest.mark.parametrize(("model", "words"), [("tfidf", "TF-IDF vectors"), ("minilm-heads", "MiniLM vectors")])
def test_predict_by_project_and_by_saved_model(project, tmp_path, monkeypatch, model, words):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for package in MODELS[model].vectors.packages:
        pytest.importorskip(package)
    if model != "tfidf":
        pytest.importorskip("torch")
        needs_weights("minilm")
    with open_store(project) as store:
        store.set("model", model)
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["nr", "body"], *([f"n{i}", text] for i, text in enumerate(TEXTS))])
    assert run("export", project, "--out", tmp_path / "model", "--what", "model").exit_code == 0
    assert not [file for file in (tmp_path / "model").iterdir() if str(tmp_path).encode() in file.read_bytes()]
    done = run("predict", project, "--out", tmp_path / "own.csv")
    assert f"Model: {words}" in done.output
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "model")
    for source, out in ((project, "a.csv"), (packed, "b.csv")):
        done = run("predict", source, tmp_path / "new.csv", "--text", "body", "--id", "nr", "--out", tmp_path / out)
        assert done.exit_code == 0, done.output
    assert bool(list((tmp_path / "cache").rglob("*.npy"))) == (model != "tfidf")  # read once, also without the project
    own, a, b = (table(tmp_path / name) for name in ("own.csv", "a.csv", "b.csv"))
    assert a == b
    assert [row["p_bug"] for row in a] == [row["p_bug"] for row in own]
    ours = ["id", "text", "label", "probability", "human", "answered", "final", "p_bug", "p_wish"]
    assert list(a[0]) == ["nr", "body", *ours]
    assert [row["human"] for row in a] == [row["human"] for row in own] == ["wish", "bug"] * 6 + [""] * 18
    assert [row["id"] for row in a] == [f"n{i}" for i in range(30)]
    assert [row["label"] for row in a] == ["wish", "bug"] * 15


def test_predict_reads_a_folder_of_text_files_and_refuses_images(project, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for folder in ("notes/may", "photos"):
        (tmp_path / folder).mkdir(parents=True)
    for name, text in (("1.txt", "crash error number 3"), ("may/2.txt", "please add number 4")):
        (tmp_path / "notes" / name).write_text(text)
    image.new("RGB", (4, 4)).save(tmp_path / "photos" / "1.png")
    done = run("predict", project, tmp_path / "notes", "--out", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    assert {row["id"]: row["label"] for row in table(tmp_path / "p.csv")} == {"1.txt": "bug", "may/2.txt": "wish"}
    refused = run("predict", project, tmp_path / "photos", "--out", tmp_path / "q.csv")
    assert "expected texts; got images. Name the column with --text" in " ".join(refused.output.split())


def test_predict_reads_a_file_with_semicolons_in_another_encoding(project, tmp_path):
    (tmp_path / "new.csv").write_bytes("body;nr\ncrash é;1\n".encode("cp1252"))
    arguments = ("predict", project, tmp_path / "new.csv", "--text", "body", "--encoding", "cp1252")
    assert "pass --delimiter ';'" in run(*arguments).output
    done = run(*arguments, "--delimiter", ";", "--out", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    assert [(row["body"], row["nr"]) for row in table(tmp_path / "p.csv")] == [("crash é", "1")]


def test_predict_says_what_becomes_of_audit_labels_and_learns_from_them_when_asked(project, tmp_path):
    assert "Learnt from 12 labels\n" in run("predict", project, "--out", tmp_path / "a.csv").output
    with open_store(project) as store:
        store.mark_audit(["i0", "i1", "i2", "i20"])
    without = run("predict", project, "--out", tmp_path / "b.csv").output
    assert "Learnt from 9 labels; 3 audit items are left out (--audit learns from them too)" in without
    with_them = run("predict", project, "--audit", "--out", tmp_path / "c.csv").output
    assert "Learnt from 12 labels, 3 of them audit items" in with_them
    a, b, c = ([row["p_bug"] for row in table(tmp_path / name)] for name in ("a.csv", "b.csv", "c.csv"))
    assert a == c != b
    refused = run("predict", tmp_path, tmp_path / "a.csv", "--audit")
    assert refused.exit_code != 0
    assert "a saved model" in refused.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "nowhere.bemps", "--out", "x.csv"], "no such file"),
        (["export", "PROJECT", "--out", "x.xml"], "--format"),
        (["export", "PROJECT", "--out", "x.csv", "--what", "everything"], "what to export"),
        (["import", "PROJECT", "nowhere.csv"], "does not exist"),
        (["predict", "nowhere.bemps"], "no such file"),
        (["predict", "FOLDER"], "a file or folder with new items"),
        (["predict", "FOLDER", "PROJECT"], "format of"),
    ],
)
def test_mistakes_are_told_in_a_sentence(project, arguments, words):
    names = {"PROJECT": str(project), "FOLDER": str(project.parent)}
    done = run(*(names.get(word, word) for word in arguments))
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize("out", ["p.nope", "nowhere/p.csv", "tickets.bemps"])
def test_predict_refuses_a_path_before_it_learns(project, monkeypatch, out):
    monkeypatch.setattr(Project, "current_learner", lambda *_: pytest.fail("learnt before the path was checked"))
    done = run("predict", project, "--out", project.parent / out)
    assert done.exit_code == 2, done.output
    assert "Model:" not in done.output


def test_a_log_of_a_long_prediction_stays_short(monkeypatch):
    """A million texts are encoded in parts of 2,000, each with a progress of its own."""
    seconds = itertools.count(step=0.5)  # of each report
    monkeypatch.setattr(terminal_progress, "monotonic", lambda: next(seconds))
    console = Console(file=StringIO())
    with terminal_progress.reported(console) as progress:
        rows = (PredictedItem(Item(str(row), ""), ()) for row in range(20_000))
        for row, _ in enumerate(counted(rows, 20_000, progress), 1):
            if row % 200 == 0:
                progress("embed", (row - 1) % 2_000 + 1, 2_000)
    lines = console.file.getvalue().splitlines()
    assert lines[:2] == ["embed: 200 of 2,000", "predict: 500 of 20,000"]
    assert len(lines) == 2 * -(-140 * 0.5 // 30)  # one each half minute of either task
    done = [int(line.split()[1].replace(",", "")) for line in lines if line.startswith("predict")]
    assert done == sorted(set(done))


@pytest.mark.parametrize("file", [(), ("new.csv", "--text", "body")])
def test_predictions_tell_how_many_of_all_have_passed(project, tmp_path, monkeypatch, file):
    monkeypatch.setattr("bemps.formats.entries.REPORTED", 10)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.csv").write_text("\n".join(["body", *(f"text {row}" for row in range(40))]))
    done = run("predict", project, *file, "--out", "p.csv")
    assert f"predict: 10 of {40 if file else 30}\n" in done.output


@pytest.mark.parametrize("command", ["export", "import", "predict"])
def test_help_has_examples(command):
    assert f"bemps {command} tickets.bemps" in run(command, "--help").output


def test_without_sqlalchemy_the_extra_is_named():
    code = "import sys; sys.modules['sqlalchemy'] = None; from bemps.cli import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", code, "export", "x.bemps", "--out", "y.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert pip_install("label") in done.stderr
    assert "Traceback" not in done.stderr


def test_exports_of_a_model_say_which_model_it_is_and_take_no_format(project, tmp_path):
    done = run("export", project, "--what", "arrays", "--out", tmp_path / "arrays")
    assert done.exit_code == 0, done.output
    assert "Model: TF-IDF" in done.output
    refused = run("export", project, "--what", "model", "--format", "csv", "--out", tmp_path / "a.csv")
    assert refused.exit_code == 2
    assert "none for model, which is a folder" in " ".join(refused.output.split())
    assert not (tmp_path / "a.csv").exists()


def test_the_example_of_an_exported_model_refuses_what_it_cannot_mean(project, tmp_path):
    assert run("export", project, "--what", "arrays", "--out", tmp_path / "arrays").exit_code == 0
    code = (
        "from predict import Model\n"
        "model = Model()\n"
        "print(model.predict([]).shape)\n"
        "try: model.predict('one text')\n"
        "except TypeError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "arrays", capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == "(0, 2)"
    assert "Put it into a list" in done.stdout
    usage = subprocess.run(
        [sys.executable, tmp_path / "arrays" / "predict.py"], capture_output=True, text=True, check=False
    )
    assert usage.stderr.startswith("usage: python predict.py")


@pytest.mark.parametrize(
    "arguments",
    [
        ("label", LONG + ".csv", "--text", "body", "--classes", "a,b"),
        ("label", "tickets.csv", "--text", "body", "--classes", "a,b", "--project", LONG + ".bemps"),
        ("export", LONG + ".bemps", "--out", "labels.csv"),
        ("predict", LONG + ".bemps", "--out", "predictions.csv"),
    ],
)
def test_a_path_that_the_system_refuses_is_said_without_a_traceback(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.csv").write_text("body\nIt crashes\nPlease add it\n")
    run = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "1000"})
    assert run.exit_code == 2, run.output
    assert "Choose a shorter name." in run.output


def test_ctrl_c_says_that_it_stopped_and_leaves_no_half_file(project, tmp_path, monkeypatch):
    predict, calls = Project._probs, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return predict(*arguments)

    monkeypatch.setattr(Project, "_probs", interrupted)
    monkeypatch.setattr("bemps.formats.entries.CHUNK", 10)
    stopped = run("predict", project, "--out", tmp_path / "own.csv")
    assert len(calls) == 2
    assert stopped.exit_code == 130
    assert "Stopped. No file is half written." in stopped.stderr
    assert not list(tmp_path.glob("own*"))
