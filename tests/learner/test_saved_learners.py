"""A saved learner comes back as itself, or is refused; nothing that others saved is lost."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from encoder_weights import needs_weights
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import bemps
from bemps.learner import ActiveLearner, Stable
from bemps.models import (
    Fixed,
    ForestMembers,
    FromFile,
    SklearnEnsemble,
    SpectralLaplace,
    SpectralLogistic,
    SpectralRecipe,
    tfidf_classifier,
    tfidf_vectors,
)
from bemps.models.content_models import ContentEnsemble, ContentLaplace, TfidfVectors
from bemps.scores import Beta, Power, Quadratic

DATA = Path(__file__).parent / "data"
X = np.random.default_rng(0).normal(size=(60, 6))
TRUTH = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "a", "b").tolist()
WORDS = ["good fun", "bad plot", "fine cast", "dull story", "great joy", "awful mess"]
TEXTS = [f"{WORDS[i % 6]} in film {i % 7} of {i % 5}" for i in range(60)]


def logistic(**settings):
    return LogisticRegression(C=3.0, **settings)


def columns_by_kind():
    numbers = make_pipeline(SimpleImputer(missing_values=np.nan), StandardScaler())
    parts = [("numbers", numbers, ["size", "price"]), ("kinds", OneHotEncoder(handle_unknown="ignore"), ["town"])]
    return make_pipeline(ColumnTransformer(parts), logistic())


def frame():
    import pandas

    towns = np.array(["wien", "graz", None], dtype=object)[np.arange(60) % 3]
    prices = np.where(np.arange(60) % 9 == 0, np.nan, X[:, 1] * 1e4)
    return pandas.DataFrame({"size": X[:, 0], "price": prices, "town": towns}, index=np.arange(60)[::-1] * 7)


def heads():
    from bemps.models.heads.head_classifier import HeadClassifier
    from bemps.models.heads.head_training import HeadRecipe

    return HeadClassifier(members=2, recipe=HeadRecipe(epochs=3))


def text_classifier():
    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.text.text_classifier import TextClassifier

    recipe = TrainingRecipe(epochs=1, patience=None)
    return TextClassifier(members=2, top_layers=1, validation="none", recipe=recipe, max_length=16)


def cached_laplace():
    from bemps.models.encoders.feature_cache import CachedEncoder
    from bemps.models.encoders.text_encoder import TextEncoder

    return SpectralLaplace(encode=CachedEncoder(TextEncoder(max_length=16)), members=4)


def image_classifier():
    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.images.image_classifier import ImageClassifier

    recipe = TrainingRecipe(epochs=1, patience=None)
    return ImageClassifier("mnist-bnn", members=2, recipe=recipe, epoch_items=16)


def two_views():
    from bemps.models.content_models import MiniLMAndWords
    from bemps.models.encoders.text_views import MEANING

    return ContentLaplace(MiniLMAndWords(), first_view=MEANING, members=4)


def fine_tuned():
    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.text.finetuned_laplace import FineTunedLaplace

    return FineTunedLaplace(members=3, max_length=16, top_layers=1, recipe=TrainingRecipe(epochs=1, patience=None))


def adapted():
    from bemps.models.text.adapted_text import AdaptedText

    return AdaptedText(ContentLaplace(TfidfVectors(), members=3), fine_tuned())


IMAGES = np.random.default_rng(1).integers(0, 255, size=(60, 28, 28, 1), dtype=np.uint8)
# name: how the model is made, its items; every model of docs/reference/models.md among them
CASES = {
    "spectral laplace": (lambda: SpectralLaplace(members=5), X),
    "spectral laplace with settings": (
        lambda: SpectralLaplace(members=5, temperature=0.5, recipe=SpectralRecipe(0.5)), X,
    ),
    "spectral laplace with a pool of its own": (lambda: SpectralLaplace(X[:40] * 2, members=5), X),
    "spectral laplace, float32": (lambda: SpectralLaplace(members=5), X.astype(np.float32)),
    "spectral laplace of TF-IDF": (
        lambda: SpectralLaplace(TEXTS, encode=tfidf_vectors(TEXTS, rng=np.random.default_rng(3)), members=4),
        TEXTS,
    ),
    "spectral logistic": (SpectralLogistic, X),
    "ensemble": (lambda: SklearnEnsemble(logistic(), members=3), X),
    "ensemble with validation": (
        lambda: SklearnEnsemble(logistic(), members=3, validation="dynamic", calibrate=True, weighting="likelihood"),
        X,
    ),
    "ensemble with a fixed validation set": (
        lambda: SklearnEnsemble(
            logistic(), members=2, validation=Fixed(X[50:], np.array([0, 1] * 5)), weighting="likelihood"
        ),
        X,
    ),
    "README: TF-IDF": (lambda: SklearnEnsemble(tfidf_classifier(), members=3), TEXTS),
    "TF-IDF and naive Bayes": (
        lambda: SklearnEnsemble(
            make_pipeline(
                make_union(*tfidf_classifier()[:1]), FunctionTransformer(np.sqrt), logistic(class_weight={0: 1, 1: 2})
            )
        ),
        TEXTS,
    ),
    "a plain classifier": (logistic, X),
    "a classifier without weights": (lambda: MLPClassifier((4,), max_iter=5), X),
    "function transformer": (
        lambda: SklearnEnsemble(make_pipeline(FunctionTransformer(np.square), logistic()), members=3), X,
    ),
    "selected columns": (
        lambda: SklearnEnsemble(make_pipeline(SelectKBest(f_classif, k=1), logistic()), members=3), X,
    ),
    "output as pandas": (
        lambda: SklearnEnsemble(make_pipeline(StandardScaler().set_output(transform="pandas"), logistic())), X,
    ),
    "calibrated": (
        lambda: SklearnEnsemble(CalibratedClassifierCV(GaussianNB(), cv=2), members=2, resample="bootstrap"), X,
    ),
    "gradient boosting with gaps": (
        lambda: SklearnEnsemble(HistGradientBoostingClassifier(max_iter=5), members=2), np.where(X > 1.5, np.nan, X),
    ),
    "forest": (lambda: ForestMembers(RandomForestClassifier(8)), X),
    "forest in a pipeline": (lambda: ForestMembers(make_pipeline(StandardScaler(), ExtraTreesClassifier(8))), X),
    "frame": (lambda: SklearnEnsemble(columns_by_kind(), members=3), frame()),
    "content laplace": (lambda: ContentLaplace(TfidfVectors(), members=5), TEXTS),
    "content ensemble": (lambda: ContentEnsemble(TfidfVectors()), TEXTS),
    "two views": (two_views, TEXTS),
    "heads": (heads, X.astype(np.float32)),
    "text classifier": (text_classifier, TEXTS),
    "cached encoder": (cached_laplace, TEXTS),
    "fine-tuned Laplace": (fine_tuned, TEXTS),
    "frozen and fine-tuned": (adapted, TEXTS),
    "image classifier": (image_classifier, IMAGES),
}  # fmt: skip
NEEDS = {
    "heads": ["torch"],
    "two views": ["transformers", "weights:minilm"],
    "text classifier": ["transformers", "weights:minilm"],
    "fine-tuned Laplace": ["transformers", "weights:minilm"],
    "frozen and fine-tuned": ["transformers", "weights:minilm"],
    "cached encoder": ["transformers", "weights:minilm"],
    "image classifier": ["torch"],
    "frame": ["pandas"],
    "output as pandas": ["pandas"],
}


def told(model, items, **settings):
    learner = ActiveLearner(model, items, classes=["a", "b"], seed=4, **settings)
    learner.tell({str(i): TRUTH[i] for i in range(20)})
    return learner


def same(one, other):
    first, second = one.ask(5), other.ask(5)
    assert first == second
    assert [np.array_equal(a, b) for a, b in zip(first.scores, second.scores, strict=True)]
    rows = bemps.models.base.take(one.items, np.arange(30, 40))
    assert np.array_equal(one.predict(rows), other.predict(rows))


@pytest.mark.parametrize("name", CASES)
def test_every_documented_model_comes_back_as_itself(name, tmp_path):
    for package in NEEDS.get(name, []):
        if package.startswith("weights:"):
            needs_weights(package.removeprefix("weights:"))
        else:
            pytest.importorskip(package)
    make, items = CASES[name]
    learner = told(make(), items)
    learner.save(tmp_path / "saved")
    same(learner, ActiveLearner.load(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("options", "strategy"),
    [
        ({"score": Beta(2, 0.5)}, "gain"),
        ({"score": Power(1.3), "T": np.float64(0.7)}, "gain"),
        ({"score": Quadratic(np.array([[2.0, 0.0], [0.0, 1.0]]))}, "gain"),
        ({"T": 0.3, "estimation_size": 20}, "coremse"),
    ],
)
def test_options_of_any_kind_are_saved(options, strategy, tmp_path):
    learner = told(SpectralLaplace(members=5), X, strategy=strategy, options=options)
    learner.save(tmp_path / "saved")
    same(learner, ActiveLearner.load(tmp_path / "saved"))


@pytest.mark.parametrize(
    "items",
    [
        X,
        X.astype(object),
        np.array([[i, "ab"[i % 2], None if i % 5 == 0 else 1.5] for i in range(60)], dtype=object),
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        (X * 100).astype(np.uint8),
    ],
)
def test_items_of_any_kind_are_saved(items, tmp_path):
    learner = told(Constant(), items)
    learner.save(tmp_path / "saved", with_model=False)
    again = ActiveLearner.load(tmp_path / "saved", Constant())
    assert type(again.items) is type(learner.items)
    assert np.array_equal(again.items, learner.items)
    assert again.ask(5) == learner.ask(5)


class Constant:
    """A model that takes any items."""

    def fit(self, items, labels, classes, rng):
        return self

    def predict(self, items):
        return np.full((2, len(items), 2), 0.5)


def columns_of_all_types():
    import pandas

    texts = pandas.Series([None if i % 7 == 0 else "ab"[i % 2] for i in range(60)])
    days = pandas.Series(pandas.date_range("2024-03-30 22:00", periods=60, freq="h")).where(texts.notna())
    grades = pandas.Categorical(["low", "high", "mid"] * 20, categories=["low", "mid", "high"], ordered=True)
    counts = pandas.Series(range(60), dtype="Int64").where(texts.notna())
    return {
        "ordered": grades,
        "unordered": pandas.Categorical(["low", "high", None] * 20),
        "numbers as groups": pandas.Categorical([3, 1, 2] * 20),
        "days": days,
        "seconds": days.astype("datetime64[s]"),
        "days of a zone": days.dt.tz_localize("Europe/Vienna", ambiguous="NaT", nonexistent="NaT"),
        "spans": days - days[1],
        "counts": counts,
        "small": counts.astype("UInt8"),
        "floats": counts.astype("Float32"),
        "flags": pandas.Series([None, True, False] * 20, dtype="boolean"),
        "texts with NA": texts.astype("string"),
        "texts with NaN": texts.astype("str"),
        "objects": texts.astype(object),
    }


@pytest.mark.parametrize("name", columns_of_all_types())
def test_a_column_of_any_type_comes_back_as_it_was(name, tmp_path):
    import pandas

    items = pandas.DataFrame({name: columns_of_all_types()[name], "size": X[:, 0]})
    learner = told(Constant(), items, cold_start="random")
    learner.save(tmp_path / "saved", with_model=False)
    again = ActiveLearner.load(tmp_path / "saved", Constant())
    assert again.items[name].dtype == items[name].dtype
    assert again.items.equals(items)
    assert again.ask(5) == learner.ask(5)


@pytest.mark.parametrize(
    "column",
    [
        lambda pandas: pandas.period_range("2024-01", periods=60, freq="M"),
        lambda pandas: pandas.Series([pandas.NA, *range(59)], dtype=object),
        lambda pandas: pandas.Categorical(pandas.cut(X[:, 0], 3)),
        lambda pandas: pandas.Categorical(np.arange(60, dtype=np.int8)),
    ],
    ids=["periods", "objects", "intervals", "groups of another type"],
)
def test_items_that_cannot_come_back_are_refused_with_what_works(column, tmp_path):
    import pandas

    learner = told(Constant(), pandas.DataFrame({"odd": column(pandas)}), cold_start="random")
    for with_model in (True, False):
        with pytest.raises(bemps.InputError, match=r"astype\(str\).*tell it learner\.labels") as refused:
            learner.save(tmp_path / "saved", with_model=with_model)
        assert "with_model" not in str(refused.value)
    assert not (tmp_path / "saved").exists()
    again = told(Constant(), learner.items.astype(str), cold_start="random")
    again.tell(learner.labels)
    again.save(tmp_path / "saved", with_model=False)
    assert ActiveLearner.load(tmp_path / "saved", Constant()).labels == learner.labels


def test_sparse_items_are_saved(tmp_path):
    from scipy.sparse import coo_array

    learner = told(SklearnEnsemble(logistic(), members=3), coo_array(np.where(X > 0.5, X, 0)))
    learner.save(tmp_path / "saved")
    same(learner, ActiveLearner.load(tmp_path / "saved"))


def test_probabilities_from_a_file_come_back_while_the_file_is_the_same(tmp_path):
    probs = np.random.default_rng(0).dirichlet([1, 1], size=(3, 60))
    ids = [f"i{n}" for n in range(60)]
    np.savez(tmp_path / "probs.npz", probs=probs, ids=ids)
    learner = ActiveLearner(FromFile(tmp_path / "probs.npz"), ids, ids=ids, classes=["a", "b"])
    learner.tell({f"i{n}": TRUTH[n] for n in range(20)})
    learner.save(tmp_path / "saved")
    same(learner, ActiveLearner.load(tmp_path / "saved"))
    np.savez(tmp_path / "probs.npz", probs=probs[:, ::-1], ids=ids)
    with pytest.raises(bemps.InputError, match="as it was when the learner was saved"):
        ActiveLearner.load(tmp_path / "saved")
    assert ActiveLearner.load(tmp_path / "saved", FromFile(tmp_path / "probs.npz")).ask(5)
    (tmp_path / "probs.npz").unlink()
    with pytest.raises(bemps.InputError, match="Bring it back"):
        ActiveLearner.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (lambda: SklearnEnsemble(make_pipeline(FunctionTransformer(lambda x: x * 2), logistic())), "steps\\[0\\]"),
        (lambda: SklearnEnsemble(make_pipeline(StandardScaler(), logistic(), memory="folder")), "memory"),
        (lambda: SpectralLaplace(encode=lambda items: items), "encode"),
        (type("Mine", (SpectralLaplace,), {}), "model"),
    ],
)
def test_a_model_that_would_come_back_as_another_is_refused_before_anything_is_written(model, part, tmp_path):
    learner = told(model(), X)
    with pytest.raises(bemps.InputError, match=f"{part}(.|\n)*with_model=False"):
        learner.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_functions_in_options_and_strategies_are_refused_before_anything_is_written(tmp_path):
    for settings in (
        {"strategy": "gain", "options": {"score": lambda p: (p**2).sum(-1)}},
        {"strategy": lambda context: None},
    ):
        with pytest.raises(bemps.InputError, match="function"):
            told(SpectralLaplace(), X, **settings).save(tmp_path / "saved")
        assert not (tmp_path / "saved").exists()


# -- one folder, several learners --------------------------------------------------------------------------------------


def test_another_learner_at_the_same_path_is_refused_or_replaces_it_wholly(tmp_path):
    told(SpectralLaplace(), X).save(tmp_path / "p")
    other = told(SpectralLaplace(), X * 2)
    with pytest.raises(bemps.InputError, match="force=True"):
        other.save(tmp_path / "p")
    assert np.array_equal(ActiveLearner.load(tmp_path / "p").items, X)
    other.save(tmp_path / "p", force=True)
    assert np.array_equal(ActiveLearner.load(tmp_path / "p").items, X * 2)
    texts = told(SklearnEnsemble(tfidf_classifier(), members=2), TEXTS)
    texts.save(tmp_path / "p", force=True)
    assert ActiveLearner.load(tmp_path / "p").items == TEXTS
    assert not (tmp_path / "p" / "items.npy").exists()


def test_saving_again_needs_no_force(tmp_path):
    learner = told(SpectralLaplace(), X)
    learner.save(tmp_path / "p")
    learner.tell({"30": "a"})
    learner.save(tmp_path / "p")
    again = ActiveLearner.load(tmp_path / "p")
    again.tell({"31": "b"})
    again.save(tmp_path / "p")
    assert {"30", "31"} <= ActiveLearner.load(tmp_path / "p").labels.keys()


def test_folders_of_somebody_else_are_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years")
    for force in (False, True):
        with pytest.raises(bemps.InputError, match="never replaced"):
            told(SpectralLaplace(), X).save(tmp_path / "thesis", force=force)
    learner = told(SpectralLaplace(), X)
    learner.save(tmp_path / "p")
    (tmp_path / "p" / "notes.txt").write_text("mine")
    with pytest.raises(bemps.InputError, match=r"also holds notes\.txt"):
        learner.save(tmp_path / "p", force=True)
    assert (tmp_path / "p" / "notes.txt").read_text() == "mine"


def test_a_failed_save_leaves_the_earlier_one(tmp_path, monkeypatch):
    learner = told(SpectralLaplace(), X)
    learner.save(tmp_path / "p")
    learner.tell({"30": "a"})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        with pytest.raises(bemps.InputError, match="No space left"):
            learner.save(tmp_path / "p")
    assert "30" not in ActiveLearner.load(tmp_path / "p").labels
    assert {path.name for path in tmp_path.iterdir()} <= {"p", ".p.lock"}
    learner.save(tmp_path / "p")
    assert "30" in ActiveLearner.load(tmp_path / "p").labels


@pytest.mark.parametrize("moved", [False, True])
def test_a_killed_save_leaves_no_litter_and_loses_nothing(tmp_path, moved):
    """Killed while writing, or between the two renames: the next load has the learner, and nothing lies about."""
    told(SpectralLaplace(members=3), X).save(tmp_path / "p")
    away = "os.rename(path, draft.parent / 'p.old')" if moved else ""
    code = f"""
import os, signal
from pathlib import Path
from bemps.learner.saving import saved_learner
def killed(draft, *_):
    draft.mkdir()
    path = Path({str(tmp_path / "p")!r})
    {away}
    os.kill(os.getpid(), signal.SIGKILL)
saved_learner._write = killed
from bemps import ActiveLearner
ActiveLearner.load({str(tmp_path / "p")!r}).save({str(tmp_path / "p")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert list(tmp_path.glob(".p.*.part"))
    assert ActiveLearner.load(tmp_path / "p").labels
    assert {path.name for path in tmp_path.iterdir()} == {"p", ".p.lock"}


def test_two_processes_lose_nothing_they_are_told_to_load_again(tmp_path):
    told(SpectralLaplace(members=3), X).save(tmp_path / "p")
    code = f"""
import bemps
for _ in range(40):
    learner = bemps.ActiveLearner.load({str(tmp_path / "p")!r})
    batch = learner.ask(1)
    learner.tell(batch, ["a"])
    try:
        learner.save({str(tmp_path / "p")!r})
    except bemps.InputError as error:
        assert "another process has saved there since" in str(error)
        continue
    print(batch.items[0])
    if len(learner.labels) >= 30:
        break
"""
    workers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    saved = [name for worker in workers for name in worker.communicate()[0].split()]
    assert all(worker.returncode == 0 for worker in workers)
    labels = ActiveLearner.load(tmp_path / "p").labels
    assert len(set(saved)) == len(saved) == len(labels) - 20  # everything that was saved is there, once


def test_threads_that_tell_lose_nothing():
    learner = ActiveLearner(SpectralLaplace(members=3), X)

    def work(start):
        for i in range(start, 60, 4):
            learner.tell({str(i): TRUTH[i]})
            if learner.fitted_model.ready and len(learner.labels) < 50:
                learner.ask(2)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.labels == {str(i): TRUTH[i] for i in range(60)}
    assert learner.pool.version == 60


def test_stability_is_seen_across_requests(tmp_path):
    """A service loads, asks, tells and saves for every request."""

    def rounds(reload):
        learner = told(SpectralLaplace(members=5), X)
        for i in range(20, 24):
            learner.ask(1)
            learner.tell({str(i): TRUTH[i]})
            if reload:
                learner.save(tmp_path / "p")
                learner = ActiveLearner.load(tmp_path / "p")
        learner.ask(1)
        return learner

    once, service = rounds(False), rounds(True)
    assert len(once.agreement) == 4
    assert service.agreement == once.agreement
    assert service.advice([Stable(0.0, 4)]).stop


def test_labels_and_ids_of_any_kind_are_saved(tmp_path):
    learner = ActiveLearner(SpectralLaplace(), X, ids=np.arange(100, 160), classes=np.array([0, 1]))
    batch = learner.ask(6)
    learner.tell(batch, np.array([0, 1, 0, 1, 0, 1]))
    learner.tell({np.int64(130): np.int64(1), 131: 0})
    learner.skip([140, np.int64(141)])
    learner.exclude(["142"])
    learner.save(tmp_path / "saved")
    again = ActiveLearner.load(tmp_path / "saved")
    assert again.labels == learner.labels
    assert again.labels["130"] == "1"
    assert again.ask(3) == learner.ask(3)
    assert again.pool.skipped == {"140", "141"}
    assert again.pool.excluded == {"142"}


# -- format 1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vectors", "texts"])
def test_format_1_is_still_read(kind, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(DATA / f"format-1-{kind}", folder)
    expected = json.loads((DATA / "format-1-expected.json").read_text())[kind]
    learner = ActiveLearner.load(folder)
    count, rows = len(expected["items"]), learner.items[:3]
    if kind == "vectors":
        assert list(learner.ask(count).items) == expected["items"]
        assert np.allclose(learner.predict(rows), expected["probs"], atol=1e-6)
    else:  # its words make equal singular values, whose directions, and so the draws, differ between processors
        new = ActiveLearner(learner.model, learner.items, strategy=learner.strategy, classes=learner.classes, seed=1)
        new.tell(learner.labels)
        assert learner.ask(count).items == new.ask(count).items
        assert np.allclose(learner.predict(rows), expected["probs"], atol=0.05)
    learner.save(folder)
    assert ActiveLearner.load(folder).ask(4) == learner.ask(4)
    assert json.loads((folder / "learner.json").read_text())["version"] == 2


def test_format_1_that_lost_a_part_of_its_model_is_refused(tmp_path):
    shutil.copytree(DATA / "format-1-lost", tmp_path / "old")
    with pytest.raises(bemps.InputError, match="lost a part"):
        ActiveLearner.load(tmp_path / "old")
    learner = ActiveLearner.load(tmp_path / "old", SklearnEnsemble(tfidf_classifier(), members=2))
    assert len(learner.ask(3)) == 3


def test_every_class_of_the_table_is_there_with_its_arguments():
    """The table names real classes and nothing but arguments that they take."""
    import inspect

    from bemps.learner.saving.saved_classes import BEMPS, bemps_class, name_of

    for name, entry in BEMPS.items():
        try:
            found = bemps_class(name)
        except ImportError:
            continue  # an optional package is missing
        assert name_of(found) == name
        stored = {entry.parameters.get(argument, argument) for argument in entry.arguments}
        assert set(inspect.signature(found).parameters) == stored, name


def test_a_renamed_parameter_keeps_its_name_in_saved_files(tmp_path):
    learner = told(SpectralLaplace(members=5, recipe=SpectralRecipe(energy_share=0.9)), X)
    learner.save(tmp_path / "saved")
    assert '"kept": 0.9' in (tmp_path / "saved" / "learner.json").read_text()
    again = ActiveLearner.load(tmp_path / "saved")
    assert again.model.recipe == SpectralRecipe(energy_share=0.9)
    same(learner, again)
