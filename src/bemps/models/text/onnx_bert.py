"""Torch weights of the encoders that come as ONNX files, so that they can be fine-tuned.

The folder that transformers reads is made once, beside the ONNX files, and used only if its network and the ONNX file
give the same vector of a text. Weights of 8 bits become the floats they stand for. Rounding is not undone, but training
starts close to the encoder.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from jaxtyping import Float

from bemps._utils.files import mark_folder, written_whole
from bemps.errors import InputError
from bemps.models.base import HasEmbeddings
from bemps.models.encoders.encoder_table import MODEL, TEXT_ENCODERS, TOKENIZER
from bemps.models.encoders.onnx_text import OnnxTextEncoder
from bemps.models.encoders.onnx_weights import read_weights
from bemps.models.encoders.weight_files import require_weights, weights_folder
from bemps.types import Array

HEAD_WIDTH = 32  # of the attention heads of all small encoders in the table
AGREEMENT = 0.97  # cosine to the ONNX file, which computes in 8 bits where its weights have them
SENTENCES = ["One text, and a second sentence of it.", "How many islands are there?"]
SPECIAL = ("pad", "unk", "cls", "sep", "mask")
FOLDER_KIND = "bemps torch weights"


def torch_folder(name: str) -> Path:
    """The folder of an encoder of the table for transformers; made where it is not there yet."""
    paths, folder = require_weights(name), weights_folder() / f"{name}-torch"
    if MODEL not in paths:
        raise _refused(name, "an encoder of another kind")
    if not folder.is_dir():
        module = _module(name, paths[MODEL])
        folder.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(folder, "weights") as draft:
            module.save_pretrained(draft)
            _tokenizer(paths[TOKENIZER]).save_pretrained(draft)
            _check(name, draft)
            mark_folder(draft, FOLDER_KIND)
    return folder


def bert_state(model: bytes) -> dict[str, torch.Tensor]:
    """The weights of a BERT in an ONNX file, by the names that transformers has for them."""
    weights = read_weights(model)
    arrays = {name: array for name, array in weights.arrays.items() if name.startswith(("embeddings.", "encoder."))}
    arrays = {name: array for name, array in arrays.items() if name.endswith((".weight", ".bias"))}
    for node, factor in weights.factors.items():
        path = node.removeprefix("/").replace("/", ".")
        if f"{path}.bias" in arrays:
            arrays[f"{path}.weight"] = factor.T
    return {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in arrays.items()}


def _module(name: str, path: Path) -> Any:
    entry, state = TEXT_ENCODERS[name], bert_state(path.read_bytes())
    words, positions = (state[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position"))
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=entry.width,
        num_hidden_layers=entry.layers,
        num_attention_heads=entry.width // HEAD_WIDTH,
        intermediate_size=len(state["encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(positions),
    )
    make: Any = transformers.BertModel
    module = make(config, add_pooling_layer=False)
    missing = module.load_state_dict(state, strict=False)
    if [key for key in missing.missing_keys if "position_ids" not in key] or missing.unexpected_keys:
        raise _refused(name, f"{missing.missing_keys[:2]} missing, {missing.unexpected_keys[:2]} unknown")
    return module.eval()


def _tokenizer(path: Path) -> Any:
    make: Any = transformers.PreTrainedTokenizerFast
    return make(tokenizer_file=str(path), **{f"{kind}_token": f"[{kind.upper()}]" for kind in SPECIAL})


def _check(name: str, folder: Path) -> None:
    """Compare the difference of two texts, because all vectors of an encoder have roughly the same direction."""
    from bemps.models.encoders.text_encoder import TextEncoder

    ours = TextEncoder(folder, pooling=TEXT_ENCODERS[name].pooling, device="cpu")
    cosine = float(np.prod([_difference(encoder) for encoder in (ours, OnnxTextEncoder(name))], axis=0).sum())
    if not cosine >= AGREEMENT:
        raise _refused(name, f"a cosine of {cosine:.3f} between the two")


def _difference(encoder: HasEmbeddings) -> Float[Array, " H"]:
    """The direction from the vector of one text to that of the other, of norm one."""
    first, second = encoder.embeddings(SENTENCES)
    direction: Array = (second - first) / np.linalg.norm(second - first)
    return direction


def _refused(name: str, got: str) -> InputError:
    return InputError(
        f"text encoder {name!r}", expected="an ONNX file of a BERT that torch can compute", got=got, fix="Use minilm."
    )
