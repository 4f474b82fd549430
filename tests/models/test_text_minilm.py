"""The real MiniLM weights, fine-tuned on a handful of real questions."""

import numpy as np
import pytest
from encoder_weights import needs_weights
from tiny_bert import CLASSES, LABELS, TEXTS

from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.text_classifier import TextClassifier

needs_weights("minilm")

TRAIN, TEST = slice(0, 15), slice(15, 24)


@pytest.fixture(scope="module", params=["ensemble", "dropout", "partial"])
def model(request):
    kind = {
        "ensemble": {"members": 2},
        "dropout": {"members": 3, "posterior": "dropout"},
        "partial": {"members": 2, "top_layers": 2},
    }[request.param]
    recipe = TrainingRecipe(learning_rate=5e-4, epochs=6, patience=None)
    classifier = TextClassifier("minilm", validation="none", recipe=recipe, batch_size=8, **kind)
    return classifier.fit(TEXTS[TRAIN], LABELS[TRAIN], CLASSES, np.random.default_rng(0))


def test_learns_and_beats_chance_on_questions_it_has_not_seen(model):
    for history in model.histories:
        assert history.epochs[-1].train_loss < history.epochs[0].train_loss / 2
    right = model.predict(TEXTS[TEST]).mean(axis=0).argmax(axis=1) == LABELS[TEST]
    assert right.mean() >= 2 / 3


def test_company_and_padding_change_no_bit(model):
    long = " ".join(TEXTS[:6])
    whole = model.predict([*TEXTS[TEST], long])
    assert np.array_equal(model.predict(TEXTS[20:21])[:, 0], whole[:, 5])
    assert np.array_equal(model.predict([long, TEXTS[20]])[:, 1], whole[:, 5])


def test_members_differ(model):
    probs = model.predict(TEXTS[TEST])
    assert np.abs(probs[0] - probs[1]).max() > 1e-3
