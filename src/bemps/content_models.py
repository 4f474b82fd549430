"""Models whose items are contents, texts or paths of images, which they turn into vectors themselves.

Without an encoder their items are vectors already. The one that needs torch is in `bemps.content_heads`. Their settings
are plain values, so that `learner.save` can write them down and `bemps predict` make them again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.data import ImageFiles
from bemps.encoders import OnnxTextEncoder
from bemps.errors import InputError, MissingExtra
from bemps.members import Items, SklearnEnsemble, SpectralLaplace, tfidf_vectors
from bemps.members.base import check_vectors
from bemps.members.feature_cache import CachedEncoder
from bemps.members.text_views import BGE_LAYERS, LAYERS, side_by_side, spreads, views_of
from bemps.types import Array

PIXELS = 32
LARGEST_FIT = 20_000  # texts from which TF-IDF is fitted; more add little but time
ENSEMBLE = 10


@runtime_checkable
class Encoder(Protocol):
    """Contents to vectors."""

    progress: Callable[[str, int, int], None] | None

    def __call__(self, contents: Any) -> Float[Array, "N H"]: ...


class MiniLMVectors:
    """Vectors of texts from MiniLM, kept in the folder `cache` (a temporary one if left out)."""

    layer: int | tuple[int, ...] = -1

    def __init__(self, cache: str | None = None) -> None:
        self.cache = cache
        self.progress: Callable[[str, int, int], None] | None = None
        self._cached: CachedEncoder | None = None

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        if self._cached is None:
            self._cached = CachedEncoder(self._encoder(), self.cache)
        return self._cached(list(contents))

    def _encoder(self) -> Any:
        try:
            from bemps.members.encoders import TextEncoder
        except ImportError as cause:
            raise MissingExtra("the text encoder MiniLM", "text", cause) from cause
        return TextEncoder(layer=self.layer, progress=self.progress)


class MiniLMAndWords(MiniLMVectors):
    """Two layers of MiniLM and TF-IDF side by side (`bemps.members.text_views`), fitted on the pool it has seen."""

    layer = LAYERS

    def __init__(self, cache: str | None = None) -> None:
        super().__init__(cache)
        self._words = TfidfVectors()
        self._scales: list[float] = []

    def see_pool(self, contents: Sequence[str]) -> None:
        texts = sample_of(contents)
        self._words.see_pool(texts)
        self._scales = spreads(views_of(super().__call__(texts), self._words(texts)))

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        words = self._words(contents)  # refuses what comes before the pool
        return side_by_side(super().__call__(contents), words, self._scales)


class BgeVectors(MiniLMVectors):
    """Vectors of texts from bge-small, by onnxruntime."""

    def _encoder(self) -> Any:
        return OnnxTextEncoder("bge-small", layer=self.layer, progress=self.progress)


class BgeAndWords(MiniLMAndWords):
    """Two layers of bge-small and TF-IDF side by side, fitted on the pool it has seen."""

    layer = BGE_LAYERS

    def _encoder(self) -> Any:
        return OnnxTextEncoder("bge-small", layer=self.layer, progress=self.progress)


class EfficientNetVectors:
    """Vectors of image files below `folder` from EfficientNet-Lite0, kept in the folder `cache`."""

    def __init__(self, folder: str, cache: str | None = None) -> None:
        self.folder, self.cache = folder, cache
        self.progress: Callable[[str, int, int], None] | None = None
        self._cached: CachedEncoder | None = None

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        if self._cached is None:
            self._cached = CachedEncoder(self._encoder(), self.cache)
        return self._cached(images_in(self.folder, contents))

    def _encoder(self) -> Any:
        try:
            from bemps.members.backbones import EfficientNetLite0
        except ImportError as cause:
            raise MissingExtra("the image encoder EfficientNet-Lite0", "vision", cause) from cause
        return EfficientNetLite0(progress=self.progress)


class PixelVectors:
    """Pixels of image files below `folder`, made small: what there is without a network."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.progress: Callable[[str, int, int], None] | None = None

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        images = images_in(self.folder, contents)
        if not len(images):
            return np.zeros((0, PIXELS * PIXELS * 3))
        return images.load(size=(PIXELS, PIXELS)).reshape(len(images), -1) / 255.0


class TfidfVectors:
    """TF-IDF of texts and its leading directions, fitted on the pool that it has seen."""

    def __init__(self) -> None:
        self.progress: Callable[[str, int, int], None] | None = None
        self._encode: Callable[[Items], Float[Array, "N H"]] | None = None

    def see_pool(self, contents: Sequence[str]) -> None:
        self._encode = tfidf_vectors(sample_of(contents), rng=np.random.default_rng(0))

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        if self._encode is None:
            raise InputError("TF-IDF", expected="the pool first", got="none", fix="Call see_pool(contents).")
        return self._encode(list(contents))


def sample_of(contents: Sequence[str]) -> list[str]:
    """What encoders are fitted on: the contents, or LARGEST_FIT of them."""
    if len(contents) <= LARGEST_FIT:
        return list(contents)
    rows = np.random.default_rng(0).choice(len(contents), LARGEST_FIT, replace=False)
    return [contents[row] for row in np.sort(rows)]


def show_pool(encode: object, contents: Items) -> None:
    """Let an encoder look at the pool, where it is fitted on one."""
    if isinstance(encode, TfidfVectors | MiniLMAndWords):
        encode.see_pool([str(content) for content in contents])


class ContentLaplace(SpectralLaplace):
    """`SpectralLaplace` on contents; the pool is the learner's, and is not written down with the model."""

    def __init__(self, encode: Any = None, *, members: int = 20, first: int | None = None) -> None:
        super().__init__(encode=encode, members=members, first=first)

    def see_pool(self, items: Items) -> None:
        show_pool(self.encode, items)
        super().see_pool(items)


class ContentEnsemble(SklearnEnsemble):
    """An ensemble of logistic regressions, with Dirichlet weights, on the vectors of contents."""

    def __init__(self, encode: Any = None) -> None:
        from sklearn.linear_model import LogisticRegression

        super().__init__(LogisticRegression(C=30.0, max_iter=300), members=ENSEMBLE)
        self.encode = encode
        self.pool: Items | None = None

    def see_pool(self, items: Items) -> None:
        self.pool = items
        show_pool(self.encode, items)

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ContentEnsemble":
        super().fit(self.embeddings(items), labels, classes, rng)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        return super().predict(self.embeddings(items))

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        return check_vectors(items if self.encode is None else self.encode(items))


def images_in(folder: str, names: Sequence[str]) -> ImageFiles:
    """Image files by their paths below a folder; a path that leads out of it is refused."""
    root = Path(folder).resolve()
    paths = []
    for name in names:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise InputError(f"image {name!r}", expected=f"a path inside {root}", got=str(path), fix="Move it there.")
        paths.append(str(path))
    return ImageFiles(tuple(paths))
