"""One table of models: adding one is a module and a row."""

import inspect
import re

import numpy as np
import pytest

from bemps import ActiveLearner
from bemps.acquisition.strategy_registry import STRATEGIES
from bemps.cli.label import label
from bemps.cli.run import run as run_command
from bemps.data import read
from bemps.errors import InputError
from bemps.experiments import config_of
from bemps.experiments import run as run_grid
from bemps.models.encoders.encoder_registry import ENCODERS, grid_default, grid_encoders
from bemps.models.encoders.text_views import side_by_side, views_of
from bemps.models.model_registry import (
    MODELS,
    Head,
    ModelRow,
    automatic_model,
    default_grid_model,
    grid_model,
    grid_models,
    project_kinds,
    project_models,
)
from bemps.project import open_project
from bemps.project.project_models import project_model
from bemps.store.project_settings import ProjectSettings

GRID = {"dataset": "digits", "strategies": ["random"], "seeds": 1, "budget": 10, "full": False}


class Frequencies:
    """A toy: every item has the classes of the labels."""

    def __init__(self, encode=None):
        self.encode, self.items = encode, None

    def see_pool(self, items):
        self.items = items

    def fit(self, items, labels, classes, rng):
        counts = np.bincount(labels, minlength=len(classes)) + 1.0
        self.shares = counts / counts.sum()
        return self

    def predict(self, items):
        ramp = np.arange(1.0, len(self.shares) + 1)
        return np.stack([np.tile(row, (len(items), 1)) for row in (self.shares, ramp / ramp.sum())])

    def embeddings(self, items):
        return np.asarray([[len(str(item)), 1.0] for item in items])


def frequencies(pool, cache, *, extra=0):
    return Frequencies()


def test_a_grid_has_a_model_by_one_module_and_one_row(monkeypatch, tmp_path):
    monkeypatch.setitem(MODELS, "toy", ModelRow("plain", "frequencies", frequencies, features=False))
    outcome = run_grid(config_of({**GRID, "model": "toy"}), tmp_path / "run", jobs=1)
    assert outcome.failures == ()
    assert grid_model("toy").options == {"extra": 0}
    with pytest.raises(InputError, match="a model with features, which badge needs"):
        run_grid(config_of({**GRID, "model": "toy", "strategies": ["badge"]}), tmp_path / "other", jobs=1)


def test_a_project_has_a_model_by_one_module_and_one_row(monkeypatch, tmp_path):
    row = ModelRow("text", encoder="tfidf", head=Head("frequencies", Frequencies), strategy="margin")
    monkeypatch.setitem(MODELS, "toy", row)
    lines = [f"text number {i},{'ab'[i % 2]}" for i in range(8)]
    (tmp_path / "toy.csv").write_text("\n".join(["body,topic", *lines]))
    with open_project(tmp_path / "toy.bemps", create=True) as project:
        project.add(read(tmp_path / "toy.csv", text="body", label="topic"))
        project.store.set("model", "toy")
        learner = project.learner()
        assert isinstance(learner.model, Frequencies)
    found = project_model(ProjectSettings(model="toy"))
    assert found.words == "TF-IDF vectors and frequencies, as asked"
    assert found.strategy(3) == "margin"
    with pytest.raises(InputError, match="toy"):
        project_model(ProjectSettings(kind="image", model="toy"))


def test_every_model_of_a_registry_is_in_the_help_of_its_command():
    told = {
        command: inspect.signature(command).parameters["model"].annotation.__metadata__[0].help
        for command in (label, run_command)
    }
    for command, names in (
        (run_command, list(grid_models())),
        (label, [name for kind in project_kinds() for name in project_models(kind)]),
    ):
        for name in names:
            assert re.search(rf"(?<![\w-]){name}(?![\w-])", told[command]), name
    assert {*grid_models(), *project_models("text"), *project_models("image")} == set(MODELS)


def test_rows_name_encoders_and_strategies_that_exist():
    for name, row in MODELS.items():
        assert row.description, name
        assert row.strategy in STRATEGIES
        assert row.strategy_few_classes in (None, *STRATEGIES)
        assert (row.grid is None) == (row.head is not None) == (row.encoder is not None), name
        if row.encoder is not None:
            assert row.vectors.reads == row.reads
    assert all(row.holds in (None, *ENCODERS) for row in ENCODERS.values())


def test_defaults_are_those_of_published_numbers():
    assert default_grid_model() == "logistic"
    assert [grid_default(kind) for kind in ("text", "image", "array")] == ["minilm", "efficientnet", None]
    assert (
        automatic_model("text", "first") == "bge-words"
    )  # more F1 with as many labels (docs/appendices/quality.md), no torch
    assert automatic_model("text", "second") == "tfidf"
    assert (automatic_model("image", "first"), automatic_model("image", "second")) == ("efficientnet", "pixels")
    assert set(grid_encoders("text")) == {
        *("bge", "minilm", "gte-small", "mpnet", "multilingual", "tfidf"),
        *("bge-words", "minilm-words", "gte-small-words", "mpnet-words", "multilingual-words"),
    }
    assert grid_encoders("image") == ["efficientnet"]


def test_two_views_are_weighed_by_heads_that_can():
    texts = ["a short text", "another one", "a third"] * 5
    model = project_model(ProjectSettings(model="tfidf")).on_contents()
    assert model.first_view is None
    learner = ActiveLearner(model, texts, classes=["a", "b"])
    assert len(learner.ask(2)) == 2
    assert MODELS["bge-words"].on_contents(None).first_view == 384
    assert MODELS["bge"].on_contents(None).first_view is None


def test_views_have_the_width_of_their_encoder():
    widths = {"bge-words": 384, "minilm-words": 384, "gte-small-words": 384, "mpnet-words": 768}
    for name, width in (widths | {"multilingual-words": 512}).items():
        assert ENCODERS[name].first_view == width
        assert MODELS[name].on_contents(None).first_view == width
    layers, words = np.arange(12.0).reshape(2, 6), np.ones((2, 2))
    assert [view.shape for view in views_of(layers, words, 3)] == [(2, 3), (2, 3), (2, 2)]
    assert side_by_side(layers, words, [1.0, 2.0, 1.0], 3)[1].tolist() == [6, 7, 8, 4.5, 5, 5.5, 1, 1]
