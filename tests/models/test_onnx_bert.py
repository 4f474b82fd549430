"""Encoders that come as ONNX files, as networks of torch."""

import numpy as np
import pytest
from tiny_bert import TEXTS

from bemps.errors import InputError
from bemps.models.encoders import OnnxTextEncoder
from bemps.models.encoders.encoder_table import TEXT_ENCODERS
from bemps.models.encoders.text_encoder import TextEncoder
from bemps.models.encoders.weight_files import find_weights
from bemps.models.text import onnx_bert
from bemps.models.text.pretrained import locate


@pytest.fixture(params=["bge-small", "gte-small"])
def weights(request, tmp_path, monkeypatch):
    """A folder of weights with the real files of an encoder in it, where they are on this machine."""
    paths = find_weights(request.param)
    if paths is None:
        pytest.skip(f"bemps weights {request.param}")
    folder = tmp_path / "weights"
    (folder / request.param).mkdir(parents=True)
    for name, path in paths.items():
        (folder / request.param / name).symlink_to(path)
    monkeypatch.setenv("BEMPS_WEIGHTS", str(folder))
    return request.param


def test_torch_says_what_the_file_says(weights):
    ours = TextEncoder(weights, pooling=TEXT_ENCODERS[weights].pooling, device="cpu").embeddings(TEXTS)
    theirs = OnnxTextEncoder(weights).embeddings(TEXTS)
    cosines = (ours * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.min() > (0.99 if weights == "bge-small" else 0.999999)


def test_the_folder_is_made_once(weights, monkeypatch):
    first = locate(weights)
    monkeypatch.setattr(onnx_bert, "_module", None)
    assert locate(weights) == first


def test_a_network_that_says_something_else_is_not_kept(weights, monkeypatch):
    state = onnx_bert.bert_state

    def wrong(model):
        found = state(model)
        turned = {name: value.T.contiguous() for name, value in found.items() if name.endswith("self.value.weight")}
        return found | turned

    monkeypatch.setattr(onnx_bert, "bert_state", wrong)
    with pytest.raises(InputError, match="cosine"):
        locate(weights)
    monkeypatch.setattr(onnx_bert, "bert_state", state)
    assert locate(weights)


def test_a_file_without_some_weights_is_refused(weights, monkeypatch):
    state = onnx_bert.bert_state
    monkeypatch.setattr(
        onnx_bert, "bert_state", lambda model: {k: v for k, v in state(model).items() if "layer.3.output" not in k}
    )
    with pytest.raises(InputError, match="missing"):
        locate(weights)
