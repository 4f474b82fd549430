"""Predict classes with a model that bemps wrote as plain arrays.

Needs NumPy. A model with an encoder.onnx also needs onnxruntime; one of texts with it, tokenizers; one of images,
Pillow. It needs neither bemps nor scikit-learn nor torch. This file stands in the folder of the model as predict.py:

    from predict import Model

    model = Model()                                      # the folder of this file, or Model("another/folder")
    model.predict(["The page does not open"])            # a row for each text, a column for each of model.classes
    model.predict(["new/cat.jpg"])                       # of a model of images: their files

    python predict.py "The page does not open"           # the same from the command line, as JSON
"""

import json
import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

BROKEN = (  # what Pillow raises for files that are no images, cut or changed
    *(OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, OverflowError, MemoryError),
    *(LookupError, TypeError, AttributeError, RuntimeError, ZeroDivisionError),
)
WORD = re.compile(r"(?u)\b\w+\b|[?!]")


class Model:
    """A classifier of texts, of image files, or of vectors where the model has no encoder."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(__file__).parent if folder is None else Path(folder)
        self.about: dict[str, Any] = json.loads((self.folder / "model.json").read_text(encoding="utf-8"))
        self.classes: list[str] = self.about["classes"]
        self.arrays = _load(self.folder / "model.npz")
        self._columns: dict[str, int] = {}
        if self.about["words"]:
            words = json.loads((self.folder / "vocabulary.json").read_text(encoding="utf-8"))
            self._columns = {word: column for column, word in enumerate(words)}
        self._encode: Callable[[str], np.ndarray] | None = None
        self.tuned = Model(self.folder / "fine-tuned") if self.about["pool"] else None

    def predict(self, items: Sequence[str]) -> np.ndarray:
        """Return the probability of every class: a row for each item, which is a text or the path of an image.

        A file that is no image raises ValueError, which names it.
        """
        if isinstance(items, str):
            raise TypeError("expected a list; got one string. Put it into a list: predict([item]).")
        if not len(items):
            return np.zeros((0, len(self.classes)))
        if self.about["reads"] == "vectors":
            raise ValueError("this model takes vectors: call predict_vectors")
        mean: np.ndarray = self.member_probs(items).mean(axis=1)
        return mean

    def predict_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return the probability of every class: the mean over the members of the model."""
        if self.tuned is not None:
            raise ValueError("this model has two encoders: call predict, which takes the texts")
        mean: np.ndarray = self._linear(vectors).mean(axis=1)
        return mean

    def member_probs(self, items: Sequence[str]) -> np.ndarray:
        """Return the probabilities that each member gives: items x members x classes."""
        probs, pool = self._linear(self.vectors(items)), self.about["pool"]
        if self.tuned is None:
            return probs
        share, tuned = pool["share"], self.tuned.member_probs(items)
        mean = (1 - share) * _raised(probs, pool["first_power"]) + share * _raised(tuned, pool["second_power"])
        return _raised(mean, pool["power"])

    def _linear(self, vectors: np.ndarray) -> np.ndarray:
        return _softmax(np.einsum("nd,dek->nek", vectors, self.arrays["weights"]) + self.arrays["offsets"])

    def vectors(self, items: Sequence[str]) -> np.ndarray:
        """Return the vectors of items: of texts what the encoder says, the words, or both side by side."""
        if self.about["reads"] == "images":
            return np.stack([self._encoded(path) for path in items])
        views = []
        if self.about["encoder"]:
            views += np.split(np.stack([self._encoded(text) for text in items]), len(self.about["layers"]), axis=1)
        if self.about["words"]:
            views.append(np.stack([self._word_vector(text) for text in items]))
        return np.hstack([view / scale for view, scale in zip(views, self.about["scales"], strict=True)])

    def _word_vector(self, text: str) -> np.ndarray:
        """TF-IDF of the words and pairs of words that the model knows, along its directions."""
        words = WORD.findall(text.lower())
        terms = [*words, *(f"{first} {second}" for first, second in pairwise(words))]
        counts = Counter(self._columns[term] for term in terms if term in self._columns)
        directions = self.arrays["directions"]
        if not counts:
            return np.zeros(directions.shape[1])
        columns = np.array(list(counts))
        values = (1 + np.log(np.array(list(counts.values())))) * self.arrays["idf"][columns]
        vector: np.ndarray = values @ directions[columns] / np.linalg.norm(values)
        return vector

    def _encoded(self, item: str) -> np.ndarray:
        if self._encode is None:
            self._encode = self._image_reader() if self.about["reads"] == "images" else self._text_encoder()
        return self._encode(item)

    def _image_reader(self) -> Callable[[str], np.ndarray]:
        """A function from the path of an image to its pixels, made small, or to what the encoder says of it."""
        from PIL import Image, ImageOps

        size, bilinear = (self.about["side"], self.about["side"]), Image.Resampling.BILINEAR
        session = _session(self.folder / "encoder.onnx") if self.about["encoder"] else None

        def read(path: str) -> np.ndarray:
            try:
                with Image.open(path) as file:
                    picture = ImageOps.exif_transpose(file).convert("RGB")
            except (*BROKEN, Image.DecompressionBombError) as error:
                raise ValueError(f"{path}: expected an image that Pillow can read; got {error}") from error
            if session is None:
                return np.asarray(picture.resize(size, bilinear)).reshape(-1) / 255
            channels = [np.asarray(band.convert("F").resize(size, bilinear)) for band in picture.split()]
            pixels = (np.stack(channels)[None] - self.about["mean"]) / self.about["spread"]
            vectors: np.ndarray = session.run(None, {"images": pixels.astype(np.float32)})[0]
            return vectors[0]

        return read

    def _text_encoder(self) -> Callable[[str], np.ndarray]:
        """A function from a text to its vectors, one for each layer, side by side."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.about["max_length"])
        states_of = self._graph()

        def encode(text: str) -> np.ndarray:
            states = states_of(tokenizer.encode(text).ids)
            pooled = [
                rows[0] if pooling == "cls" else rows.mean(axis=0) if pooling == "mean" else rows
                for rows, pooling in zip(states, self.about["poolings"], strict=True)
            ]
            if not self.about["normalise"]:
                return np.concatenate(pooled)
            return np.concatenate([vector / max(float(np.linalg.norm(vector)), 1e-12) for vector in pooled])

        return encode

    def _graph(self) -> Callable[[list[int]], list[np.ndarray]]:
        """The states of the layers by onnxruntime."""
        session = _session(self.folder / "encoder.onnx")
        names = [node.name for node in session.get_inputs()]

        def states_of(ids: list[int]) -> list[np.ndarray]:
            tokens = np.array([ids], dtype=np.int64)
            inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": 0 * tokens}
            states = session.run(self.about["layers"], {name: inputs[name] for name in names})
            return [rows[0] for rows in states]

        return states_of


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=2, keepdims=True))
    probs: np.ndarray = odds / odds.sum(axis=2, keepdims=True)
    return probs


def _raised(probs: np.ndarray, power: float) -> np.ndarray:
    """The power of probabilities, scaled to sum one."""
    return _softmax(power * np.log(np.maximum(probs, 1e-9)))


def _load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def main() -> None:
    """Print the classes of the texts or images on the command line; those that cannot be read are named at the end."""
    if len(sys.argv) < 2:
        sys.exit('usage: python predict.py "a text" "another text", or python predict.py cat.jpg dog.jpg')
    model = Model()
    name = str(model.about["reads"])[:-1]
    problems = []
    for item in sys.argv[1:]:
        try:
            (probs,) = model.predict([item]).tolist()
        except ValueError as error:
            problems.append(str(error))
            continue
        by_class = dict(zip(model.classes, (round(prob, 6) for prob in probs), strict=True))
        line = {name: item, "label": max(by_class, key=by_class.__getitem__), "probabilities": by_class}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    if problems:
        sys.exit("Not predicted:\n" + "\n".join(problems))


if __name__ == "__main__":
    main()
