"""Labels to look at again: found by a model that did not learn from them."""

import numpy as np
import pytest
from serving import CLASSES, tickets

from bemps.learner.cross_validation import cross_predict, cross_validate
from bemps.models.content_models import ContentLaplace
from bemps.models.encoders.tfidf import tfidf_vectors
from bemps.project.project_models import project_model
from bemps.server.model.likeness import unit
from bemps.server.model.messages import Ask
from bemps.server.model.trainer import Trainer
from bemps.server.review.doubts import ALIKE, contradicting_pairs, doubted_labels
from bemps.server.review.item_map import ItemMap
from bemps.server.review.model_tasks import answer_of
from bemps.store import Item, open_store


@pytest.fixture(scope="module", params=["ag_news", "trec6"])
def texts(request, data_dir):
    """Vectors and labels of a real set."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = next(
        data_dir / request.param / f"{name}.parquet"
        for name in ("train_subset", "train")
        if (data_dir / request.param / f"{name}.parquet").exists()
    )
    table = parquet.read_table(path).slice(0, 2_000).to_pydict()
    rng = np.random.default_rng(0)
    return tfidf_vectors(table["text"], rng=rng)(table["text"]), np.array(table["label"])


@pytest.mark.parametrize("seed", [0, 1])
def test_half_of_the_swapped_labels_of_a_real_set_are_in_the_first_tenth(texts, seed):
    vectors, codes = texts
    rng, K = np.random.default_rng(seed), int(codes.max()) + 1
    rows = rng.choice(len(vectors), 600, replace=False)
    labels = codes[rows].copy()
    swapped = rng.choice(600, 30, replace=False)
    labels[swapped] = (labels[swapped] + rng.integers(1, K, 30)) % K
    model = ContentLaplace()
    model.see_pool(vectors)
    doubts = doubted_labels(model, vectors[rows], labels, [str(code) for code in range(K)])
    first = {doubt.row for doubt in doubts[:60]}
    assert sum(row in first for row in swapped.tolist()) >= 15


def test_each_label_is_judged_without_itself():
    """Two equal items with different labels: each is judged by the other, and both are doubted."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate([rng.normal(-3, 1, (20, 3)), rng.normal(3, 1, (20, 3))])
    codes = np.repeat([0, 1], 20)
    codes[5] = 1
    model = ContentLaplace()
    model.see_pool(vectors)
    doubts = doubted_labels(model, vectors, codes, ["a", "b"])
    assert (doubts[0].row, doubts[0].guess) == (5, 0)
    assert doubts[0].label_probability < doubts[0].guess_probability
    assert all(codes[doubt.row] != doubt.guess for doubt in doubts)


def test_cross_validation_is_what_cross_prediction_says():
    rng = np.random.default_rng(0)
    vectors, codes = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = ContentLaplace()
    model.see_pool(vectors)
    probs, predicted = cross_predict(model, vectors, codes, ["a", "b"])
    assert predicted.all()
    assert np.allclose(probs.sum(1), 1)
    confidence, right = cross_validate(model, vectors, codes, ["a", "b"])
    assert np.allclose(confidence, probs.max(1))
    assert (right == (probs.argmax(1) == codes)).all()
    assert cross_predict(model, vectors[:3], np.array([0, 0, 1]), ["a", "b"]) is None


def test_pairs_are_alike_and_differ_in_their_labels():
    vectors = unit(np.array([[1.0, 0], [1, 0.01], [1, 0.02], [0, 1], [0, 1]]))
    pairs = contradicting_pairs(vectors, np.array([0, 1, 0, 1, 1]))
    assert {pair[:2] for pair in pairs} == {(0, 1), (1, 2)}
    assert all(ALIKE <= like <= 1.001 for *_, like in pairs)


@pytest.fixture
def trainer(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as store:
        for name in CLASSES:
            store.add_class(name, "test")
        rows = tickets(90)
        store.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(rows))
        store.set_all({"kind": "text", "model": "tfidf"})
        store.mark_audit(["i0", "i1"])
        for row in range(45):
            label = rows[row][1] if row != 7 else CLASSES[(CLASSES.index(rows[row][1]) + 1) % 3]
            store.answer("ann", f"i{row}", "label", label)
        trainer = Trainer(store, project_model(store.read_settings()))
        trainer.learn(5)
        yield trainer


def test_the_model_names_the_swapped_label_and_never_an_audit_item(trainer):
    answer = answer_of(trainer, Ask("review", 3))
    assert answer.call == 3
    assert answer.about["judged"] == 43
    names = [name for name, *_ in answer.about["doubts"]]
    assert "i7" in names[:4]
    assert not {"i0", "i1"} & set(names)


def test_a_map_has_every_labelled_item_between_zero_and_one(trainer):
    picture = answer_of(trainer, Ask("map", 1)).about
    assert set(picture["items"]) == set(trainer.ids)
    positions = np.array(picture["positions"])
    assert positions.min() >= 0
    assert positions.max() <= 1
    assert set(picture["guesses"]) <= {0, 1, 2}
    assert answer_of(trainer, Ask("map", 2)).about["positions"] == picture["positions"]  # drawn once


def test_a_task_that_fails_is_said_and_ends_nothing(trainer):
    answer = answer_of(trainer, Ask("nonsense", 4))
    assert answer.failure == "KeyError: 'nonsense'"


def test_a_map_is_drawn_again_only_for_labels_that_it_lacks(monkeypatch):
    monkeypatch.setattr("bemps.server.review.item_map.MOST", 20)
    vectors = np.random.default_rng(0).normal(size=(60, 5))
    drawing = ItemMap(vectors)
    rows, positions = drawing.draw([3])
    assert len(rows) == 20
    _, same = drawing.draw([int(rows[0]), 3])
    assert same is positions
    missing = next(row for row in range(60) if row not in rows)
    assert missing in drawing.draw([missing])[0]
    assert len(ItemMap(vectors[:3]).draw([])[0]) == 0
