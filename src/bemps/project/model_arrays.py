"""A model as plain arrays: a folder for production that needs neither bemps nor pickle.

model.json        classes, and how vectors are made
model.npz         weights and offsets of the members; the weights of words and their directions
vocabulary.json   the words, where there are any
encoder.onnx      the encoder of texts (with tokenizer.json) or of images, where there is one
fine-tuned        a folder with the same files of the encoder that learnt from the labels, where one has a share
predict.py        `bemps.project.array_predictor`, which reads all of it
README.md         how to use it
"""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.files import mark_folder
from bemps.errors import InputError, hint
from bemps.learner import ActiveLearner
from bemps.models import image_contents
from bemps.models.base import take
from bemps.models.content_models import ContentLaplace, TextAndWords, TextVectors, TfidfVectors
from bemps.models.encoders.onnx_text import EncoderParts
from bemps.models.encoders.tfidf import TfidfEncoder
from bemps.models.image_contents import EfficientNetVectors, ImageVectors
from bemps.models.text.adapted_text import AdaptedText
from bemps.project import array_predictor

KIND = "model arrays"
FORMAT = 2
ENCODER = "encoder.onnx"
PLAIN = {"reads": "texts", "encoder": None, "layers": [], "words": False, "scales": [1.0], "pool": None}
READERS = {  # packages that predict.py needs beside NumPy, by what it reads and whether there is an encoder.onnx
    ("texts", True): ["tokenizers", "onnxruntime"],
    ("texts", False): [],
    ("images", True): ["pillow", "onnxruntime"],
    ("images", False): ["pillow"],
    ("vectors", False): [],
}
CALLS = {
    "texts": 'predict(["a text"])',
    "images": 'predict(["new/cat.jpg"])',
    "vectors": "predict_vectors(vectors)",
}
About = dict[str, Any]


def write_arrays(learner: ActiveLearner, folder: Path, *, title: str = "") -> None:
    """Write the fitted model of a learner as plain arrays.

    Parameters
    ----------
    learner : ActiveLearner
        A learner whose model has a linear head, as `tfidf`, `bge-words` and `pixels` have, with or without a fine-tuned
        encoder beside it.
    folder : path
        The folder to make.
    title : str
        What the model is called in the README.

    Raises
    ------
    InputError
        If the model has no linear head, or nothing was learnt yet.
    """
    model = learner.model
    frozen = model.frozen if isinstance(model, AdaptedText) else model
    if not isinstance(frozen, ContentLaplace):
        fix = "Choose a model with a linear head." + hint(" Or export the model as it is: {}.", "what", "model")
        raise InputError("model arrays", expected="a linear head", got=type(model).__name__, fix=fix)
    learner.predict(
        take(learner.items, np.array([0]))
    )  # fitted to the labels as they are; refuses where there are too few
    folder.mkdir()
    about: About = {"format": FORMAT, "bemps": metadata.version("bemps"), "classes": list(learner.classes), **PLAIN}
    if isinstance(model, AdaptedText) and model.pool_weights_ is not None and model.pool_weights_.share > 0:
        _write_tuned(model.tuned, about, folder / "fine-tuned")
        about["pool"] = vars(model.pool_weights_)
    about = _write_frozen(frozen, about, folder)
    (folder / "predict.py").write_bytes(Path(array_predictor.__file__).read_bytes())
    (folder / "README.md").write_text(_readme(about, title), encoding="utf-8")
    mark_folder(folder, KIND)


def _write_frozen(model: ContentLaplace, about: About, folder: Path) -> About:
    """Write a model whose encoder has not learnt, and return what the folder says of it."""
    encode, arrays = model.encode, _head(model.folded_members())
    if encode is None:
        about |= {"reads": "vectors"}
    elif isinstance(encode, ImageVectors):
        about |= {"reads": "images"} | _image_reader(encode, folder)
    if isinstance(encode, TextAndWords):
        about |= {"scales": encode.scales}
    if isinstance(encode, TfidfVectors | TextAndWords):
        words = encode.fitted() if isinstance(encode, TfidfVectors) else encode.words()
        about |= {"words": True}
        arrays |= _words(words, folder)
    if isinstance(encode, TextVectors):
        encoder = encode.text_encoder()
        about |= _graph(encoder.parts(), folder) | {"max_length": encoder.max_length, "normalise": True}
    return _save(about, arrays, folder)


def _write_tuned(model: Any, about: About, folder: Path) -> None:
    """Write a model whose encoder has learnt."""
    folder.mkdir()
    how = _graph(model.encoder_parts(), folder) | {"max_length": model.max_length, "normalise": False}
    _save(about | how, _head(model.folded_members()), folder)


def _save(about: About, arrays: dict[str, Any], folder: Path) -> About:
    (folder / "model.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    np.savez(folder / "model.npz", allow_pickle=False, **arrays)
    return about


def _head(members: tuple[Any, Any]) -> dict[str, Any]:
    weights, offsets = members
    return {"weights": weights, "offsets": offsets}


def _image_reader(encode: ImageVectors, folder: Path) -> About:
    """How images become vectors: small pixels, or a network that reads larger ones."""
    if not isinstance(encode, EfficientNetVectors):
        return {"side": image_contents.PIXELS}
    network = encode.image_encoder()
    (folder / ENCODER).write_bytes(network.graph())
    return {"encoder": ENCODER, "side": network.size, "mean": network.mean, "spread": network.spread}


def _words(encoder: TfidfEncoder, folder: Path) -> dict[str, Any]:
    words, idf, directions = encoder.arrays()
    (folder / "vocabulary.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    return {"idf": idf, "directions": directions.astype(np.float32)}


def _graph(parts: EncoderParts, folder: Path) -> About:
    """An encoder for onnxruntime."""
    (folder / ENCODER).write_bytes(parts.graph)
    (folder / "tokenizer.json").write_text(parts.tokenizer, encoding="utf-8")
    return {"encoder": ENCODER, "layers": parts.outputs, "poolings": parts.poolings}


def _readme(about: About, title: str) -> str:
    graphs = bool(about["encoder"] or about["pool"])
    packages = ["numpy", *READERS[about["reads"], graphs]]
    lines = [
        f"# {title or 'A classifier'}",
        "",
        f"Classes: {', '.join(about['classes'])}.",
        "",
        "```python",
        f"from predict import Model  # needs {', '.join(packages)}",
        "",
        "model = Model()",
        f"model.{CALLS[about['reads']]}  # the probability of every class of model.classes, a row for each item",
        "```",
        "",
        f"Written by bemps {about['bemps']}: plain arrays and JSON, no pickle. predict.py may be copied and changed.",
        "",
    ]
    return "\n".join(lines)
