"""The study of pseudo-labels: what it takes, how much that counts, and that it goes on where it stopped."""

import runpy
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert

from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.base import member_seeds
from bemps.models.text.finetuned_laplace import FineTunedLaplace

STUDIES = Path(__file__).parents[2] / "studies"
QUICK = TrainingRecipe(learning_rate=1e-2, head_rate=2e-2, epochs=3, patience=None, warm_up=0.1)


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    return runpy.run_path(str(STUDIES / "self_training.py"))


@pytest.fixture
def tuned(study):
    """Fine-tune a tiny BERT on weighted texts."""
    module = sys.modules["weighted_tuning"]
    tuning = module.Tuning(tiny_bert(), QUICK, max_length=32)

    def fit(texts, codes, weights, seed=0):
        return module.fine_tuned(texts, codes, weights, len(CLASSES), seed, tuning=tuning)

    return fit


def test_pseudo_labels_are_those_of_the_paper(study):
    """The rule and the weights once more, in loops: sure to more than half, most neighbours alike."""
    rng = np.random.default_rng(0)
    probs, near = rng.dirichlet([0.3] * 3, 60), rng.integers(60, size=(60, 14))
    labels = rng.integers(3, size=10)
    label = [labels[i] if i < 10 else probs[i].argmax() for i in range(60)]
    for rule in (study["RULES"]["each a tenth"], study["RULES"]["all as all labels"]):
        new = study["pseudo_labels"](probs, labels, near, rule)
        items = [i for i in range(10, 60) if probs[i].max() > 0.5 and sum(label[j] == label[i] for j in near[i]) > 7]
        counts = [sum(label[i] == k for i in items) for k in range(3)]
        expected = len(items) // 3
        raw = [1 / (1 + np.exp(-(expected - counts[label[i]]) / counts[label[i]])) for i in items]
        scale = rule.weight * (10 / len(items) if rule.total else 1) / np.mean(raw)
        assert 0 < len(items) < 50
        assert new.items.tolist() == items
        assert new.classes.tolist() == [label[i] for i in items]
        np.testing.assert_allclose(new.weights, scale * np.array(raw), rtol=1e-12)


def test_the_weighted_head_is_the_minimum_of_its_loss(study):
    rng = np.random.default_rng(1)
    features, labels, weights = rng.normal(size=(40, 5)), rng.integers(3, size=40), rng.uniform(0.1, 1, 40)
    W = study["weighted_map"](features, labels, weights, np.zeros((5, 3)))

    def loss(W):
        return -(weights * log_softmax(features @ W, axis=1)[np.arange(40), labels]).sum() + (W**2).sum() / 2

    best = loss(W)
    assert all(loss(W + 0.01 * rng.normal(size=W.shape)) > best for _ in range(20))


def test_labels_that_count_alike_train_the_encoder_of_the_product(tuned):
    [(seed, _)] = member_seeds(1, np.random.default_rng(5))
    model = FineTunedLaplace(tiny_bert(), recipe=QUICK, max_length=32, device="cpu")
    model.fit_encoder(TEXTS, LABELS, CLASSES, np.random.default_rng(5))
    ours = tuned(TEXTS, LABELS, np.ones(len(TEXTS)), seed=int(seed))
    np.testing.assert_allclose(ours.last_layer(TEXTS), model.last_layer(TEXTS), atol=1e-6)


def test_a_label_without_weight_is_not_learnt(tuned):
    weights = np.ones(len(TEXTS))
    weights[-4:] = 0
    other = LABELS.copy()
    other[-4:] = (other[-4:] + 1) % len(CLASSES)
    layers = [tuned(TEXTS, codes, weights).last_layer(TEXTS) for codes in (LABELS, other)]
    np.testing.assert_array_equal(*layers)
    assert abs(tuned(TEXTS, other, np.ones(len(TEXTS))).last_layer(TEXTS) - layers[0]).max() > 1e-3


def test_a_cell_that_is_there_is_not_computed_again(study, tmp_path, monkeypatch):
    calls = []

    def run_adapted_cell(cell, data, rules):
        calls.append(cell)
        return pd.DataFrame({"rule": ["none"], "f1": [0.5]})

    run = study["run"]
    monkeypatch.setitem(run.__globals__, "run_adapted_cell", run_adapted_cell)
    given = Namespace(
        out=tmp_path, data=tmp_path, cache=None, rules=None, learner="adapted", sets=["trec6"], seeds=[0], labels=[50]
    )
    run(given)
    given.seeds = [0, 1]
    run(given)
    assert [cell.seed for cell in calls] == [0, 1]
    assert set(study["rows_of"](given).learner) == {"adapted"}
