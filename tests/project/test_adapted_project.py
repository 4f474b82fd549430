"""A project whose text encoder learns: what is kept on disk, and what predicts in the end."""

import numpy as np
import pytest
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert
from typer.testing import CliRunner

from bemps import ActiveLearner, InputError
from bemps.cli import app, terminal_progress
from bemps.data import table
from bemps.models.content_models import ContentLaplace, encode_once
from bemps.models.encoders.feature_cache import keys_of
from bemps.models.pool_weights import Evidence, PoolWeights
from bemps.models.text.adapted_text import AdaptedText
from bemps.models.text.text_classifier import TextClassifier
from bemps.project import open_project, project_models
from bemps.project.adapted_model import Adaptation, AdaptedEncoder, adaptation_file, load_adaptation
from bemps.project.array_predictor import Model

MANY = [f"{text} {number}" for number in range(3) for text in TEXTS]
EVIDENCE = Evidence(np.array([0, 1]), np.array([[0.7, 0.3], [0.6, 0.4]]), np.array([[0.9, 0.1], [0.2, 0.8]]))


def adaptation(**changes):
    values = {
        "model": "bge-words",
        "labels": 60,
        "weights": PoolWeights(0.5, 1.0, 1.0),
        "evidence": EVIDENCE,
        "keys": tuple(keys_of(TEXTS[:4])),
        "vectors": np.arange(8, dtype=np.float32).reshape(4, 2),
    }
    return Adaptation(**values | changes)


def test_texts_that_are_not_kept_are_compared_without_the_fine_tuned_part():
    class Lengths:
        progress = None

        def __call__(self, contents):
            return np.array([[float(len(text))] for text in contents])

    encoder = AdaptedEncoder(Lengths(), adaptation())
    assert np.array_equal(encoder([TEXTS[1]]), [[len(TEXTS[1]), 2.0, 3.0]])
    assert np.array_equal(encode_once(encoder, [TEXTS[1], "new"]), [[len(TEXTS[1]), 0.0, 0.0], [3.0, 0.0, 0.0]])


def test_what_was_learnt_comes_back(tmp_path):
    path = adaptation_file(tmp_path / "vectors", "abc")
    assert load_adaptation(path, "bge-words") is None
    adaptation().save(path)
    saved = load_adaptation(path, "bge-words")
    assert (saved.labels, saved.weights, saved.keys) == (60, PoolWeights(0.5, 1.0, 1.0), tuple(keys_of(TEXTS[:4])))
    assert np.array_equal(saved.vectors, adaptation().vectors)
    assert load_adaptation(path, "minilm-words") is None  # weighed against another model


@pytest.mark.parametrize("cut", [0, 10, 200, -5])
def test_a_damaged_file_is_as_none(tmp_path, cut):
    path = adaptation_file(tmp_path, "abc")
    adaptation().save(path)
    path.write_bytes(path.read_bytes()[:cut])
    assert load_adaptation(path, "bge-words") is None


def test_the_accuracy_is_judged_by_labels_that_were_held_out():
    confidence, right = adaptation().held_out()
    assert np.allclose(confidence, [0.8, 0.6])
    assert right.tolist() == [True, True]


def test_texts_that_were_not_read_have_zeros():
    def frozen(texts):
        return np.ones((len(texts), 3))

    frozen.progress = None
    rows = AdaptedEncoder(frozen, adaptation())([TEXTS[1], "new", TEXTS[3]])
    assert rows.tolist() == [[1, 1, 1, 2, 3], [1, 1, 1, 0, 0], [1, 1, 1, 6, 7]]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of 72 texts whose encoder is tiny."""
    monkeypatch.setattr(
        project_models,
        "_tuned_and_reason",
        lambda row, adapt: (None if adapt == "off" else str(tiny_bert(128)), ""),
    )
    monkeypatch.setattr("bemps.models.text.adapted_text.pool_weights", lambda evidence: PoolWeights(0.5))
    with open_project(tmp_path / "texts.bemps", create=True) as project:
        project.add(table(MANY))
        project.store.set("model", "tfidf")
        for name in CLASSES:
            project.store.add_class(name, "ann")
        yield project


def labelled(project, count):
    audit, truth = project.store.audit(), dict(zip(MANY, np.tile(LABELS, 3), strict=True))
    items = [item for item in project.items() if item.id not in audit][:count]
    project.tell({item.id: CLASSES[truth[item.content]] for item in items})


def test_with_enough_labels_the_fine_tuned_model_predicts_and_is_exported(project, tmp_path):
    labelled(project, 49)
    assert isinstance(project.learner(final=True).model, ContentLaplace)
    assert not project.is_fine_tuned()
    labelled(project, 55)
    assert project.is_fine_tuned()
    assert isinstance(project.learner().model, ContentLaplace)  # asking stays quick
    told = []
    project.progress = lambda *what: told.append(what)
    probs = project._probs([item.content for item in project.items()], False)
    assert isinstance(project.current_learner().model, AdaptedText)
    assert "fine-tune" in {task for task, _, _ in told}
    project.export(tmp_path / "texts.learner", "model")
    project.export(tmp_path / "arrays", "arrays")
    arrays = Model(tmp_path / "arrays")
    assert (
        np.abs(arrays.predict([*MANY, "new", ""]) - project.current_learner().predict([*MANY, "new", ""])).max() < 1e-4
    )
    assert np.abs(arrays.predict(MANY) - project.learner().predict(MANY)).max() > 0.01  # which the encoder has changed
    assert "onnxruntime" in (tmp_path / "arrays" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="two encoders"):
        arrays.predict_vectors(arrays.vectors(MANY))
    project.export(tmp_path / "arrays", "arrays", force=True)  # all of the folder is known as ours
    told.clear()
    again = ActiveLearner.load(tmp_path / "texts.learner", progress=lambda *what: told.append(what))
    assert isinstance(again.model, AdaptedText)
    assert np.allclose(again.predict([item.content for item in project.items()]), probs, atol=1e-5)
    assert "fine-tune" in {task for task, _, _ in told}
    project.store.set("adapt", "off")
    assert isinstance(project.learner(final=True).model, ContentLaplace)


def test_predict_by_a_saved_model_says_that_it_learns_and_how_far_it_is(project, tmp_path, monkeypatch):
    monkeypatch.setattr(terminal_progress, "BETWEEN_LINES", 0)
    labelled(project, 55)
    project.export(tmp_path / "texts.learner", "model")
    (tmp_path / "new.csv").write_text("body\nalpha beta\ngamma delta\n")
    files = [str(tmp_path / name) for name in ("texts.learner", "new.csv")]
    result = CliRunner().invoke(app, ["predict", *files, "--text", "body", "--out", str(tmp_path / "out.csv")])
    assert result.exit_code == 0, result.output
    assert "The model learns from 55 labels, which it holds without weights" in result.output
    first, *steps = result.output.partition("Its encoder learns from them first, which takes some minutes")[2].split(
        "\n"
    )
    assert first == ", at each run of this command"
    shown = [line for line in steps if line.startswith("fine-tune: ")]
    done, total = shown[-1].removeprefix("fine-tune: ").split(" of ")
    assert done == total
    assert len(shown) > 5


def test_a_project_has_the_other_posteriors_by_name(project):
    learner = project.learner(model="finetuned-dropout")
    assert isinstance(learner.model, TextClassifier)
    assert (learner.model.posterior, learner.model.validation) == ("dropout", "none")
    other = project.learner(model="finetuned-ensemble").model
    assert (other.posterior, other.validation) == ("ensemble", "dynamic")
    with pytest.raises(InputError, match="finetuned-laplace"):
        project.learner(model="finetuned-laplas")


def test_adapt_has_two_values(project):
    with pytest.raises(InputError, match="auto or off"):
        project.store.set("adapt", "yes")
