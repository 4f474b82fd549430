"""Features of frozen encoders on disk, with the content of the items as the key.

A folder holds segments: NumPy files of (key, vector) records, memory-mapped. The name of a segment is the digest of
its bytes, and it appears in one step: processes that share a folder can at worst compute the same features twice,
and a file that was cut or changed no longer has the digest in its name.
"""

import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float

from bemps._utils.files import make_folder, written_whole
from bemps.errors import InputError
from bemps.models.base import HasEmbeddings
from bemps.types import Array

KEY_BYTES = 16
SEGMENT = 512  # items that are encoded before they are saved: what an interruption can lose


@runtime_checkable
class Rows(Protocol):
    """Items one after the other: texts, arrays, or images that are decoded on use."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class CachedEncoder:
    """An encoder that looks at every item once; call it on items, or ask for `embeddings`.

    Parameters
    ----------
    encoder : HasEmbeddings
        The encoder.
    folder : path, optional
        The folder of the vectors, for all encoders and processes. None takes a temporary folder that is removed with
        this object.
    """

    def __init__(self, encoder: HasEmbeddings, folder: Path | str | None = None) -> None:
        self.encoder, self.folder = encoder, None if folder is None else str(folder)
        if folder is None:
            folder = tempfile.mkdtemp(prefix="bemps-features-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.cache = FeatureCache(Path(folder) / digest(identity_of(encoder).encode()).hex())

    def __call__(self, items: Rows) -> Float[Array, "N H"]:
        return self.embeddings(items)

    def embeddings(self, items: Rows) -> Float[Array, "N H"]:
        """Vectors in float32, from the cache where it has them."""
        if len(items) == 0:
            return self.encoder.embeddings(cast(Any, items))
        return self.cache.rows(self.read(items))

    def read(self, items: Rows) -> list[bytes]:
        """Encode the items that the cache has not, a segment at a time, and return the keys of all."""
        keys = keys_of(items)
        new = self.cache.missing(keys)
        for start in range(0, len(new), SEGMENT):
            part = new[start : start + SEGMENT]
            new_items: Any = items[part] if isinstance(items, np.ndarray) else [items[i] for i in part]
            with self._progress_from(start, len(new)):
                vectors = self.encoder.embeddings(new_items)
            self.cache.add([keys[i] for i in part], vectors)
        return keys

    def unread(self, items: Rows) -> int:
        """How many different items have no vector yet."""
        return len(self.cache.missing(keys_of(items)))

    @contextmanager
    def _progress_from(self, start: int, total: int) -> Iterator[None]:
        """Report the encoder's progress on one part as progress on all items."""
        report = getattr(self.encoder, "progress", None)
        if report is None:
            yield
            return
        encoder: Any = self.encoder
        encoder.progress = lambda task, done, _: report(task, start + done, total)
        try:
            yield
        finally:
            encoder.progress = report


class FeatureCache:
    """Vectors by key in a folder of segments; the folder is made when the first vector comes."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._locations: dict[bytes, tuple[str, int]] = {}
        self._segments: dict[str, Float[Array, "n H"]] = {}

    def missing(self, keys: Sequence[bytes]) -> list[int]:
        """Positions of keys without a vector, each key once; looks for segments that others have added."""
        if any(key not in self._locations for key in keys):
            self._scan()
        first = {key: position for position, key in reversed(list(enumerate(keys)))}
        return sorted(position for key, position in first.items() if key not in self._locations)

    def rows(self, keys: Sequence[bytes]) -> Float[Array, "N H"]:
        """The vectors of keys that are all in the cache."""
        locations = [self._locations[key] for key in keys]
        names = np.array([name for name, _ in locations])
        at = np.array([row for _, row in locations])
        vectors = np.empty((len(keys), self._segments[names[0]].shape[1]), dtype=np.float32)
        for name in np.unique(names):
            in_segment = names == name
            vectors[in_segment] = self._segments[name][at[in_segment]]
        return vectors

    def add(self, keys: Sequence[bytes], vectors: Float[Array, "n H"]) -> None:
        """Save vectors as a segment."""
        make_folder(self.folder, "feature cache")
        record = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", "<f4", vectors.shape[1:])])
        segment = np.empty(len(keys), dtype=record)
        segment["key"], segment["vector"] = np.array(keys, dtype=f"V{KEY_BYTES}"), vectors
        content = io.BytesIO()
        np.save(content, segment)
        name = digest(content.getvalue()).hex()
        with written_whole(self.folder / f"{name}.npy", "feature cache") as draft:
            draft.write_bytes(content.getvalue())
        self._open(name)

    def _scan(self) -> None:
        for path in sorted(self.folder.glob("*.npy")):
            if path.stem not in self._segments:
                self._open(path.stem)

    def _open(self, name: str) -> None:
        """Map a segment, once its bytes are those that were written."""
        path = self.folder / f"{name}.npy"
        if digest(np.memmap(path, mode="r") if path.stat().st_size else b"").hex() != name:
            raise InputError(
                f"feature cache {path}",
                expected="the bytes that were written",
                got="others: the file was cut or changed",
                fix="Delete the file; its features will be computed again.",
            )
        segment = np.load(path, mmap_mode="r")
        self._segments[name] = segment["vector"]
        self._locations |= {key.tobytes(): (name, row) for row, key in enumerate(segment["key"])}


def keys_of(items: Rows) -> list[bytes]:
    """The keys of items, by their content."""
    return [digest(content(items[i])) for i in range(len(items))]


def digest(data: Any) -> bytes:
    """BLAKE2 of anything with bytes, short enough for a key."""
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


def content(item: Any) -> bytes:
    """The bytes of a text, or of an array with its type and shape."""
    if isinstance(item, str):
        return item.encode("utf-8", errors="surrogatepass")
    row = np.ascontiguousarray(item)
    return f"{row.dtype.str}{row.shape}".encode() + row.tobytes()


def identity_of(encoder: HasEmbeddings) -> str:
    """What the vectors depend on beside the items: `encoder.identity`, else its class and its simple settings.

    A local folder of weights is known by its path: after changing the weights in it, use another cache.
    """
    stated = getattr(encoder, "identity", None)
    if stated is not None:
        return str(stated)
    simple_types = (str, int, float, bool, Path, type(None))
    settings = {
        name: str(value)
        for name, value in sorted(vars(encoder).items())
        if isinstance(value, simple_types) and not name.startswith("_") and name != "device"
    }
    return f"{type(encoder).__qualname__} {settings}"
