"""The fine-tuned encoder under a Laplace head, on a tiny BERT of our own."""

import numpy as np
import pytest
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert

from bemps._utils.numerics import softmax
from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.finetuned_laplace import FINE_TUNING, FineTunedLaplace, fine_tuned
from bemps.models.text.recent_vectors import RecentVectors
from bemps.models.text.text_classifier import TextClassifier
from bemps.testing import ModelCase, model_contract

QUICK = TrainingRecipe(learning_rate=1e-2, head_rate=2e-2, epochs=8, patience=None, warm_up=0.1)


class Interrupted(Exception):
    pass


def quick(**options):
    return FineTunedLaplace(tiny_bert(), **({"members": 4, "max_length": 32, "recipe": QUICK} | options))


def fitted(model, texts=TEXTS, labels=LABELS, seed=0):
    return model.fit(texts, labels, CLASSES, np.random.default_rng(seed))


@model_contract(
    ModelCase("laplace", quick, TEXTS[:12], LABELS[:12], CLASSES),
    ModelCase("laplace with a pool", lambda: quick(pool=TEXTS), TEXTS[:12], LABELS[:12], CLASSES),
)
def test_contract(case, check):
    check(case)


def test_the_default_recipe():
    model = FineTunedLaplace(tiny_bert(), max_length=32)
    recipe = model._network.recipe
    assert recipe is FINE_TUNING
    assert (recipe.learning_rate, recipe.head_rate, recipe.warm_up, recipe.clip) == (1e-4, 5e-3, 0.1, 1.0)
    assert recipe.patience is None
    assert model._network.head == "mean"


def test_all_layers_learn_and_the_words_stay():
    model = fitted(quick())
    [weights] = model._network.trained_weights()
    before = model._network._prepared_backbone().network(3, 0).state_dict()
    assert not any("word_embeddings" in name for name in weights)
    for layer in range(3):
        name = f"encoder.encoder.layer.{layer}.output.dense.weight"
        assert not np.allclose(weights[name], before[name])


def test_the_logits_are_linear_in_the_features():
    model = fitted(quick())
    assert np.allclose(softmax(model.features(TEXTS) @ model._head.weights_), model.predict_map(TEXTS), atol=1e-5)


def test_the_features_have_the_norm_of_the_head_on_the_pool():
    model = fitted(quick(pool=TEXTS), TEXTS[:9], LABELS[:9])
    rows = model.features(TEXTS)[:, :-1]
    assert np.allclose(rows.mean(axis=0), 0, atol=1e-4)
    assert np.sqrt((rows**2).sum(axis=1).mean()) == pytest.approx(2.5, rel=0.01)


def test_the_head_follows_new_labels_without_training_the_encoder():
    model = quick(pool=TEXTS).fit_encoder(TEXTS[:9], LABELS[:9], CLASSES, np.random.default_rng(0))
    model._network.fit = None  # whoever trains it again fails
    few = model.fit_head(TEXTS[:9], LABELS[:9], CLASSES, np.random.default_rng(1)).predict_map(TEXTS)
    more = model.fit_head(TEXTS, LABELS, CLASSES, np.random.default_rng(1)).predict_map(TEXTS)
    new = np.arange(9, 24), LABELS[9:]
    assert more[new].mean() > few[new].mean()


def test_a_saved_encoder_answers_as_the_trained_one(tmp_path):
    trained = fitted(quick())
    trained.save_encoder(tmp_path / "encoder.safetensors")
    taken = quick().load_encoder(tmp_path / "encoder.safetensors")
    with pytest.raises(InputError, match="Call fit first"):
        taken.predict(TEXTS)
    rows = [
        model.fit_head(TEXTS, LABELS, CLASSES, np.random.default_rng(5)).predict(TEXTS) for model in (trained, taken)
    ]
    assert np.array_equal(*rows)


def test_a_missing_encoder_is_refused(tmp_path):
    with pytest.raises(InputError, match="a file of `save_encoder`"):
        quick().load_encoder(tmp_path / "none.safetensors")


def test_progress_can_stop_the_training_and_nothing_half_trained_answers():
    told = []

    def progress(task, done, total):
        told.append((task, done, total))
        if task.startswith("fit") and done == 2:
            raise Interrupted

    model = quick(progress=progress)
    with pytest.raises(Interrupted):
        fitted(model)
    assert told[-1][1:] == (2, 8)
    with pytest.raises(InputError, match="Call fit first"):
        model.predict(TEXTS)


def test_an_interrupted_training_goes_on_to_the_same_numbers(tmp_path):
    def stop(task, done, total):
        if done == 3 and task.startswith("fit"):
            raise Interrupted

    expected = fitted(quick()).predict(TEXTS)
    model = quick(checkpoints=tmp_path, progress=stop)
    with pytest.raises(Interrupted):
        fitted(model)
    model.progress = None
    assert np.array_equal(fitted(model).predict(TEXTS), expected)


def test_closed_forms_choose_with_it():
    learner = ActiveLearner(quick(), TEXTS, classes=CLASSES, strategy="corelog-laplace", seed=0)
    learner.tell({str(i): CLASSES[LABELS[i]] for i in range(9)})
    assert len(learner.ask(3)) == 3


@pytest.mark.parametrize("posterior", ["laplace", "dropout", "ensemble"])
def test_three_posteriors_of_one_learner(posterior):
    model = fine_tuned(posterior, name=tiny_bert(), members=2)
    if isinstance(model, TextClassifier):
        model.max_length, model.recipe = 32, QUICK
    else:
        model = quick(members=2)
    assert fitted(model, TEXTS[:12], LABELS[:12]).predict(TEXTS).shape == (2, 24, 3)


@pytest.mark.parametrize("posterior", ["laplace", "dropout", "ensemble"])
def test_no_members_and_unknown_devices_are_refused(posterior):
    with pytest.raises(InputError, match="members"):
        fine_tuned(posterior, members=0)
    with pytest.raises(InputError, match="device: expected"):
        fine_tuned(posterior, name=tiny_bert(), device="tpux").fit(TEXTS, LABELS, CLASSES, np.random.default_rng(0))


def test_an_unknown_posterior_is_refused():
    with pytest.raises(InputError, match="laplace"):
        fine_tuned("laplas")


def test_recent_vectors_are_computed_once_and_the_oldest_forgotten():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.array([[len(text)] for text in texts], dtype=np.float32).reshape(-1, 1)

    vectors = RecentVectors(encode, rows=3)
    assert vectors(["a", "bb", "a"]).ravel().tolist() == [1, 2, 1]
    assert vectors(["bb", "ccc", "dddd"]).ravel().tolist() == [2, 3, 4]
    assert asked == ["a", "bb", "ccc", "dddd"]
    assert vectors([]).shape == (0, 1)
    vectors(["a"])
    assert asked[-1] == "a"
    assert len(vectors._vectors) == 3


def test_the_upper_layers_alone_can_learn(tmp_path):
    model = fitted(quick(top_layers=2, cache=tmp_path))
    [weights] = model._network.trained_weights()
    assert {name.split(".")[3] for name in weights if name.startswith("encoder.encoder.layer.")} == {"0", "1"}
    assert (tmp_path / "hidden").exists()
    assert model.predict(TEXTS).shape == (4, 24, 3)


def test_of_twelve_layers_the_upper_six_learn():
    assert FineTunedLaplace("bge-small")._network.top_layers == 6
    assert FineTunedLaplace("bge-small", top_layers=3)._network.top_layers == 3
    assert FineTunedLaplace("minilm")._network.top_layers is None
