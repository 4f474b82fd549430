"""Partial fine-tuning is full fine-tuning with frozen lower layers, computed once."""

import numpy as np
import pytest
import torch
import transformers
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert, tiny_distilbert
from torch import nn

from bemps.errors import InputError
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.hidden_store import HiddenStore
from bemps.models.text.partial_finetuning import LowerLayers, PartialBackbone, layers_of
from bemps.models.text.text_classifier import TextClassifier
from bemps.models.text.text_networks import WholeBackbone

CPU = torch.device("cpu")
RECIPE = TrainingRecipe(learning_rate=3e-3, epochs=5, patience=None)


class FrozenBelow(WholeBackbone):
    """The slow way: the whole network, its embeddings and lower layers frozen and without dropout."""

    def __init__(self, whole, top):
        super().__init__(whole.name, head=whole.head, dropout=None, max_length=whole.max_length, device=CPU)
        self.top = top

    def network(self, K, seed):
        network = super().network(K, seed)
        frozen = [network.encoder.embeddings, *layers_of(network.encoder)[: -self.top]]
        for part in frozen:
            part.requires_grad_(False)
        plain = network.train

        def train(mode=True):
            plain(mode)
            for part in frozen:
                part.eval()
            return network

        network.train = train
        return network


def classifier(folder, head, top, **options):
    return TextClassifier(
        folder,
        members=2,
        head=head,
        top_layers=top,
        recipe=RECIPE,
        validation="dynamic",
        max_length=32,
        batch_size=6,
        **options,
    )


@pytest.mark.parametrize(
    ("folder", "head", "top"), [(tiny_distilbert, "own", 1), (tiny_bert, "own", 3), (tiny_bert, "mean", 2)]
)
def test_the_same_as_the_whole_network_with_frozen_layers(folder, head, top):
    partial = classifier(folder(), head, top)
    slow = classifier(folder(), head, None)
    whole = WholeBackbone(folder(), head=head, dropout=None, max_length=32, device=CPU)
    slow._backbone = FrozenBelow(whole, top)
    for model in (partial, slow):
        model.fit(TEXTS, LABELS, CLASSES, np.random.default_rng(0))
    for one, other in zip(partial.histories, slow.histories, strict=True):
        assert [epoch.train_loss for epoch in one.epochs] == pytest.approx(
            [epoch.train_loss for epoch in other.epochs], abs=1e-4
        )
    assert np.allclose(partial.predict(TEXTS), slow.predict(TEXTS), atol=1e-4)


def test_states_are_computed_once_and_kept_on_disk(tmp_path):
    def model(seen):
        return classifier(tiny_distilbert(), "own", 1, cache=tmp_path, progress=lambda *step: seen.append(step))

    def prepared(seen):
        return [step for step in seen if step[0] == "prepare"]

    first, second = [], []
    probs = model(first).fit(TEXTS[:12], LABELS[:12], CLASSES, np.random.default_rng(0)).predict(TEXTS)
    assert prepared(first) == [("prepare", 12, 12), ("prepare", 12, 12)]
    again = model(second).fit(TEXTS[:12], LABELS[:12], CLASSES, np.random.default_rng(0)).predict(TEXTS)
    assert prepared(second) == []
    assert np.array_equal(probs, again)


def test_what_was_asked_before_changes_nothing():
    """Retraining gives the same numbers whether or not the pool was seen first."""
    fresh = classifier(tiny_distilbert(), "own", 1)
    used = classifier(tiny_distilbert(), "own", 1)
    used.fit(TEXTS[10:], LABELS[10:], CLASSES, np.random.default_rng(5)).predict(TEXTS[::-1])
    answers = [
        model.fit(TEXTS[:12], LABELS[:12], CLASSES, np.random.default_rng(0)).predict(TEXTS) for model in (fresh, used)
    ]
    assert np.allclose(*answers, atol=1e-6)


def test_the_cache_follows_the_weights(tmp_path):
    rows = [[2, 10, 11, 3]]

    def states(folder):
        lower = LowerLayers(folder, 1, tmp_path, CPU)
        return lower.inputs(rows, 0, lambda done, total: None).states[0]

    assert states(tiny_bert()).shape == states(tiny_distilbert()).shape == (4, 32)
    assert not np.allclose(states(tiny_bert()), states(tiny_distilbert()))
    assert len(list(tmp_path.glob("*.npy"))) == 2


def test_a_store_is_found_again_and_torn_segments_are_not(tmp_path, monkeypatch):
    store = HiddenStore(tmp_path)
    states = [np.full((n, 3), n, dtype=np.float32) for n in (2, 5)]
    store.add(["two", "five"], states)
    (tmp_path / "torn.npy").write_bytes(b"half a segment")
    found = HiddenStore(tmp_path)
    assert "two" in found
    assert "torn" not in found
    assert np.array_equal(found["five"], states[1])
    monkeypatch.setattr("bemps.models.text.hidden_store.SMALL", 0)
    assert isinstance(HiddenStore(tmp_path)["five"], np.memmap)


def test_a_temporary_store_goes_with_its_owner():
    store = HiddenStore()
    folder = store.folder
    assert folder.is_dir()
    del store
    assert not folder.exists()


@pytest.mark.parametrize("top", [0, 4])
def test_layers_that_are_not_there_are_refused(top):
    with pytest.raises(InputError, match="1 to 3 layers"):
        LowerLayers(tiny_bert(), top, None, CPU)


def test_other_architectures_are_refused():
    config = transformers.GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=10)
    with pytest.raises(InputError, match="BERT-like"):
        layers_of(transformers.GPT2Model(config))


def test_a_cut_that_changes_the_answer_is_refused(monkeypatch):
    """An encoder that does something between its embeddings and its layers cannot be cut there."""
    whole = WholeBackbone(tiny_bert(), head="own", dropout=None, max_length=32, device=CPU)
    monkeypatch.setattr("bemps.models.text.partial_finetuning.keep_top", _disturbed)
    with pytest.raises(InputError, match="run apart"):
        PartialBackbone(whole, top=1, cache=None)


def _disturbed(network, top):
    layers = layers_of(network.encoder)
    del layers[:-top]
    network.encoder.embeddings = _Doubling()
    return network


class _Doubling(nn.Module):
    def forward(self, *args, **kwargs):
        given = [*args, *kwargs.values()]
        return next(value for value in given if isinstance(value, torch.Tensor) and value.is_floating_point()) + 1
