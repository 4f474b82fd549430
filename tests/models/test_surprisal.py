import numpy as np
import pytest
import torch
import transformers
from encoder_weights import needs_weights
from tiny_bert import TEXTS, tiny_bert, tiny_distilbert

from bemps.errors import InputError
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.adapted_surprisal import AdaptedSurprisal
from bemps.models.text.pretrained import load_module, load_tokenizer
from bemps.models.text.surprisal import Surprisal


class Interrupted(Exception):
    pass


def losses_by_hand(folder, text, masked_places=()):
    """-log p of every token of one text, from the logits of the whole model."""
    tokenizer = load_tokenizer(folder)
    module = load_module(transformers.AutoModelForMaskedLM, folder, seed=0, device=torch.device("cpu"))
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    seen = ids.clone()
    seen[0, list(masked_places)] = tokenizer.mask_token_id
    with torch.no_grad():
        return -module(seen).logits.log_softmax(dim=-1)[0, torch.arange(ids.shape[1]), ids[0]].numpy()


@pytest.fixture(scope="module")
def rows():
    return Surprisal(tiny_distilbert(), max_length=64).surprisal(TEXTS)


def test_rows_are_losses_of_chosen_tokens_of_norm_one(rows):
    for text, row in zip(TEXTS[:6], rows, strict=False):
        places = np.flatnonzero(row)
        losses = losses_by_hand(tiny_distilbert(), text)[places]
        assert np.allclose(row[places], losses / np.linalg.norm(losses), atol=1e-5)


def test_a_share_of_the_tokens_and_never_a_special_one(rows):
    tokenizer = load_tokenizer(tiny_distilbert())
    for text, row in zip(TEXTS, rows, strict=True):
        length = len(tokenizer(text)["input_ids"])
        places = np.flatnonzero(row)
        assert len(places) == max(1, round(0.15 * (length - 2)))
        assert 0 < places.min() <= places.max() < length - 1


def test_company_does_not_matter_and_seeds_do(rows):
    assert rows.shape == (24, 64)
    assert np.array_equal(Surprisal(tiny_distilbert(), max_length=64).surprisal(TEXTS[7:9]), rows[7:9])
    other = Surprisal(tiny_distilbert(), max_length=64, seed=1).surprisal(TEXTS)
    assert ((other > 0) != (rows > 0)).any(axis=1).mean() > 0.5


def test_masked_texts(rows):
    masked = Surprisal(tiny_distilbert(), max_length=64, masked=True).surprisal(TEXTS)
    assert np.array_equal(masked > 0, rows > 0)
    places = np.flatnonzero(masked[0])
    losses = losses_by_hand(tiny_distilbert(), TEXTS[0], places)[places]
    assert np.allclose(masked[0, places], losses / np.linalg.norm(losses), atol=1e-5)


def test_a_text_without_tokens_is_all_zero(rows):
    assert not Surprisal(tiny_distilbert(), max_length=64).surprisal([""]).any()


def test_weights_without_a_language_model_are_refused():
    with pytest.raises(InputError, match="AdaptedSurprisal"):
        Surprisal(tiny_bert(), max_length=64).surprisal(TEXTS)


def test_a_fraction_of_nothing_is_refused():
    with pytest.raises(InputError, match="fraction"):
        Surprisal(tiny_distilbert(), fraction=0.0, max_length=64).surprisal(TEXTS)


def adapted(**options):
    recipe = TrainingRecipe(learning_rate=1e-2, epochs=6, patience=None)
    return AdaptedSurprisal(TEXTS, tiny_bert(), **({"recipe": recipe, "max_length": 64} | options))


def test_an_adapted_head_learns_from_the_pool():
    source = adapted(recipe=TrainingRecipe(learning_rate=1e-2, epochs=20, patience=None))
    rows = source.surprisal(TEXTS)
    assert rows.shape == (24, 64)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    # each epoch masks other words, and each process learns another vocabulary: single losses are noisy
    losses = [epoch.train_loss for epoch in source.history.epochs]
    assert np.mean(losses[10:]) < np.mean(losses[:2])
    assert source.frequency_loss > 0


def test_an_adapted_head_is_the_same_from_the_same_seed():
    assert np.array_equal(adapted().surprisal(TEXTS), adapted().surprisal(TEXTS))
    assert not np.array_equal(adapted().surprisal(TEXTS), adapted(seed=1).surprisal(TEXTS))


def test_an_adapted_head_is_cached_and_goes_on_after_an_interruption(tmp_path):
    def interrupt(task, done, total):
        if (task, done) == ("adapt a language-model head", 2):
            raise Interrupted

    seen = []
    expected = adapted().surprisal(TEXTS)
    with pytest.raises(Interrupted):
        adapted(cache=tmp_path, progress=interrupt).surprisal(TEXTS)
    resumed = adapted(cache=tmp_path, progress=lambda *step: seen.append(step)).surprisal(TEXTS)
    assert [done for task, done, _ in seen if task.startswith("adapt")] == [3, 4, 5, 6]
    assert np.array_equal(resumed, expected)
    seen.clear()
    cached = adapted(cache=tmp_path, progress=lambda *step: seen.append(step)).surprisal(TEXTS)
    assert not [task for task, _, _ in seen if task.startswith("adapt")]
    assert np.array_equal(cached, expected)


def test_a_pool_of_one_text_cannot_adapt():
    with pytest.raises(InputError, match="at least 2 texts"):
        AdaptedSurprisal(TEXTS[:1], tiny_bert(), max_length=64).surprisal(TEXTS)


def test_minilm_adapts_better_than_token_frequencies():
    needs_weights("minilm")
    recipe = TrainingRecipe(learning_rate=1e-3, epochs=2, patience=None)
    source = AdaptedSurprisal(TEXTS * 2, recipe=recipe, max_length=64)
    assert source.surprisal(TEXTS[:4]).shape == (4, 64)
    assert source.history.best.valid_loss < source.frequency_loss
