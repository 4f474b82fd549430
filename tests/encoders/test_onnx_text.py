"""Vectors by onnxruntime: of the right form, a function of the text alone, and near those of torch in 32 bits."""

import json
import os
import shutil

import numpy as np
import pytest

import bemps
from bemps.encoders import OnnxTextEncoder, find_weights
from bemps.encoders.graph_outputs import with_outputs
from bemps.errors import InputError

pytest.importorskip("onnxruntime")
TEXTS = [
    "What is the capital of Austria?",
    "The battery does not charge any more, please help.",
    "We propose a new method for active learning and compare it with five others.",
    "",
    "A gripping film " * 100,
]


def weights_or_skip(name: str) -> None:
    if find_weights(name) is None:
        assert not os.environ.get("BEMPS_REQUIRE_ALL"), f"bemps weights {name} was not run"
        pytest.skip(f"the weights of {name} are not here: bemps weights {name}")


@pytest.fixture(scope="module")
def encoder() -> OnnxTextEncoder:
    weights_or_skip("bge-small")
    return OnnxTextEncoder(layer=(-1, 6))


def test_layers_stand_side_by_side_each_of_norm_one(encoder):
    vectors = encoder.embeddings(TEXTS)
    assert vectors.shape == (5, 768)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.reshape(5, 2, 384), axis=2), 1, rtol=1e-5)


def test_a_vector_depends_on_its_text_alone(encoder):
    together = encoder.embeddings(TEXTS)
    np.testing.assert_array_equal(together, np.vstack([encoder.embeddings([text]) for text in TEXTS]))
    with bemps.limits(threads=2):
        np.testing.assert_array_equal(together, encoder.embeddings(TEXTS))


def test_nothing_in_nothing_out(encoder):
    assert encoder.embeddings([]).shape == (0, 768)


def test_texts_of_one_meaning_are_near(encoder):
    vectors = OnnxTextEncoder().embeddings(
        ["How do I reset my password?", "I forgot my password.", "The soup was cold and salty."]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.05


def test_progress_reaches_the_end_once(encoder):
    steps: list[tuple[str, int, int]] = []
    OnnxTextEncoder(progress=lambda *step: steps.append(step)).embeddings(TEXTS * 30)
    assert [done for _, done, _ in steps] == sorted({done for _, done, _ in steps})
    assert steps[-1] == ("embed", 150, 150)


def test_the_layers_of_minilm_are_those_of_torch():
    weights_or_skip("minilm")
    torch_encoders = pytest.importorskip("bemps.members.encoders")
    exact = torch_encoders.TextEncoder(layer=(-1, 4), device="cpu", max_length=128).embeddings(TEXTS)
    fast = OnnxTextEncoder("minilm", layer=(-1, 4), max_length=128).embeddings(TEXTS)
    cosines = (exact.reshape(5, 2, 384) * fast.reshape(5, 2, 384)).sum(2)
    assert cosines.min() > 0.96  # 8 bits instead of 32
    assert cosines.mean() > 0.98


@pytest.mark.parametrize("layer", [0, 13, -13])
def test_a_layer_that_is_not_there_is_refused(encoder, layer):
    with pytest.raises(InputError, match="1 to 12"):
        OnnxTextEncoder(layer=layer).embeddings(["a"])


@pytest.mark.parametrize(("items", "got"), [("one text", "one string"), (["a", 3], "a int")])
def test_what_is_no_list_of_texts_is_refused(encoder, items, got):
    with pytest.raises(InputError, match=got):
        encoder.embeddings(items)


def test_a_local_folder_is_an_encoder(encoder, tmp_path):
    paths = find_weights("bge-small")
    assert paths is not None
    for name, path in paths.items():
        shutil.copy(path, tmp_path / name)
    with pytest.raises(InputError, match=r"Copy the config.json"):
        OnnxTextEncoder(tmp_path).embeddings(["a"])
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 12, "hidden_size": 384}))
    own = OnnxTextEncoder(tmp_path, layer=(-1, 6), pooling="cls")
    np.testing.assert_array_equal(own.embeddings(TEXTS[:2]), encoder.embeddings(TEXTS[:2]))
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(InputError, match="expected weights that can be loaded"):
        OnnxTextEncoder(tmp_path, pooling="cls").embeddings(["a"])


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected model.onnx and tokenizer.json; got no model.onnx"):
        OnnxTextEncoder(tmp_path).embeddings(["a"])
    with pytest.raises(InputError, match="one of bge-small"):
        OnnxTextEncoder(tmp_path / "nowhere").embeddings(["a"])


def test_no_further_outputs_leave_a_graph_as_it_is():
    assert with_outputs(b"graph", []) == b"graph"
    long_name = "n" * 200  # longer than one byte of length
    appended = with_outputs(b"", [long_name])
    assert appended[0] == 7 << 3 | 2
    assert long_name.encode() in appended
