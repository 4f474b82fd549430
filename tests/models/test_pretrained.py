import huggingface_hub.constants
import pytest
import torch
import transformers
from encoder_weights import needs_weights
from tiny_bert import tiny_bert, tiny_distilbert

from bemps.errors import InputError
from bemps.models.encoders.weight_files import MissingWeights
from bemps.models.text import pretrained
from bemps.models.text.pretrained import load_module, load_tokenizer, load_with_missing, locate

CPU = torch.device("cpu")


def test_a_model_that_is_not_there_says_what_to_do(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError) as caught:
        load_tokenizer("distilbert-base-uncased-that-nobody-has")
    assert "hf download distilbert-base-uncased-that-nobody-has --local-dir FOLDER" in str(caught.value)
    assert "'minilm', whose weights come with: bemps weights minilm" in str(caught.value)


def test_an_empty_folder_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"a folder with config\.json"):
        load_module(transformers.AutoModel, tmp_path, seed=0, device=CPU)


def test_minilm_without_its_weights_names_the_command(monkeypatch):
    monkeypatch.setattr(pretrained, "require_weights", lambda name: (_ for _ in ()).throw(MissingWeights(name)))
    with pytest.raises(MissingWeights, match="bemps weights minilm"):
        locate("minilm")


def test_an_encoder_of_another_kind_is_not_fine_tuned():
    needs_weights("multilingual")
    with pytest.raises(InputError, match="an encoder of another kind"):
        locate("multilingual")


def test_only_the_head_is_drawn_and_by_the_seed():
    auto = transformers.AutoModelForSequenceClassification
    first, second, third = (
        load_module(auto, tiny_distilbert(), seed=seed, device=CPU, num_labels=3) for seed in (1, 1, 2)
    )
    assert torch.equal(first.classifier.weight, second.classifier.weight)
    assert not torch.equal(first.classifier.weight, third.classifier.weight)
    assert all(
        torch.equal(a, b) for a, b in zip(first.distilbert.parameters(), third.distilbert.parameters(), strict=True)
    )


def test_loading_leaves_the_random_state_alone():
    before = torch.random.get_rng_state()
    load_module(transformers.AutoModel, tiny_bert(), seed=5, device=CPU)
    assert torch.equal(before, torch.random.get_rng_state())


def test_missing_weights_are_named():
    auto = transformers.AutoModelForMaskedLM
    assert load_with_missing(auto, tiny_distilbert(), seed=0, device=CPU)[1] == []
    assert "cls.predictions.bias" in load_with_missing(auto, tiny_bert(), seed=0, device=CPU)[1]
