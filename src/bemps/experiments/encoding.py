"""Vectors of frozen encoders, computed once per dataset before the cells start.

Items are encoded in parts of a fixed size, one thread each, so that the vectors are the same to the last bit whatever
the number of workers, and a run that was killed goes on with the next part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bemps.data import Images
from bemps.data.checksums import is_intact, remove_with_checksum
from bemps.errors import InputError, MissingExtra, unknown_name
from bemps.experiments.material import IMAGES, PARTS, PLAIN, SURPRISAL, cache_of, raw, write_array
from bemps.experiments.models import ModelEntry
from bemps.members.text_views import BGE_LAYERS, LAYERS, MEANING, side_by_side, spreads, views_of
from bemps.types import Array

PART = 512
AUTO = {"text": "minilm", "image": "efficientnet", "array": PLAIN}


@dataclass(frozen=True)
class Encoding:
    """An encoder of one kind of items.

    make   what encodes items one by one; without it the vectors are fitted on the pool (TF-IDF)
    first  the columns of the first of two views (`bemps.members.text_views`): the words are put beside
    holds  the form that these columns are by themselves: it is put down too, for runs that share the folder
    """

    kind: str
    make: Callable[[], Any] | None = None
    first: int | None = None
    holds: str | None = None


def _minilm(layer: int | tuple[int, ...] = -1) -> Any:
    try:
        from bemps.members.encoders import TextEncoder
    except ImportError as cause:
        raise MissingExtra("the text encoder MiniLM", "text", cause) from cause
    return TextEncoder(layer=layer, device="cpu")


def _bge(layer: int | tuple[int, ...] = -1) -> Any:
    from bemps.encoders import OnnxTextEncoder

    return OnnxTextEncoder("bge-small", layer=layer)


def _efficientnet() -> Any:
    try:
        from bemps.members.backbones import EfficientNetLite0
    except ImportError as cause:
        raise MissingExtra("the image encoder EfficientNet-Lite0", "vision", cause) from cause
    return EfficientNetLite0(device="cpu")


ENCODINGS = {
    "minilm": Encoding("text", _minilm),
    "minilm-words": Encoding("text", lambda: _minilm(LAYERS), MEANING, holds="minilm"),
    "bge": Encoding("text", _bge),
    "bge-words": Encoding("text", lambda: _bge(BGE_LAYERS), MEANING, holds="bge"),
    "tfidf": Encoding("text"),
    "efficientnet": Encoding("image", _efficientnet),
}


def form_of(entry: ModelEntry, options: dict[str, Any], kind: str) -> str:
    """What a model learns from: plain rows or texts, images as they are, or the vectors of an encoder."""
    if entry.reads in ("text", "image"):
        _refuse_kind(entry, kind)
        return PLAIN if kind == "text" else IMAGES
    name = str(options.get("encoder", "auto")) if entry.encoded else PLAIN
    name = AUTO[kind] if name == "auto" else name
    fitting = [form for form, encoding in ENCODINGS.items() if encoding.kind == kind]
    fitting += [PLAIN] if kind != "text" or not entry.encoded else []
    if name not in fitting:
        raise unknown_name(f"encoder of {kind} items", name, fitting)
    return name


def views(form: str, entry: ModelEntry) -> dict[str, int]:
    """What tells a model that its vectors are two views."""
    first = ENCODINGS[form].first if form in ENCODINGS else None
    return {"first": first} if first is not None and "first" in entry.options else {}


def _refuse_kind(entry: ModelEntry, kind: str) -> None:
    if entry.reads != kind:
        raise InputError(
            "model", expected=f"{entry.reads} items for it ({entry.help})", got=kind, fix="Choose another."
        )


@cache
def _encoder(form: str) -> Any:
    make = ENCODINGS[form].make
    assert make is not None
    return make()


def parts_of(form: str, folder: Path, sizes: dict[str, int]) -> list[tuple[Path, str, str, int]]:
    """The arguments of `encode_part` for all that is still missing."""
    missing = [part for part in PARTS if not is_intact(folder / form / f"{part}.npy")]
    if ENCODINGS[form].make is None:
        return [(folder, form, "pool", 0)] if missing else []
    work = [(folder, form, part, start) for part in missing for start in range(0, sizes[part], PART)]
    return [one for one in work if not is_intact(_place(*one))]


def encode_part(folder: Path, form: str, part: str, start: int) -> list[str]:
    """Vectors of one part of the items; of everything for an encoder that is fitted on the pool."""
    encoding = ENCODINGS[form]
    if encoding.make is None:
        _encode_by_words(folder, form)
        return []
    items: Any = raw(folder, part)
    stop = min(start + PART, len(items))
    some = items.take(np.arange(start, stop)) if isinstance(items, Images) else items[start:stop]
    rows = _encoder(form).embeddings(some)
    if encoding.holds is not None and not is_intact(folder / encoding.holds / f"{part}.npy"):
        write_array(_place(folder, encoding.holds, part, start), rows[:, : encoding.first])
    write_array(_place(folder, form, part, start), rows)
    return []


def join_parts(form: str, folder: Path, sizes: dict[str, int]) -> None:
    """One array for each of pool and test, in place of the parts."""
    wholes = {part: folder / form / f"{part}.npy" for part in PARTS}
    places = {part: [_place(folder, form, part, start) for start in range(0, sizes[part], PART)] for part in PARTS}
    if not all(map(is_intact, wholes.values())):
        _refuse_missing([place for some in places.values() for place in some])
        joined = [np.concatenate([np.load(place) for place in places[part]]) for part in PARTS]
        if ENCODINGS[form].first is not None:
            joined = _with_words(folder, *joined)
        for whole, rows in zip(wholes.values(), joined, strict=True):
            write_array(whole, rows)
    for place in (place for some in places.values() for place in some):
        remove_with_checksum(place)


def _place(folder: Path, form: str, part: str, start: int) -> Path:
    return folder / form / f"{part}-{start:08d}.npy"


def _refuse_missing(places: list[Path]) -> None:
    gone = [str(place) for place in places if not is_intact(place)]
    if gone:
        raise InputError("vectors", expected="every part", got=f"no {gone[0]}", fix="Run the same command again.")


def _encode_by_words(folder: Path, form: str) -> None:
    for part, rows in zip(PARTS, _words(folder), strict=True):
        write_array(folder / form / f"{part}.npy", rows.astype(np.float32))


def _with_words(folder: Path, pool: Array, test: Array) -> list[Array]:
    words = _words(folder)
    scales = spreads(views_of(pool, words[0]))
    return [side_by_side(layers, some, scales) for layers, some in zip((pool, test), words, strict=True)]


def _words(folder: Path) -> list[Array]:
    """TF-IDF vectors of pool and test, fitted on the pool."""
    from bemps.members.tfidf import tfidf_vectors

    pool, test = (raw(folder, part) for part in PARTS)
    assert isinstance(pool, list)
    assert isinstance(test, list)
    encode = tfidf_vectors(pool, rng=np.random.default_rng(0))
    return [encode(pool), encode(test)]


def prepare(folder: Path, make: Callable[..., Any], top_layers: int) -> list[str]:
    """What a fine-tuned model computes once for every text: its tokens, and the states below the layers that learn."""
    texts: list[Any] = [raw(folder, part) for part in PARTS]
    model = make(texts[0], cache_of(folder), top_layers=top_layers)
    for items in texts:
        model.prepare(items)
    return []


def write_surprisal(folder: Path) -> list[str]:
    """Surprisal vectors of the pool's texts under a language-model head adapted on them, for ALPS."""
    try:
        from bemps.members.adapted_surprisal import AdaptedSurprisal
    except ImportError as cause:
        raise MissingExtra("surprisal vectors", "text", cause) from cause
    texts: Any = raw(folder, "pool")
    model = AdaptedSurprisal(texts, cache=cache_of(folder), device="cpu")
    write_array(folder / SURPRISAL / "pool.npy", model.surprisal(texts))
    return []
