"""The heads of an adapted model on vectors that were made elsewhere."""

import numpy as np
import pytest
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert

from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.encoders.tfidf import tfidf_vectors
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.models.pool_weights import FIRST_ALONE, PoolWeights
from bemps.models.text.adapted_text import AdaptedText
from bemps.models.text.adapted_vectors import AdaptedVectors, centred
from bemps.models.text.finetuned_laplace import FineTunedLaplace
from bemps.testing import ModelCase, model_contract

QUICK = TrainingRecipe(learning_rate=1e-2, head_rate=2e-2, epochs=6, patience=None, warm_up=0.1)
WORDS = tfidf_vectors(TEXTS, dimensions=8, rng=np.random.default_rng(0))
RNG = np.random.default_rng(0)
SECOND = np.eye(3)[LABELS] + 0.3 * RNG.normal(size=(24, 3))
ROWS = np.hstack([WORDS(TEXTS), centred(SECOND, SECOND)])
WEIGHTS = PoolWeights(0.4, 0.9, 0.8)


def on_rows(weights=WEIGHTS, rows=ROWS):
    model = AdaptedVectors(3, weights, members=4)
    model.see_pool(rows)
    return model


def fitted(model, rows=ROWS):
    return model.fit(rows, LABELS, CLASSES, np.random.default_rng(0))


@model_contract(ModelCase("rows", on_rows, ROWS, LABELS, CLASSES, tolerance=1e-5))
def test_contract(case, check):
    check(case)


def test_they_say_what_the_model_on_texts_says():
    tuned = FineTunedLaplace(tiny_bert(), members=4, max_length=32, recipe=QUICK)
    texts = AdaptedText(SpectralLaplace(encode=WORDS, members=4), tuned)
    texts.see_pool(TEXTS)
    texts.fit_encoder(TEXTS, LABELS, CLASSES, np.random.default_rng(0))
    if texts.pool_weights_ == FIRST_ALONE:
        tuned.fit_encoder(TEXTS, LABELS, CLASSES, np.random.default_rng(0))
    texts.pool_weights_ = WEIGHTS
    texts.fit_head(TEXTS, LABELS, CLASSES, np.random.default_rng(0))
    layer = tuned.last_layer(TEXTS)
    rows = np.hstack([WORDS(TEXTS), centred(layer, layer)])
    model = AdaptedVectors(layer.shape[1], WEIGHTS, members=4)
    model.see_pool(rows)
    assert np.allclose(fitted(model, rows).predict_map(rows), texts.predict_map(TEXTS), atol=1e-3)


def test_a_text_that_was_not_read_is_left_to_the_frozen_model():
    model = fitted(on_rows())
    unread = ROWS.copy()
    unread[:, -3:] = 0
    alone = fitted(on_rows(FIRST_ALONE)).predict_map(ROWS)
    said = model.predict_map(unread)
    assert (said.argmax(axis=1) == alone.argmax(axis=1)).mean() > 0.9
    assert (said.max(axis=1) <= alone.max(axis=1) + 0.05).all()


def test_a_fine_tuned_part_that_knows_the_classes_is_heard():
    alone, both = (fitted(on_rows(weights)) for weights in (FIRST_ALONE, PoolWeights(0.8)))
    truth = np.arange(24), LABELS
    assert np.log(both.predict_map(ROWS)[truth]).mean() > np.log(alone.predict_map(ROWS)[truth]).mean()


def test_vectors_are_centred_on_the_reference():
    rows = centred(SECOND, SECOND)
    assert np.allclose(rows.mean(axis=0), 0, atol=1e-6)
    assert np.square(rows).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)
    assert np.allclose(centred(np.ones((3, 2)), np.ones((3, 2))), 0)
