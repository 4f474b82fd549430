"""A project from Python, beside the page."""

import csv
import json

import numpy as np
import pytest

import bemps
from bemps import ActiveLearner, InputError, data
from bemps.project import Project
from bemps.store import Item

WORDS = {"bug": "crash error broken fails", "wish": "please add support would like", "ask": "how can where what"}


def texts(n):
    rng = np.random.default_rng(0)
    for i in range(n):
        label = list(WORDS)[i % 3]
        yield f"t{i}", " ".join(rng.choice(WORDS[label].split(), 3)) + f" item {i}", label


@pytest.fixture
def project(tmp_path):
    with bemps.open_project(tmp_path / "tickets.bemps", create=True) as project:
        project.store.set("model", "tfidf")
        for name in WORDS:
            project.store.add_class(name, "lead")
        project.store.add_items(Item(id, text) for id, text, _ in texts(60))
        yield project


TRUTH = {id: label for id, _, label in texts(60)}


def told(project, ids, **options):
    return project.tell({id: TRUTH[id] for id in ids}, **options)


def test_a_notebook_and_another_work_on_one_project(project, tmp_path):
    assert told(project, ["t0", "t1"]) == 2
    assert told(project, ["t0", "t1", "t2"]) == 1
    with bemps.open_project(tmp_path / "tickets.bemps") as page:
        page.store.answer("ann", "t3", "label", "bug")
        page.store.answer("ann", "t4", "skip")
        assert page.labels() == project.labels() == {"t0": "bug", "t1": "wish", "t2": "ask", "t3": "bug"}
    assert project.labels("ann") == {"t3": "bug"}
    assert (len(project), project.classes, project.settings["model"]) == (60, ("bug", "wish", "ask"), "tfidf")
    assert next(project.items()).id == "t0"


def test_the_learner_has_items_labels_and_skips_but_no_audit_items(project):
    project.store.mark_audit(["t0", "t3"])
    told(project, ["t0", "t1", "t2", "t6"])
    project.store.answer("ann", "t7", "unsure")
    project.store.answer("ann", "t8", "note", note="later")
    learner = project.learner()
    assert learner.labels == {"t1": "wish", "t2": "ask", "t6": "bug"}
    asked = set(learner.ask(54).items)
    assert not asked & {"t0", "t3", "t7", "t1"}
    assert "t8" in asked
    assert "t0" in project.learner(audit=True).labels
    assert learner.strategy == "margin-km"


def test_predictions_are_of_every_item_and_follow_the_labels(project):
    told(project, [f"t{i}" for i in range(30)])
    found = list(project.predictions())
    assert [one.item.id for one in found] == list(TRUTH)
    assert all(abs(sum(one.probs) - 1) < 1e-9 for one in found)
    right = sum(one.best(project.classes)[0] == TRUTH[one.item.id] for one in found)
    assert right > 50
    before = found[0].probs
    told(project, [f"t{i}" for i in range(30, 60)])
    assert next(iter(project.predictions())).probs != before


def test_no_predictions_without_labels_of_two_classes(project):
    with pytest.raises(InputError, match="two classes"):
        list(project.predictions())


def test_the_audit_report_is_of_audit_items_alone(project):
    project.store.mark_audit([f"t{i}" for i in range(0, 60, 5)])
    with pytest.raises(InputError, match="none of 12"):
        project.audit_report()
    told(project, TRUTH)
    report = project.audit_report()
    assert (report.size, report.drawn) == (12, 12)
    assert report.accuracy.value > 0.7
    assert report.accuracy.low < report.accuracy.value


def test_agreement_of_pairs_and_of_all(project):
    told(project, ["t0", "t1", "t2", "t3"], annotator="ann")
    assert np.isnan(project.agreement().alpha)
    told(project, ["t0", "t1", "t2"], annotator="bob")
    project.tell({"t3": "wish", "t4": "ask"}, annotator="cem")
    project.store.adjudicate("t3", "bug", "lead")
    found = project.agreement()
    assert found.items == 4
    assert found.kappa["ann", "bob"] == (1.0, 3)
    assert found.kappa["ann", "cem"] == (0.0, 1)
    assert set(found.kappa) == {("ann", "bob"), ("ann", "cem")}
    assert 0 < found.alpha < 1


def test_exports_and_imports(project, tmp_path):
    told(project, [f"t{i}" for i in range(30)])
    for name, what in (("l.csv", "labels"), ("p.jsonl", "predictions"), ("e.parquet", "events"), ("m", "model")):
        project.export(tmp_path / name, what)
    with (tmp_path / "p.jsonl").open(encoding="utf-8") as file:
        assert sum(json.loads(line)["label"] in WORDS for line in file) == 60
    assert project.import_labels(tmp_path / "l.csv").same == 30
    with pytest.raises(InputError, match="what to export"):
        project.export(tmp_path / "x.csv", "everything")


def test_the_saved_model_predicts_the_same(project, tmp_path):
    told(project, [f"t{i}" for i in range(30)])
    project.export(tmp_path / "model", "model")
    learner = ActiveLearner.load(tmp_path / "model")
    probs = learner.predict([item.content for item in project.items()])
    assert np.array_equal(probs, [one.probs for one in project.predictions()])


def test_adding_a_table_of_texts_with_labels(project, tmp_path):
    with (tmp_path / "more.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["body", "topic"], ["new one", "bug"], ["another", "praise"], ["third", ""]])
    table = data.read(tmp_path / "more.csv", text="body", label="topic")
    assert project.add(table) == 3
    assert project.add(table) == 0
    assert project.classes[-1] == "praise"
    assert sorted(project.labels().values()) == ["bug", "praise"]
    with pytest.raises(InputError, match="texts or image files"):
        project.add(data.table(np.eye(3)))


def test_adding_images_keeps_paths_below_one_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for shade, name in ((90, "a/one.png"), (180, "b/two.png")):
        (tmp_path / "images" / name).parent.mkdir(parents=True)
        image.fromarray(np.full((40, 40, 3), shade, dtype=np.uint8)).save(tmp_path / "images" / name)
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        project.add(data.read(tmp_path / "images", label="folder"))
        assert [item.content for item in project.items()] == ["a/one.png", "b/two.png"]
        assert project.settings["folder"] == str(tmp_path / "images")
        project.store.set("model", "pixels")
        assert len(list(project.predictions())) == 2
        image.fromarray(np.zeros((40, 40, 3), dtype=np.uint8)).save(tmp_path / "outside.png")
        with pytest.raises(InputError, match="below"):
            project.add(data.table(data.ImageFiles((str(tmp_path / "outside.png"),)), ids=["x"]))


def test_an_empty_project_has_nothing_to_learn_from(tmp_path):
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        assert isinstance(project, Project)
        with pytest.raises(InputError, match="items to learn from"):
            project.learner()


def test_the_learner_does_not_ask_for_what_others_have_in_hand(project):
    project.tell({"t1": "wish", "t6": "bug"})
    before = project.learner().ask(5)
    held = project.store.lease("ann", before.items[:3], 3, 600)
    assert held
    learner = project.learner()
    after = learner.ask(5)
    assert not set(after.items) & set(held)
    contents = [item.content for item in project.items()]
    assert np.array_equal(learner.predict(contents), project.learner().predict(contents))
    project.store.release("ann")
    assert project.learner().ask(5) == before
