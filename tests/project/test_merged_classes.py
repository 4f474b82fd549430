"""Everything that reads classes goes by the merged ones, in the order that people chose."""

import csv
import json

import numpy as np
import pytest

from bemps.data import table
from bemps.project import open_project
from bemps.project.history import History, Round
from bemps.project.project_models import project_model
from bemps.server.model.trainer import Trainer
from bemps.server.panels.class_view import ClassView, class_view
from bemps.server.panels.errors_panel import errors_of, items_in_cell, with_positions
from bemps.server.panels.map_panel import COLOURS, colours_of, present_points
from bemps.server.review.model_tasks import item_map
from bemps.store import Class

WORDS = {"bug": "crash broken error", "wish": "please add want", "question": "how where who"}


@pytest.fixture
def project(tmp_path):
    """Ninety texts of three classes, all labelled by ann, some by bob; then bug counts as wish, question first."""
    texts = [f"{words} number {row}" for row in range(30) for words in WORDS.values()]
    with open_project(tmp_path / "p.bemps", create=True) as made:
        made.store.set_all({"model": "tfidf", "audit_share": 0.4})
        made.add_classes(list(WORDS))
        made.add(table(texts))
        labels = {item.id: _truth(item.content) for item in made.items()}
        made.tell(labels, "ann")
        some = list(labels)[:9]
        made.tell({id: {"bug": "wish", "wish": "bug"}.get(labels[id], labels[id]) for id in some}, "bob")
        made.store.merge_class("bug", "wish", "lead")
        made.store.change_class("question", "lead", position=0)
        yield made


def _truth(text):
    return next(name for name, words in WORDS.items() if text.startswith(words))


def _merged(text):
    return "question" if _truth(text) == "question" else "wish"


def test_labels_classes_and_agreement(project):
    assert project.classes == ("question", "wish")
    assert set(project.labels().values()) == {"question", "wish"}
    assert project.agreement().alpha == 1.0  # bob took bugs for wishes, which are the same now
    assert project.store.disagreements() == []


@pytest.mark.parametrize("format", ["csv", "jsonl", "label-studio", "prodigy", "doccano", "argilla"])
def test_exports_have_the_merged_names_and_come_back(project, tmp_path, format):
    out = tmp_path / f"labels.{'csv' if format == 'csv' else 'json'}"
    project.export(out, "labels", format)
    text = out.read_text(encoding="utf-8")
    assert '"bug"' not in text
    assert ",bug," not in text
    assert project.import_labels(out, format).new == 0
    project.export(tmp_path / "log.csv", "events", "csv")
    assert ",bug," in (tmp_path / "log.csv").read_text(encoding="utf-8")  # the log keeps what was said


def test_imports_understand_the_name_of_a_merged_class(project, tmp_path):
    item = next(iter(project.items()))
    path = tmp_path / "more.csv"
    path.write_text(f"id,label,annotator\n{item.id},bug,cat\n", encoding="utf-8")
    done = project.import_labels(path)
    assert (done.new, done.classes) == (1, 0)
    assert project.labels("cat") == {item.id: "wish"}
    assert project.import_labels(path).new == 0  # the same file again changes nothing
    assert project.add(table(["another text"], labels=["bug"])) == 1
    assert project.classes == ("question", "wish")
    assert project.labels("source").popitem()[1] == "wish"


def test_predictions_audit_and_report(project, tmp_path):
    predictions = list(project.predictions())
    assert all(len(row.probs) == 2 for row in predictions)
    right = [row.best(project.classes)[0] == _merged(row.item.content) for row in predictions]
    assert np.mean(right) > 0.9
    assert project.audit_report().accuracy.value > 0.9
    project.export(tmp_path / "p.csv", "predictions")
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        assert {"p_question", "p_wish"} == {name for name in next(csv.reader(file)) if name.startswith("p_")}
    project.export(tmp_path / "model", "arrays")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["classes"] == ["question", "wish"]
    project.export(tmp_path / "report.html", "report")
    assert "bug" not in (tmp_path / "report.html").read_text(encoding="utf-8").replace("debug", "")


def test_the_history_of_the_model_goes_by_numbers_of_classes():
    history = History()
    history.name_items(["a", "b"])
    history.add(Round(10, None, None, (0, 1), "tfidf"))
    assert [share.value for _, share, _ in history.accuracies({"a": 1, "b": 1})] == [0.5]
    history.counted = {0: 1, 1: 1}
    assert [share.value for _, share, _ in history.accuracies({"a": 1, "b": 1})] == [1.0]


def test_the_model_of_the_page_follows_merges_order_and_splits(project):
    store = project.store
    trainer = Trainer(store, project_model(store.read_settings()))
    first = trainer.learn(5)
    assert first.ready
    assert trainer.learner.classes == ("question", "wish")
    guesses = first.audit["guesses"]
    assert {number for pair in guesses.values() for number in pair} == {1, 2}  # numbers, not positions
    assert set(item_map(trainer)["guesses"]) <= {1, 2}
    store.split_class("bug", "lead")
    second = trainer.learn(5)
    assert trainer.learner.classes == ("bug", "question", "wish")
    assert second.audit["right"] > 0.7 * second.audit["size"]
    store.change_class("wish", "lead", position=0)
    assert trainer.learn(5).audit["right"] == second.audit["right"]
    store.merge_class("bug", "wish", "lead")
    again = trainer.learn(5)
    assert again.audit["right"] >= second.audit["right"]
    # what the model said before the last merge is read with the classes of now
    last = with_positions({"audit": second.audit}, class_view(store).positions())
    table_now = errors_of(last, project.classes)
    assert table_now["classes"] == ["wish", "question"]
    assert sum(map(sum, table_now["table"])) == len(second.audit["guesses"])
    cell = items_in_cell(last, project.classes, "wish", "wish")
    assert {_merged(store.item(name).content) for name in cell} == {"wish"}


def test_the_map_shows_merged_guesses_and_chosen_colours():
    classes = (Class("wish", None, 0, colour="orange", id=1), Class("question", None, 1, id=2))
    view = ClassView(classes, (), (1, 1, 2, 3))
    assert view.positions() == {0: 0, 1: 0, 2: 1}
    picture = {"items": list("abcd"), "positions": [[0, 0]] * 4, "guesses": [0, 1, 2, 3]}
    points = present_points(picture, {}, view)
    assert [point.name for point in points] == ["wish", "wish", "question", None]
    assert [point.colour for point in points] == [1, 1, 0, COLOURS]
    many = [Class(f"class {row}", None, row, id=row) for row in range(10)]
    assert list(colours_of(many).values()) == [*range(COLOURS), COLOURS, COLOURS]
