"""What a project brings: the report, the model as plain arrays, predictions of every row."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from encoder_weights import needs_weights

from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.models import SpectralLaplace
from bemps.project import Project, project_models
from bemps.project.array_predictor import Model
from bemps.project.confusion import class_qualities, confusion_counts
from bemps.project.model_arrays import write_arrays
from bemps.project.report.project_report import interval, percent
from bemps.project.report.report_content import report_content
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Item, NewAnswer, open_store

CLASSES = ("sea <b>", "hill")
NEW = ["a boat on the water", "Snow above the valley?", "", "nothing that anybody has seen before", "BOAT boat boat!"]


def texts(count):
    rng = np.random.default_rng(0)
    words = (("boat", "wave", "sail", "water", "fish"), ("peak", "snow", "valley", "rock", "goat"))
    return [
        (" ".join([*rng.choice(words[row % 2], 4), *rng.choice(words[1 - row % 2], 1), str(row)]), CLASSES[row % 2])
        for row in range(count)
    ]


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as opened:
        for name in CLASSES:
            opened.add_class(name, "test")
        rows = texts(120)
        opened.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(rows))
        opened.set_all({"kind": "text", "model": "tfidf", "title": "Sea & hills"})
        opened.mark_audit([f"i{row}" for row in range(30)])
        for row in range(100):
            opened.answer("ann" if row % 3 else "ben", f"i{row}", "label", rows[row][1])
        for row in range(10):
            opened.answer("cem", f"i{row}", "label", CLASSES[row % 3 == 0])
        opened.answer("ann", "i118", "skip")
        opened.answer("ann", "i119", "unsure")
        yield opened


def in_model(store, name):
    store.set("model", name)
    return Project(store)


@pytest.mark.parametrize("name", ["tfidf", "bge-words", "bge", "minilm-words", "minilm"])
def test_arrays_predict_as_the_learner_does(store, tmp_path, name):
    encoders = {"bge": "bge-small", "minilm": "minilm"}
    needs_weights(*(encoders[part] for part in name.split("-") if part in encoders))
    store.set("adapt", "off")  # `test_adapted_project` has the fine-tuned part
    project = in_model(store, name)
    project.export(tmp_path / "arrays", "arrays")
    expected = project.learner().predict(NEW)
    predicted = Model(tmp_path / "arrays").predict(NEW)
    assert np.abs(predicted - expected).max() < 2e-4
    assert Model(tmp_path / "arrays").classes == list(CLASSES)


def test_arrays_need_only_numpy_and_no_pickle(store, tmp_path):
    Project(store).export(tmp_path / "arrays", "arrays")
    names = "import sys; sys.path.insert(0, sys.argv[1]); from predict import Model; Model().predict(['boat']); "
    names += "print([m for m in ('bemps', 'sklearn', 'scipy', 'torch', 'pickle') if m in sys.modules])"
    command = [sys.executable, "-I", "-c", names, str(tmp_path / "arrays")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(json.loads(run.stdout.replace("'", '"'))) <= {"pickle"}  # NumPy imports it, and is told not to use it
    script = [sys.executable, str(tmp_path / "arrays" / "predict.py"), "a boat"]
    run = subprocess.run(script, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["label"] == CLASSES[0]
    assert {path.suffix for path in (tmp_path / "arrays").iterdir()} == {".json", ".npz", ".py", ".md", ""}


def test_the_audit_items_are_learnt_from_where_asked(store, tmp_path):
    project = Project(store)
    project.export(tmp_path / "with", "arrays", audit=True)
    project.export(tmp_path / "without", "arrays")
    assert not np.allclose(Model(tmp_path / "with").predict(NEW), Model(tmp_path / "without").predict(NEW))
    project.export(tmp_path / "learner", "model", audit=True)
    assert len(ActiveLearner.load(tmp_path / "learner").labels) == 100


def test_a_model_without_a_linear_head_is_refused_and_nothing_is_left(store, tmp_path):
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"linear head.*what='model'"):
        in_model(store, "tfidf-ensemble").export(tmp_path / "arrays", "arrays")
    assert set(tmp_path.iterdir()) == before


def test_a_model_of_vectors_says_that_it_takes_vectors(tmp_path):
    from bemps.models.content_models import ContentLaplace

    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal(-1, 1, (20, 4)), rng.normal(1, 1, (20, 4))])
    learner = ActiveLearner(ContentLaplace(), vectors, classes=["a", "b"])
    learner.tell({name: "ab"[row // 20] for row, name in enumerate(learner.pool.ids)})
    write_arrays(learner, tmp_path / "arrays")
    model = Model(tmp_path / "arrays")
    assert np.allclose(model.predict_vectors(vectors), learner.predict(vectors))
    with pytest.raises(ValueError, match="predict_vectors"):
        model.predict(["a text"])
    with pytest.raises(TypeError, match=r"predict\(\[item\]\)"):
        model.predict("a text")
    assert model.predict([]).shape == (0, 2)
    assert "model.predict_vectors(vectors)" in (tmp_path / "arrays" / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def turned_pictures(tmp_path, monkeypatch):
    """Pictures of any size, kind and orientation, some small and some large."""
    pillow, rng = pytest.importorskip("PIL.Image"), np.random.default_rng(0)
    (tmp_path / "im").mkdir()
    for number in range(10):
        pixels = rng.integers(0, 256, (20 + 31 * number, 300 - 29 * number, 3), np.uint8)
        pixels[..., number % 2] //= 4
        picture = pillow.fromarray(pixels).convert(["RGB", "RGBA", "L", "P"][number % 4 if number > 4 else 0])
        orientation = pillow.Exif()
        orientation[274] = 6
        picture.save(tmp_path / "im" / f"{number}.png", exif=orientation)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "im"


@pytest.mark.parametrize("name", ["pixels", "efficientnet"])
def test_arrays_read_images_as_the_learner_does(turned_pictures, name):
    if name == "efficientnet":
        needs_weights("efficientnet-lite0")
    wishes = Wishes(classes=["warm", "cold"], model=name, audit=0.0)
    with prepared("im.bemps", Source(turned_pictures), wishes)[0] as store:
        store.record([NewAnswer("ann", f"{i}.png", "label", "warm" if i % 2 else "cold") for i in range(8)])
        project = Project(store)
        project.export("arrays", "arrays")
        expected = project.learner().predict([f"{i}.png" for i in range(10)])
    paths = [f"im/{i}.png" for i in range(10)]
    assert np.abs(Model("arrays").predict(paths) - expected).max() < 1e-4
    script = [sys.executable, "-I", "arrays/predict.py", paths[0]]
    line = json.loads(subprocess.run(script, capture_output=True, text=True, check=True).stdout)
    assert line["image"] == paths[0]
    (turned_pictures / "cut.png").write_bytes((turned_pictures / "1.png").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"^im/cut\.png: expected an image that Pillow can read; got "):
        Model("arrays").predict([paths[0], "im/cut.png"])
    run = subprocess.run([*script, "im/cut.png", "im/none.png", paths[1]], capture_output=True, text=True, check=False)
    assert [json.loads(line)["image"] for line in run.stdout.splitlines()] == paths[:2]
    assert run.returncode == 1
    assert [line.split(":")[0] for line in run.stderr.splitlines()] == ["Not predicted", "im/cut.png", "im/none.png"]
    readme = (turned_pictures.parent / "arrays" / "README.md").read_text(encoding="utf-8")
    assert 'model.predict(["new/cat.jpg"])' in readme
    assert "pillow" in readme


def test_members_fold_to_what_they_predict():
    rng = np.random.default_rng(1)
    vectors, codes = rng.normal(size=(30, 5)), np.arange(30) % 3
    model = SpectralLaplace(vectors, members=4).fit(vectors, codes, ["a", "b", "c"], rng)
    weights, offsets = model.folded_members()
    logits = np.einsum("nd,dek->enk", vectors, weights) + offsets[:, None]
    odds = np.exp(logits)
    assert np.allclose(odds / odds.sum(2, keepdims=True), model.predict(vectors))


class Parts(HTMLParser):
    """The text and the addresses of a page."""

    def __init__(self, page):
        super().__init__()
        self.words, self.addresses, self.tags = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_the_report_is_one_file_that_says_it_all(store, tmp_path):
    history = {"items": [f"i{row}" for row in range(30)]}
    rounds = [
        {"labels": n, "changed": None, "forecast": None, "codes": [row % 2 for row in range(30)]} for n in (20, 40)
    ]
    store.set("history", history | {"rounds": rounds})
    Project(store).export(tmp_path / "report.html", "report")
    page = Parts((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.addresses == []
    assert "script" not in page.tags
    assert "b" in page.tags
    assert "Sea & hills" in page.text
    assert "sea <b>" in page.text
    assert "100 of 120" in page.text
    assert "measured on 30 items" in page.text
    assert "Krippendorff’s alpha is" in page.text
    assert "ann, cem" in page.text
    assert "1 was skipped" in page.text
    assert "Share right, by labels" in page.text
    assert "tfidf" in page.text


def report_of(store, path):
    Project(store).export(path, "report", force=True)
    return Parts(path.read_text(encoding="utf-8")).text


def test_the_report_tells_its_two_figures_of_the_accuracy_apart(store, tmp_path):
    page = report_of(store, tmp_path / "report.html")
    right = round(Project(store).audit_report().accuracy.value * 30)
    assert f"it gets {right} of them right ({percent(right / 30)})." in page
    assert "The first figure also weighs what the model gets wrong among the other labels." in page


def test_the_report_names_no_folder_of_this_machine(store, tmp_path, monkeypatch):
    monkeypatch.setattr(project_models, "find_spec", lambda package: None)
    monkeypatch.setattr(project_models, "pip_install", lambda extra: f"pip install '/home/ann b/bemps[{extra}]'")
    store.set("model", "auto")
    page = report_of(store, tmp_path / "report.html")
    assert "/home/ann" not in page
    assert "pip install 'bemps[" in page


def test_the_report_says_how_often_the_model_is_right_where_it_suggests(store, tmp_path):
    assert "How good were the suggestions?" not in report_of(store, tmp_path / "report.html")
    store.set("suggest", "model")
    accuracy = Project(store).audit_report().accuracy
    words = f"On 30 of them the model is right on {round(30 * accuracy.value)}: {interval(accuracy)}."
    assert words in report_of(store, tmp_path / "report.html")
    store.set("suggest", "column:guess")
    page = report_of(store, tmp_path / "report.html")
    assert "how often column guess is right takes 20 such items. It has no suggestion for 30 more." in page


def test_a_decision_is_no_label_of_who_decided(store, tmp_path):
    for row in (1, 2):
        store.adjudicate(f"i{row}", CLASSES[row % 2], "cem")
    page = report_of(store, tmp_path / "report.html")
    assert "ann 66 ben 34 cem 10" in page
    assert "Disagreements decided: 2 by cem." in page


def test_labels_given_at_once_do_not_narrow_the_accuracy_of_a_report(store, tmp_path):
    """As on the page: items of a list are alike."""
    for first in (30, 31):
        store.label_list(
            "ann", [f"i{row}" for row in range(first, 100, 2)], CLASSES[1 - first % 2], request=f"list-{first}"
        )
    quality = report_content(Project(store)).quality
    assert quality.accuracy == quality.audit.accuracy
    assert "The first figure also weighs" not in report_of(store, tmp_path / "report.html")


def test_a_report_without_enough_audit_items_says_so(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as store:
        store.add_class("a", "test")
        store.add_items([Item("i0", "a text")])
        Project(store).export(tmp_path / "report.html", "report")
    page = Parts((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "needs 20 labelled items" in page
    assert "No item has labels of two people" in page
    assert "Nobody yet" in page


def test_a_report_counts_the_copies_of_what_has_a_label(tmp_path):
    (tmp_path / "t.csv").write_text("body\nx one\nx one\ny two\ny two\ny two\nz three\n")
    wishes = Wishes(classes=["a", "b"], model="none", audit=0.0)
    with prepared(str(tmp_path / "t.bemps"), Source(tmp_path / "t.csv", {"text": "body"}), wishes)[0] as store:
        assert report_content(Project(store)).copies == 0
        asked = next(item.id for item in store.items() if item.content == "x one")
        store.record([NewAnswer("ann", asked, "label", "a")])
        assert report_content(Project(store)).copies == 1


def test_a_report_has_no_other_format(store, tmp_path):
    with pytest.raises(InputError, match="one HTML file"):
        Project(store).export(tmp_path / "report.csv", "report", "csv")


def test_recall_and_precision_of_a_class():
    truth, guess = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 0])
    counts = confusion_counts(truth, guess, 4)
    assert counts.tolist() == [[2, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    first, _, third, last = class_qualities(counts, "abcd")
    assert (first.recall.value, first.precision.value) == (2 / 3, 1 / 2)
    assert first.recall.low < 2 / 3 < first.recall.high
    assert (third.recall.value, third.precision) == (0.0, None)
    assert (last.recall, last.precision) == (None, None)


def test_progress_is_told_while_predicting(store, tmp_path, monkeypatch):
    monkeypatch.setattr("bemps.formats.entries.REPORTED", 50)
    told = []
    Project(store, progress=lambda *step: told.append(step)).export(tmp_path / "all.csv", "predictions")
    assert told == [("predict", 50, 120), ("predict", 100, 120)]


def test_other_tools_can_tell_predictions_of_different_times_apart(store, tmp_path):
    project = in_model(store, "tfidf")
    versions = []
    for more, audit in ((0, False), (0, True), (3, False)):
        for row in range(100, 100 + more):
            store.answer("ann", f"i{row}", "label", CLASSES[0])
        project.export(tmp_path / "tasks.json", "predictions", "label-studio", audit=audit, force=True)
        (suggestion,) = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))[0]["predictions"]
        versions.append(suggestion["model_version"])
        assert int(versions[-1].split()[-2]) == len(project.current_learner(audit).labels)
    assert len(set(versions)) == 3
    assert versions[1] == "bemps tfidf, 100 labels"
