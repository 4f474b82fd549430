"""Texts of a network that learns as a whole are tokenised once for all cells."""

from collections import Counter

import pytest
from encoder_weights import needs_weights
from running import Notes, bytes_of, play

from bemps.data import load
from bemps.experiments.inputs.run_data import cache_of, folder_of

AXES = {"epochs": 1, "members": 2, "top_layers": 0}


@pytest.fixture
def settings(tmp_path, data_dir):
    needs_weights("minilm")
    trec = load("trec6", data_dir=data_dir)
    lines = [f"{trec.pool.items[i]}\t{trec.classes[trec.pool.labels[i]]}" for i in range(40)]
    (tmp_path / "my.tsv").write_text("\n".join(["body\ttopic", *lines]) + "\n")
    columns = {"dataset": str(tmp_path / "my.tsv"), "text": "body", "label": "topic"}
    grid = {"model": "finetuned", "strategies": ["margin", "random"], "seeds": 1, "batch_size": 4, "budget": 4}
    return columns | grid | {"axes": AXES, "full": False}


@pytest.fixture
def tokenised(monkeypatch):
    """How often each text was given to a tokenizer."""
    from bemps.models.text import text_networks, token_store
    from bemps.models.text.tokens import tokenise

    seen = Counter()

    def counting(tokenizer, texts, max_length):
        seen.update(texts)
        return tokenise(tokenizer, texts, max_length)

    for module in (text_networks, token_store):
        monkeypatch.setattr(module, "tokenise", counting)
    return seen


def test_two_cells_tokenise_once_and_give_what_they_give_apart(tmp_path, settings, tokenised, monkeypatch):
    watcher = Notes()
    assert play(tmp_path / "shared", watcher=watcher, **settings).failures == ()
    assert ("tokens and hidden states", 1) in watcher.stages
    assert len(tokenised) == 40
    assert set(tokenised.values()) == {1}
    tokens = cache_of(folder_of(tmp_path / "shared", "my.tsv")) / "tokens"
    assert len(list(tokens.glob("*.npy"))) == 2  # pool and test
    tokenised.clear()
    monkeypatch.setattr("bemps.models.text.text_classifier.TextClassifier._cache", lambda model, what: None)
    assert play(tmp_path / "apart", **settings).failures == ()
    assert min(tokenised.values()) > 1
    assert bytes_of(tmp_path / "apart") == bytes_of(tmp_path / "shared")
