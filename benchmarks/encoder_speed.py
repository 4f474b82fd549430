"""How fast text encoders read: ours by onnxruntime, beside torch and sentence-transformers, on the same texts."""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from bemps.limits import limits
from bemps.models.encoders import TEXT_ENCODERS, OnnxTextEncoder, find_weights
from benchmarks.training_cost import sentences

TEXTS = 256
REPEATS = 3
Encode = Callable[[list[str]], object]


def speeds() -> list[tuple[str, float | None, str]]:
    """(what, texts a second of one core, note); the best of some rounds, in which every encoder has its turn."""
    texts, _ = sentences(TEXTS)
    rows = list(_encoders())
    taken: dict[str, list[float]] = {name: [] for name, encode, _ in rows if encode is not None}
    with limits(threads=1):
        for _ in range(REPEATS + 1):  # the first round loads the weights
            for name, encode, _ in rows:
                if encode is not None:
                    start = time.process_time()
                    encode(texts)
                    taken[name].append(time.process_time() - start)
    return [(name, TEXTS / min(taken[name][1:]) if name in taken else None, note) for name, _, note in rows]


def _encoders() -> Iterator[tuple[str, Encode | None, str]]:
    yield "MiniLM, sentence-transformers, 32 bits", *_sentence_transformers()
    yield "MiniLM, `TextEncoder` (torch), 32 bits", *_torch()
    yield "MiniLM, `OnnxTextEncoder`, 32 bits", *_onnx("minilm", 32)
    for name in sorted(TEXT_ENCODERS):
        yield f"`{name}`, `OnnxTextEncoder`", *_onnx(name)


def _onnx(name: str, bits: int | None = None) -> tuple[Encode | None, str]:
    if find_spec("onnxruntime") is None:
        return None, "onnxruntime is not installed"
    if find_weights(name) is None:
        return None, f"bemps weights {name}"
    return OnnxTextEncoder(name, bits=bits).embeddings, "" if bits else TEXT_ENCODERS[name].about


def _torch() -> tuple[Encode | None, str]:
    if find_spec("transformers") is None or find_weights("minilm") is None:
        return None, "transformers or the weights of minilm are not here"
    from bemps.models.encoders.text_encoder import TextEncoder

    return TextEncoder(device="cpu").embeddings, ""


def _sentence_transformers() -> tuple[Encode | None, str]:
    if find_spec("sentence_transformers") is None or find_weights("minilm") is None:
        return None, "sentence-transformers or the weights of minilm are not here"
    import torch
    from sentence_transformers import SentenceTransformer

    from bemps.models.text.pretrained import locate

    torch.set_num_threads(1)
    model = SentenceTransformer(locate("minilm"), device="cpu")
    return model.encode, ""
