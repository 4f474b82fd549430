"""One name of a class, however Unicode writes it: composed as most keyboards do, or decomposed as macOS does."""

import csv

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from bemps import InputError
from bemps.cli import app
from bemps.data import read
from bemps.learner import ActiveLearner
from bemps.project import open_project
from bemps.server.project_start import Source, Wishes, checked_classes, prepared
from bemps.store import Item, open_store

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def tickets(tmp_path):
    return write(tmp_path / "nfd.csv", [["body", "topic"], ["one text", DECOMPOSED], ["two texts", "bar"]])


@pytest.mark.parametrize("given", [COMPOSED, DECOMPOSED])
def test_labels_of_a_file_and_classes_of_the_command_are_one(tickets, tmp_path, given):
    source = Source(tickets, {"text": "body", "label": "topic"})
    store, _ = prepared(str(tmp_path / "p.bemps"), source, Wishes(classes=list(checked_classes([given, "bar"]))))
    with store:
        assert [known.name for known in store.classes()] == [COMPOSED, "bar"]
    assert read(tickets, text="body", label="topic", classes=[given, "bar"]).classes == (COMPOSED, "bar")


def test_names_that_read_alike_clash(tmp_path):
    with pytest.raises(InputError, match="different names"):
        checked_classes([COMPOSED, DECOMPOSED])
    with pytest.raises(InputError, match="different names"):
        checked_classes([COMPOSED, DECOMPOSED.upper()])
    with open_store(tmp_path / "p.bemps", create=True) as store:
        assert store.add_class(DECOMPOSED, "ann").name == COMPOSED
        for name in (COMPOSED, DECOMPOSED, DECOMPOSED.upper()):
            with pytest.raises(InputError, match="no other class has"):
                store.add_class(name, "ann")
        store.add_class("bar", "ann")
        assert store.rename_class("bar", "the\u0301", "ann").name == "th\u00e9"
        store.add_items([Item("i1", "one")])
        store.answer("ann", "i1", "label", DECOMPOSED)
        assert store.current()["i1"].label == COMPOSED


@pytest.fixture
def earlier_project(tmp_path, monkeypatch):
    """Makes a project with names as an earlier release kept them: as they came."""

    def make(*names):
        with monkeypatch.context() as earlier, open_store(tmp_path / "old.bemps", create=True) as store:
            earlier.setattr("bemps.store.class_log.class_edits.class_name", str)
            earlier.setattr("bemps.store.class_log.class_edits.clash_key", str)
            for name in names:
                store.add_class(name, "ann")
            store.add_items(Item(f"i{number}", f"text {number}") for number in range(4))
            store.set_all({"model": "tfidf"})
        return tmp_path / "old.bemps"

    return make


def test_a_project_that_has_a_decomposed_name_goes_on(earlier_project, tmp_path):
    path = earlier_project(DECOMPOSED, "bar")
    labels = write(tmp_path / "labels.csv", [["id", "label"], ["i2", COMPOSED], ["i3", "bar"]])
    with open_project(path) as project:
        assert project.classes == (DECOMPOSED, "bar")
        project.tell({"i0": COMPOSED, "i1": DECOMPOSED})
        assert project.import_labels(labels).new == 2
        assert project.import_labels(labels).same == 2
        assert project.labels() == dict.fromkeys(("i0", "i1", "i2"), DECOMPOSED) | {"i3": "bar"}
        assert project.learner().predict(["text 0"]).shape == (1, 2)
        assert project.store.rename_class(COMPOSED, COMPOSED, "ann").name == COMPOSED  # and so it gets the one form
        assert project.labels()["i0"] == COMPOSED


def test_a_project_that_has_both_goes_on(earlier_project):
    with open_project(earlier_project(DECOMPOSED, COMPOSED)) as project:
        project.tell({"i0": COMPOSED, "i1": DECOMPOSED})
        assert project.labels() == {"i0": COMPOSED, "i1": DECOMPOSED}
        assert project.learner().predict(["text 0"]).shape == (1, 2)


def test_an_import_with_both_forms_adds_one_class(earlier_project, tmp_path):
    labels = write(tmp_path / "labels.csv", [["id", "label"], ["i2", COMPOSED], ["i3", DECOMPOSED]])
    path = earlier_project("bar")
    done = CliRunner().invoke(app, ["import", str(path), str(labels), "--add-classes"])
    assert done.exit_code == 0, done.output
    with open_project(path) as project:
        assert project.classes == ("bar", COMPOSED)


def test_a_learner_knows_both_forms():
    items = np.random.default_rng(0).normal(size=(20, 2))
    learner = ActiveLearner(LogisticRegression(), items, classes=[DECOMPOSED, "bar"])
    learner.tell({"0": COMPOSED, "1": DECOMPOSED, "2": "bar"})
    assert learner.classes == (COMPOSED, "bar")
    assert learner.labels == {"0": COMPOSED, "1": COMPOSED, "2": "bar"}


def test_a_text_of_signs_that_are_not_seen_is_empty(tmp_path):
    table = read(
        write(tmp_path / "ws.csv", [["body"], ["one"], ["\u200b"], [" \ufeff\u00ad\t"], ["a\u200bb"]]), text="body"
    )
    assert table.items == ["one", "a\u200bb"]
    assert table.findings.empty == 2
