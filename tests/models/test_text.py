"""Fine-tuning: a tiny DistilBERT and BERT of our own, and the real MiniLM weights where they are installed."""

import numpy as np
import pytest
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert, tiny_distilbert

from bemps.errors import InputError
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.base import Diverged, HasEmbeddings, HasFeatures, HasSurprisal, HasWeights, Model, UsesPool
from bemps.models.text.text_classifier import TextClassifier
from bemps.models.validation_splits import Fixed
from bemps.testing import ModelCase, model_contract

QUICK = TrainingRecipe(learning_rate=1e-2, epochs=14, patience=None)


class Interrupted(Exception):
    pass


def quick(folder=None, **options):
    """A model that learns a dozen questions in a moment."""
    settings = {"members": 2, "recipe": QUICK, "validation": "none", "max_length": 32, "batch_size": 12}
    return TextClassifier(folder or tiny_distilbert(), **(settings | options))


def fitted(model, texts=TEXTS, labels=LABELS, seed=0):
    return model.fit(texts, labels, CLASSES, np.random.default_rng(seed))


def case(name, make):
    return ModelCase(name, make, TEXTS[:12], LABELS[:12], CLASSES)


@model_contract(
    case("ensemble", quick),
    case("dropout", lambda: quick(posterior="dropout", members=3)),
    case("partial", lambda: quick(tiny_bert(), head="mean", top_layers=2, pool=TEXTS)),
)
def test_contract(case, check):
    check(case)


def test_what_a_text_model_can_do():
    model = quick()
    assert isinstance(model, Model)
    assert isinstance(model, HasFeatures)
    assert isinstance(model, HasEmbeddings)
    assert isinstance(model, HasSurprisal)
    assert isinstance(model, UsesPool)
    assert isinstance(fitted(model, TEXTS[:6], LABELS[:6]), HasWeights)


def test_loss_goes_down():
    for history in fitted(quick()).histories:
        assert history.epochs[-1].train_loss < history.epochs[0].train_loss / 2


def test_dynamic_validation_stops_early_and_keeps_the_best():
    model = fitted(quick(validation="dynamic", recipe=TrainingRecipe(learning_rate=1e-2, epochs=30, patience=2)))
    for history in model.histories:
        losses = [epoch.valid_loss for epoch in history.epochs]
        assert history.best.valid_loss == min(losses)
        assert len(losses) == min(history.best_epoch + 2, 30)


def test_a_validation_set_of_its_own():
    fixed = Fixed(TEXTS[12:], LABELS[12:])
    model = fitted(quick(validation=fixed), TEXTS[:12], LABELS[:12])
    assert all(history.best.valid_loss is not None for history in model.histories)
    assert model.predict(TEXTS).shape == (2, 24, 3)


@pytest.mark.parametrize("posterior", ["ensemble", "dropout"])
def test_validation_gives_temperatures_and_weights(posterior):
    options = {"validation": "constant", "calibrate": True, "weighting": "likelihood", "members": 3}
    model = fitted(quick(posterior=posterior, **options))
    assert np.ptp(model.weights) > 0
    assert model.weights.sum() == pytest.approx(1)
    assert all(member.temperature != 1 for member in model.fitted_.members)
    assert model.predict(TEXTS[:2]).sum(axis=-1) == pytest.approx(1)


@pytest.mark.parametrize("resample", ["dirichlet", "bootstrap"])
def test_labels_can_weigh_differently_in_each_member(resample):
    plain, resampled = fitted(quick()), fitted(quick(resample=resample))
    assert not np.allclose(plain.predict(TEXTS), resampled.predict(TEXTS), atol=1e-4)


def test_one_rate_for_every_dropout():
    """Without dropout, masks have nothing to differ in; with more of it, members are further apart."""

    def spread(rate):
        return fitted(quick(posterior="dropout", members=4, dropout=rate)).predict(TEXTS).std(axis=0).mean()

    assert spread(0.3) > spread(0.05)
    with pytest.raises(InputError, match="dropout"):
        fitted(quick(posterior="dropout", dropout=0.0))


def test_more_masks_keep_the_first_ones():
    few, many = (fitted(quick(posterior="dropout", members=E)).predict(TEXTS[:3]) for E in (2, 20))
    assert np.array_equal(few, many[:2])


def test_features_are_what_the_last_layer_reads():
    model = fitted(quick(members=1))
    weights = model.fitted_.members[0].weights
    logits = model.features(TEXTS) @ weights["model.classifier.weight"].numpy().T
    odds = np.exp(logits + weights["model.classifier.bias"].numpy())
    assert np.allclose(odds / odds.sum(axis=1, keepdims=True), model.predict(TEXTS)[0], atol=1e-5)


@pytest.mark.parametrize("posterior", ["ensemble", "dropout"])
def test_an_interrupted_fit_ends_with_the_same_numbers(tmp_path, posterior):
    last = "fit, network 2 of 2" if posterior == "ensemble" else "fit, network 1 of 1"

    def interrupt(task, done, total):
        if (task, done) == (last, 3):
            raise Interrupted

    expected = fitted(quick(posterior=posterior)).predict(TEXTS)
    with pytest.raises(Interrupted):
        fitted(quick(posterior=posterior, checkpoints=tmp_path, progress=interrupt))
    seen = []
    resumed = fitted(quick(posterior=posterior, checkpoints=tmp_path, progress=lambda *step: seen.append(step)))
    assert [step for step in seen if step[0].startswith("fit")] == [(last, n, 14) for n in range(4, 15)]
    assert np.array_equal(resumed.predict(TEXTS), expected)


def test_the_next_fit_forgets_the_files_of_the_last(tmp_path):
    model = fitted(quick(checkpoints=tmp_path, members=1))
    first = list(tmp_path.iterdir())
    fitted(model, TEXTS[:12], LABELS[:12])
    second = list(tmp_path.iterdir())
    assert len(first) == len(second) == 1
    assert first != second


def test_other_labels_never_meet_old_files(tmp_path):
    fitted(quick(checkpoints=tmp_path))
    turned = (LABELS + 1) % 3
    fresh = fitted(quick(), labels=turned).predict(TEXTS)
    assert np.array_equal(fitted(quick(checkpoints=tmp_path), labels=turned).predict(TEXTS), fresh)


def test_a_network_that_diverges_is_reported():
    broken = quick(recipe=TrainingRecipe(learning_rate=1e30, epochs=3))
    with pytest.raises(Diverged, match="two seeds"):
        fitted(broken)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"posterior": "laplace"}, "posterior"),
        ({"weighting": "best"}, "weighting"),
        ({"resample": "jackknife"}, "resample"),
        ({"head": "max"}, "head"),
        ({"posterior": "dropout", "members": 0}, "members"),
        ({"batch_size": 0}, "batch_size"),
        ({"dropout": 1.0}, "dropout"),
        ({"calibrate": True}, "held-out labels"),
        ({"device": "cuda:77"}, "device"),
        ({"max_length": 512}, "max_length"),
        ({"top_layers": 4}, "top_layers"),
    ],
)
def test_bad_settings_are_refused(options, match):
    with pytest.raises(InputError, match=match):
        fitted(quick(**options))


@pytest.mark.parametrize("items", ["one text", [1, 2], np.zeros((2, 3))], ids=["string", "numbers", "rows"])
def test_only_texts_are_read(items):
    model = fitted(quick(), TEXTS[:6], LABELS[:6])
    with pytest.raises((InputError, TypeError)):
        model.predict(items)


def test_surprisal_without_a_language_model_needs_the_pool(tmp_path):
    model = quick(tiny_bert(), cache=tmp_path)
    with pytest.raises(InputError, match="AdaptedSurprisal"):
        model.surprisal(TEXTS)
    tasks = []
    model = quick(tiny_bert(), cache=tmp_path, progress=lambda task, *_: tasks.append(task))
    model.see_pool(TEXTS)
    assert model.surprisal(TEXTS[:5]).shape == (5, 32)
    assert "adapt a language-model head" in tasks
    assert [path.name for path in tmp_path.iterdir()] == ["language-model"]


def test_each_text_is_embedded_once(tmp_path):
    seen = []
    model = quick(cache=tmp_path, progress=lambda *step: seen.append(step))
    first = model.embeddings(TEXTS[:10])
    assert seen[-1] == ("embed", 10, 10)
    again = quick(cache=tmp_path, progress=lambda *step: seen.append(step)).embeddings(TEXTS)
    assert seen[-1] == ("embed", 14, 14)
    assert np.array_equal(again[:10], first)
