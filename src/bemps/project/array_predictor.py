"""Predict classes with a model that bemps wrote as plain arrays.

Needs NumPy. A model with an encoder.onnx also needs onnxruntime and tokenizers. It needs neither bemps nor scikit-learn
nor torch. This file stands in the folder of the model as predict.py:

    from predict import Model

    model = Model()                                      # the folder of this file, or Model("another/folder")
    model.predict(["The page does not open"])            # a row for each text, a column for each of model.classes

    python predict.py "The page does not open"           # the same from the command line, as JSON
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

WORD = re.compile(r"(?u)\b\w+\b|[?!]")


class Model:
    """A classifier of texts, or of vectors where the encoder of the model cannot be written down."""

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

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probability of every class: a row for each text."""
        if isinstance(texts, str):
            raise TypeError("expected a list of texts; got one text. Put it into a list: predict([text]).")
        if not len(texts):
            return np.zeros((0, len(self.classes)))
        if not self.about["texts"]:
            raise ValueError(f"this model takes vectors: predict_vectors. {self.about['vectors']}")
        return self.predict_vectors(self.vectors(texts))

    def predict_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return the probability of every class: the mean over the members of the model."""
        logits = np.einsum("nd,dek->nek", vectors, self.arrays["weights"]) + self.arrays["offsets"]
        logits -= logits.max(axis=2, keepdims=True)
        odds = np.exp(logits)
        mean: np.ndarray = (odds / odds.sum(axis=2, keepdims=True)).mean(axis=1)
        return mean

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts: what the encoder says, the words, or both side by side."""
        views = []
        if self.about["encoder"]:
            views += np.split(np.stack([self._encoded(text) for text in texts]), len(self.about["layers"]), axis=1)
        if self.about["words"]:
            views.append(np.stack([self._word_vector(text) for text in texts]))
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

    def _encoded(self, text: str) -> np.ndarray:
        if self._encode is None:
            self._encode = self._encoder()
        return self._encode(text)

    def _encoder(self) -> Callable[[str], np.ndarray]:
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
            return np.concatenate([vector / max(float(np.linalg.norm(vector)), 1e-12) for vector in pooled])

        return encode

    def _graph(self) -> Callable[[list[int]], list[np.ndarray]]:
        """The states of the layers by onnxruntime."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        path = str(self.folder / "encoder.onnx")
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [node.name for node in session.get_inputs()]

        def states_of(ids: list[int]) -> list[np.ndarray]:
            tokens = np.array([ids], dtype=np.int64)
            inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": 0 * tokens}
            states = session.run(self.about["layers"], {name: inputs[name] for name in names})
            return [rows[0] for rows in states]

        return states_of


def _load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def main() -> None:
    """Print the classes of the texts on the command line."""
    if len(sys.argv) < 2:
        sys.exit('usage: python predict.py "a text" "another text"')
    model = Model()
    for text, probs in zip(sys.argv[1:], model.predict(sys.argv[1:]).tolist(), strict=True):
        by_class = dict(zip(model.classes, (round(prob, 6) for prob in probs), strict=True))
        line = {"text": text, "label": max(by_class, key=by_class.__getitem__), "probabilities": by_class}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
