"""Which model a project uses, and that it says so."""

import re

import numpy as np
import pytest
from encoder_weights import needs_weights

from bemps import ActiveLearner, InputError, MissingExtra
from bemps.cli.label import _better_model
from bemps.errors import pip_install
from bemps.models.content_models import MiniLMAndWords, MiniLMVectors, TfidfVectors
from bemps.models.encoders import find_weights
from bemps.models.encoders.encoder_registry import ENCODERS
from bemps.models.image_contents import EfficientNetVectors, images_in
from bemps.models.model_registry import project_kinds
from bemps.models.model_registry import project_models as rows_of
from bemps.project import project_models
from bemps.project.project_models import better_model, cache_folder, project_model
from bemps.store import open_store
from bemps.store.project_settings import ProjectSettings

BY_KIND = {kind: tuple(rows_of(kind)) for kind in project_kinds()}

TEXTS = [f"{'crash error' if i % 2 else 'please add'} number {i}" for i in range(40)]
LABELS = {f"i{i}": "bug" if i % 2 else "wish" for i in range(12)}


def learner(model, **options):
    return ActiveLearner(model, TEXTS, ids=[f"i{i}" for i in range(40)], classes=["bug", "wish"], **options)


@pytest.mark.parametrize(("name", "strategy"), [("tfidf", "margin-km"), ("tfidf-ensemble", "corelog-ties")])
def test_models_without_torch(name, strategy, tmp_path):
    chosen = project_model(ProjectSettings(kind="text", model=name))
    assert (chosen.name, chosen.strategy(2)) == (name, strategy)
    assert chosen.words.endswith("as asked")
    on_contents = learner(chosen.on_contents(), strategy=strategy)
    assert len(on_contents.ask(5)) == 5
    on_contents.tell(LABELS)
    probs = on_contents.predict(TEXTS)
    assert (probs.argmax(1) == [1, 0] * 20).all()
    assert on_contents.ask(5).strategy == strategy
    on_contents.save(tmp_path / "saved")
    assert np.array_equal(ActiveLearner.load(tmp_path / "saved").predict(TEXTS), probs)
    chosen.see_pool(TEXTS)
    vectors = chosen.encode(TEXTS)
    on_vectors = ActiveLearner(chosen.on_vectors(vectors), vectors, ids=on_contents.pool.ids, classes=["bug", "wish"])
    on_vectors.tell(LABELS)
    assert np.array_equal(on_vectors.predict(vectors), probs)


def of_images(folder):
    """Sixteen pictures, bright and dark, by their paths below the folder."""
    image, rng = pytest.importorskip("PIL.Image"), np.random.default_rng(0)
    for row in range(16):
        pixels = rng.integers(0, 60, (40, 40, 3)) + (180 if row % 2 else 0)
        image.fromarray(pixels.astype(np.uint8)).save(folder / f"{row}.png")
    return [f"{row}.png" for row in range(16)]


@pytest.mark.parametrize(("kind", "name"), [("text", "minilm-heads"), ("image", "efficientnet-heads")])
def test_an_ensemble_of_heads_learns_asks_and_is_written_down(kind, name, tmp_path):
    for package in ("torch", *ENCODERS[name.removesuffix("-heads")].packages):
        pytest.importorskip(package)
    if kind == "text":
        needs_weights("minilm")
    contents = TEXTS if kind == "text" else of_images(tmp_path)
    chosen = project_model(ProjectSettings(kind=kind, model=name, folder=str(tmp_path)), cache=tmp_path / "vectors")
    assert chosen.words.endswith("vectors and an ensemble of small networks, as asked")
    ids = [f"i{i}" for i in range(len(contents))]
    options = {"ids": ids, "classes": ["bug", "wish"], "strategy": chosen.strategy(2)}
    found = ActiveLearner(chosen.on_contents(), contents, **options)
    assert len(found.ask(3)) == 3  # typical ones: nothing is labelled yet
    found.tell(LABELS)
    probs = found.predict(contents)
    assert (probs.argmax(1) == [1, 0] * (len(contents) // 2)).all()
    members = found.fitted_model.members(np.arange(len(contents)))[0]
    assert len(np.unique(members, axis=0)) == 5  # five networks of their own
    assert found.ask(3).strategy == chosen.strategy(2)
    found.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [".bemps", "items.json", "learner.json"]
    again = ActiveLearner.load(tmp_path / "saved")
    assert np.array_equal(again.predict(contents), probs)
    assert again.ask(3) == found.ask(3)
    from bemps.models.heads.head_classifier import HeadClassifier

    vectors = chosen.encode(contents)
    for model in (chosen.on_vectors(vectors), HeadClassifier(vectors)):
        on_vectors = ActiveLearner(model, vectors, **options)
        on_vectors.tell(LABELS)
        assert np.array_equal(on_vectors.predict(vectors), probs)


def test_heads_without_torch_name_the_extra(monkeypatch, tmp_path):
    import sys

    pytest.importorskip("torch")
    found = learner(project_model(ProjectSettings(model="minilm-heads")).on_contents())
    found.save(tmp_path / "saved")
    monkeypatch.delitem(sys.modules, "bemps.models.content_heads")
    monkeypatch.setitem(sys.modules, "bemps.models.heads.head_classifier", None)
    for use in (
        project_model(ProjectSettings(model="minilm-heads")).on_contents,
        lambda: ActiveLearner.load(tmp_path / "saved"),
    ):
        with pytest.raises(MissingExtra, match=r"ensemble of heads: .*\[torch\]"):
            use()


def test_every_model_is_named_where_people_look():
    import inspect

    from bemps.cli.label import label

    told = [option.help for option in inspect.signature(label).parameters["model"].annotation.__metadata__]
    for name in (name for names in BY_KIND.values() for name in names):
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", told[0]), name


def test_what_is_missing_is_said_and_the_next_best_taken(monkeypatch):
    missing = ("onnxruntime", "torch")
    monkeypatch.setattr(project_models, "find_spec", lambda package: None if package in missing else object())
    monkeypatch.setattr(project_models, "find_weights", lambda name: None)
    text, image = (
        project_model(ProjectSettings(kind="text")),
        project_model(ProjectSettings(kind="image", model="auto")),
    )
    assert text.name == "tfidf"
    commands = f"{pip_install('text')} && bemps weights bge-small"
    better = f"fewer labels are needed with bge-small vectors and words: {commands}"
    assert text.words.endswith(better)
    assert better_model(ProjectSettings()) == better
    assert better_model(ProjectSettings(model="tfidf")) == ""
    assert image.name == "pixels"
    assert image.words.endswith(pip_install("vision"))  # which brings the weights too
    assert project_model(ProjectSettings(kind="text", model="minilm")).name == "minilm"  # asked for: never replaced


def test_missing_weights_are_brought_by_one_command(monkeypatch, tmp_path):
    monkeypatch.setattr(project_models, "find_spec", lambda package: object())
    monkeypatch.setattr(project_models, "find_weights", lambda name: None)
    assert project_model(ProjectSettings()).name == "tfidf"
    assert better_model(ProjectSettings()).endswith("bge-small vectors and words: bemps weights bge-small")
    assert better_model(ProjectSettings(kind="image")).endswith("vectors: bemps weights efficientnet-lite0")
    assert better_model(ProjectSettings(no_model=True)) == ""
    with open_store(tmp_path / "tickets.bemps", create=True) as store:
        (note,) = _better_model(store)
    assert note == "Fewer labels are needed with bge-small vectors and words: bemps weights bge-small"


def test_what_is_installed_is_preferred(monkeypatch):
    monkeypatch.setattr(project_models, "find_spec", lambda package: object())
    monkeypatch.setattr(project_models, "find_weights", lambda name: {})
    assert project_model(ProjectSettings()).name == "bge-words"
    assert project_model(ProjectSettings(kind="image")).name == "efficientnet"
    assert project_model(ProjectSettings(strategy="margin")).strategy(3) == "margin"
    assert [project_model(ProjectSettings()).strategy(classes) for classes in (2, 10, 11, 77)] == [
        "corelog-ties"
    ] * 2 + ["margin-km"] * 2


def test_a_missing_extra_is_named_when_it_is_needed(monkeypatch):
    import sys

    needs_weights("minilm")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "bemps.models.images.efficientnet", None)
    with pytest.raises(MissingExtra, match="text"):
        MiniLMVectors()(["x"])
    with pytest.raises(MissingExtra, match="vision"):
        EfficientNetVectors(".")([])


def test_names_that_do_not_fit():
    with pytest.raises(InputError, match="tfidf"):
        project_model(ProjectSettings(kind="text", model="efficientnet"))
    with pytest.raises(InputError, match="kind of project"):
        project_model(ProjectSettings(kind="sound"))
    with pytest.raises(InputError, match="pool first"):
        TfidfVectors()(["x"])


def test_tfidf_of_a_large_pool_is_fitted_on_part_of_it(monkeypatch):
    monkeypatch.setattr("bemps.models.content_models.LARGEST_FIT", 20)
    encode = TfidfVectors()
    encode.see_pool(TEXTS)
    assert encode(TEXTS).shape[0] == 40


def test_no_image_outside_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="inside"):
        images_in(str(tmp_path / "in"), ["../secret.png"])


def test_vectors_are_kept_beside_the_project(tmp_path, monkeypatch):
    assert cache_folder(tmp_path / "a.bemps") == tmp_path / "a.bemps.vectors"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None) == tmp_path / "bemps" / "vectors"


@pytest.mark.parametrize("name", ["minilm", "minilm-words", "bge-words"])
def test_text_encoders_end_to_end(tmp_path, name):
    needs_weights(ENCODERS[name].weights)
    seen = []
    chosen = project_model(
        ProjectSettings(model=name), cache=tmp_path / "v", progress=lambda task, done, total: seen.append((done, total))
    )
    found = learner(chosen.on_contents(), strategy=chosen.strategy(2))
    found.tell(LABELS)
    assert (found.predict(TEXTS).argmax(1) == [1, 0] * 20).mean() > 0.9
    assert seen[-1] == (40, 40)
    assert list((tmp_path / "v").rglob("*.npy"))
    found.save(tmp_path / "saved")
    assert np.array_equal(ActiveLearner.load(tmp_path / "saved").predict(TEXTS), found.predict(TEXTS))


def test_a_folder_of_your_own_is_a_model_with_words_beside(tmp_path):
    needs_weights("bge-small")
    for name, path in find_weights("bge-small").items():
        (tmp_path / name).symlink_to(path)
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 12, "hidden_size": 384}')
    chosen = project_model(ProjectSettings(model=str(tmp_path)), cache=tmp_path / "vectors")
    assert chosen.strategy(2) == "corelog-ties"
    found = learner(chosen.on_contents(), strategy="corelog-ties")
    found.tell(LABELS)
    assert (found.predict(TEXTS).argmax(1) == [1, 0] * 20).mean() > 0.9
    found.save(tmp_path / "saved")
    assert np.array_equal(ActiveLearner.load(tmp_path / "saved").predict(TEXTS), found.predict(TEXTS))


def test_projects_with_text_encoders_need_no_torch(tmp_path):
    """The page with its model, in a process in which torch and transformers cannot be imported."""
    import subprocess
    import sys

    needs_weights("bge-small", "minilm")
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        absent = name.split('.')[0] in ('torch', 'transformers', 'safetensors', 'pyarrow')\n"
        "        return None if absent else super().find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(PathFinder)] = Without\n"
        "from bemps.project.project_models import project_model\n"
        "from bemps.store.project_settings import ProjectSettings\n"
        "import bemps.server.model.model_worker\n"
        "for name in ('auto', 'minilm-words'):\n"
        "    model = project_model(ProjectSettings(model=name))\n"
        "    model.see_pool(['one text', 'another one', 'a third text'])\n"
        "    print(model.name, model.encode(['a text']).shape[0], model.words.split('; ')[1:], model.tuned)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    why = f"learning from your texts would need {pip_install('finetune')} (torch is missing)"
    assert done.stdout.splitlines() == [f"{name} 1 {[why]} None" for name in ("bge-words", "minilm-words")], done.stderr


def test_the_views_of_a_text_count_alike_where_nobody_weighs_them(tmp_path):
    needs_weights("minilm")
    encode = MiniLMAndWords(str(tmp_path))
    with pytest.raises(InputError, match="pool first"):
        encode(["x"])
    encode.see_pool(TEXTS)
    views = np.split(encode(TEXTS), [384, 768], axis=1)
    for view in views:
        assert view.var(axis=0).sum() == pytest.approx(1, rel=1e-4)
    assert encode(["a text of which no word was seen"]).shape == (1, sum(view.shape[1] for view in views))
