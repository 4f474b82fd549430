import numpy as np
import pytest
import torch
import transformers
from encoder_weights import needs_weights
from tiny_bert import TEXTS, tiny_bert, tiny_distilbert

from bemps.errors import InputError
from bemps.models.base import HasEmbeddings
from bemps.models.encoders.text_encoder import TextEncoder
from bemps.models.text.pretrained import load_module, load_tokenizer, locate


def by_hand(folder, layer, pooling):
    """One text at a time, without padding."""
    tokenizer = load_tokenizer(folder)
    module = load_module(transformers.AutoModel, folder, seed=0, device=torch.device("cpu"))
    vectors = []
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            states = module(ids, output_hidden_states=True).hidden_states[layer][0]
        vector = states[0] if pooling == "cls" else states.mean(dim=0)
        vectors.append((vector / vector.norm()).numpy())
    return np.stack(vectors)


@pytest.mark.parametrize("folder", [tiny_distilbert, tiny_bert], ids=["distilbert", "bert"])
@pytest.mark.parametrize(("layer", "pooling"), [(-1, "mean"), (1, "mean"), (-1, "cls"), (0, "mean")])
def test_pooled_states_of_a_layer(folder, layer, pooling):
    encoder = TextEncoder(folder(), layer=layer, pooling=pooling, max_length=64)
    assert np.allclose(encoder.embeddings(TEXTS), by_hand(folder(), layer, pooling), atol=1e-5)


def test_several_layers_give_their_vectors_side_by_side():
    made = TextEncoder(tiny_bert(), layer=(-1, 1), max_length=64).embeddings(TEXTS)
    alone = [TextEncoder(tiny_bert(), layer=layer, max_length=64).embeddings(TEXTS) for layer in (-1, 1)]
    assert np.array_equal(made, np.hstack(alone))


def test_without_normalising_and_with_progress():
    seen = []
    encoder = TextEncoder(tiny_bert(), normalise=False, max_length=64, progress=lambda *step: seen.append(step))
    assert np.ptp(np.linalg.norm(encoder.embeddings(TEXTS), axis=1)) > 0
    assert seen[-1] == ("embed", 24, 24)
    assert encoder.embeddings([]).shape == (0, 32)
    assert isinstance(encoder, HasEmbeddings)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"pooling": "sum"}, "pooling"),
        ({"layer": 9}, "layer"),
        ({"layer": (-1, 9)}, "layer"),
        ({"max_length": 256}, "length"),
    ],
)
def test_bad_settings_are_refused(options, match):
    with pytest.raises(InputError, match=match):
        TextEncoder(tiny_bert(), **({"max_length": 64} | options)).embeddings(TEXTS)


def test_minilm_gives_the_vectors_of_sentence_transformers():
    needs_weights("minilm")
    reference = pytest.importorskip("sentence_transformers", reason="to compare with")
    texts = [*TEXTS, " ".join(TEXTS)]
    expected = reference.SentenceTransformer(locate("minilm"), device="cpu").encode(texts, normalize_embeddings=True)
    assert np.allclose(TextEncoder("minilm").embeddings(texts), expected, atol=1e-5)
