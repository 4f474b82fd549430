"""A model as plain arrays: a folder for production that needs neither bemps nor pickle.

model.json        classes, and how vectors are made
model.npz         weights and offsets of the members; the weights of words and their directions
vocabulary.json   the words, where there are any
encoder.onnx      the encoder of texts, with tokenizer.json, where there is one
predict.py        `bemps.project.array_predictor`, which reads all of it
README.md         how to use it
"""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.files import mark_folder
from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.models.base import take
from bemps.models.content_models import ContentLaplace, TextAndWords, TextVectors, TfidfVectors
from bemps.models.encoders import OnnxTextEncoder
from bemps.models.encoders.tfidf import TfidfEncoder
from bemps.project import array_predictor

KIND = "model arrays"
FORMAT = 1
About = dict[str, Any]


def write_arrays(learner: ActiveLearner, folder: Path, *, title: str = "") -> None:
    """Write the fitted model of a learner as plain arrays.

    Parameters
    ----------
    learner : ActiveLearner
        A learner whose model has a linear head, as `tfidf`, `minilm-words` and `bge-words` have.
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
    if not isinstance(model, ContentLaplace):
        fix = "Choose a model with a linear head, or export the model as it is (what='model')."
        raise InputError("model arrays", expected="a linear head", got=type(model).__name__, fix=fix)
    learner.predict(
        take(learner.items, np.array([0]))
    )  # fitted to the labels as they are; refuses where there are too few
    weights, offsets = model.folded_members()
    arrays = {"weights": weights, "offsets": offsets}
    folder.mkdir()
    about = _encoder(model.encode, folder, arrays)
    about = {"format": FORMAT, "bemps": metadata.version("bemps"), "classes": list(learner.classes), **about}
    (folder / "model.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    np.savez(folder / "model.npz", allow_pickle=False, **arrays)
    (folder / "predict.py").write_bytes(Path(array_predictor.__file__).read_bytes())
    (folder / "README.md").write_text(_readme(about, title), encoding="utf-8")
    mark_folder(folder, KIND)


def _encoder(encode: Any, folder: Path, arrays: dict[str, Any]) -> About:
    """How contents become vectors; writes the files that takes."""
    about: About = {"texts": True, "encoder": None, "layers": [], "poolings": [], "words": False, "scales": [1.0]}
    if isinstance(encode, TfidfVectors):
        return about | {"words": True} | _words(encode.fitted(), folder, arrays)
    if isinstance(encode, TextAndWords):
        about |= {"words": True, "scales": encode.scales} | _words(encode.words(), folder, arrays)
    elif not isinstance(encode, TextVectors):
        return about | {"texts": False, "vectors": f"They are made by bemps: {type(encode).__name__}."}
    return about | _graph(encode.text_encoder(), folder)


def _words(encoder: TfidfEncoder, folder: Path, arrays: dict[str, Any]) -> About:
    words, idf, directions = encoder.arrays()
    (folder / "vocabulary.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    arrays |= {"idf": idf, "directions": directions.astype(np.float32)}
    return {}


def _graph(encoder: OnnxTextEncoder, folder: Path) -> About:
    """An encoder for onnxruntime."""
    parts = encoder.parts()
    (folder / "encoder.onnx").write_bytes(parts.graph)
    (folder / "tokenizer.json").write_text(parts.tokenizer, encoding="utf-8")
    how = {"layers": parts.outputs, "poolings": parts.poolings, "max_length": encoder.max_length}
    return {"encoder": "encoder.onnx"} | how


def _readme(about: About, title: str) -> str:
    packages = ["numpy", *(["tokenizers", "onnxruntime"] if about["encoder"] else [])]
    items = '["a text"]' if about["texts"] else "vectors"
    call = "predict" if about["texts"] else "predict_vectors"
    lines = [
        f"# {title or 'A classifier'}",
        "",
        f"Classes: {', '.join(about['classes'])}.",
        "",
        "```python",
        f"from predict import Model  # needs {', '.join(packages)}",
        "",
        "model = Model()",
        f"model.{call}({items})  # the probability of every class of model.classes, a row for each item",
        "```",
        "",
        *([f"Vectors: {about['vectors']}", ""] if not about["texts"] else []),
        f"Written by bemps {about['bemps']}: plain arrays and JSON, no pickle. predict.py may be copied and changed.",
        "",
    ]
    return "\n".join(lines)
