"""Token numbers on disk: made once, found again by content, the same as without."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert, tiny_distilbert

from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.pretrained import load_tokenizer
from bemps.models.text.text_classifier import TextClassifier
from bemps.models.text.text_networks import WholeBackbone
from bemps.models.text.token_store import TokenStore, identity_of
from bemps.models.text.tokens import tokenise

CPU = torch.device("cpu")


class Counting:
    """A tokenizer that remembers the texts that it was given."""

    def __init__(self, tokenizer, seen):
        self._tokenizer, self._seen = tokenizer, seen

    def __call__(self, texts, **options):
        self._seen += texts
        return self._tokenizer(texts, **options)

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


@pytest.fixture
def seen(monkeypatch):
    texts = []
    counting = lambda name: Counting(load_tokenizer(name), texts)  # noqa: E731
    monkeypatch.setattr("bemps.models.text.text_networks.load_tokenizer", counting)
    return texts


def test_rows_are_those_of_the_tokenizer_and_lie_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("bemps.models.text.hidden_store.SMALL", 0)
    tokenizer = load_tokenizer(tiny_distilbert())
    texts = [*TEXTS, TEXTS[0], ""]
    rows = TokenStore(tokenizer, 16, tmp_path).rows(texts)
    assert [row.tolist() for row in rows] == tokenise(tokenizer, texts, 16)
    assert all(isinstance(row, np.memmap) for row in rows)
    assert TokenStore(tokenizer, 16, tmp_path).rows([]) == []


def test_texts_that_come_one_by_one_leave_no_file_open(tmp_path, monkeypatch):
    monkeypatch.setattr("bemps.models.text.hidden_store.OPEN_SEGMENTS", 8)
    store = TokenStore(load_tokenizer(tiny_distilbert()), 16, tmp_path)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    rows = [store.rows([f"text {number}"])[0] for number in range(40)]
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened + 2
    assert len(store._store._maps) == 8
    assert [row.tolist() for row in rows] == [store.rows([f"text {number}"])[0].tolist() for number in range(40)]


def test_every_text_is_tokenised_once(tmp_path, monkeypatch):
    monkeypatch.setattr("bemps.models.text.token_store.SEGMENT", 5)
    given = []
    first = TokenStore(Counting(load_tokenizer(tiny_bert()), given), 16, tmp_path)
    first.rows(TEXTS[:12])
    first.rows(TEXTS)
    second = TokenStore(Counting(load_tokenizer(tiny_bert()), given), 16, tmp_path)
    rows = second.rows(TEXTS[::-1])
    assert sorted(given) == sorted(TEXTS)
    assert [row.tolist() for row in rows] == tokenise(load_tokenizer(tiny_bert()), TEXTS[::-1], 16)


def test_another_length_or_another_vocabulary_has_other_numbers(tmp_path):
    tokenizer, other = load_tokenizer(tiny_bert()), load_tokenizer(tiny_bert())
    other.add_tokens(["invented"])
    assert len(TokenStore(tokenizer, 4, tmp_path).rows(TEXTS[:1])[0]) == 4
    assert len(TokenStore(tokenizer, 8, tmp_path).rows(TEXTS[:1])[0]) == 8
    text = ["Who invented the telephone ?"]
    known, new = (TokenStore(one, 8, tmp_path).rows(text)[0].tolist() for one in (tokenizer, other))
    assert new == tokenise(other, text, 8)[0] != known


def test_a_call_does_not_change_who_the_tokenizer_is():
    tokenizer = load_tokenizer(tiny_bert())
    before = identity_of(tokenizer, 16)
    tokenizer(TEXTS, truncation=True, max_length=7, padding=True)
    assert identity_of(tokenizer, 16) == before


@pytest.mark.parametrize("top", [None, 1])
def test_models_with_one_cache_tokenise_once_and_say_what_they_say_without(tmp_path, seen, top):
    def answer(cache):
        model = TextClassifier(
            tiny_distilbert(), members=2, top_layers=top, recipe=TrainingRecipe(epochs=2, learning_rate=1e-3),
            max_length=32, cache=cache,
        )  # fmt: skip
        return model.fit(TEXTS[:12], LABELS[:12], CLASSES, np.random.default_rng(0)).predict(TEXTS)

    plain = answer(None)
    del seen[:]
    for _ in range(2):
        np.testing.assert_array_equal(answer(tmp_path), plain)
    assert sorted(text for text in seen if text in TEXTS) == sorted(TEXTS)


def test_without_a_folder_nothing_is_kept(seen):
    backbone = WholeBackbone(tiny_bert(), head="mean", dropout=None, max_length=16, device=CPU)
    for _ in range(2):
        assert [list(row) for row in backbone.rows(TEXTS[:2])] == tokenise(load_tokenizer(tiny_bert()), TEXTS[:2], 16)
    assert len(seen) == 4
