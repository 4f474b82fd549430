"""Models whose items are contents, texts or paths of images, which they turn into vectors themselves.

Without an encoder their items are vectors already. The one that needs torch is in `bemps.models.content_heads`, the
vectors of images are in `bemps.models.image_contents`.
Their settings are plain values, so that `learner.save` can write them down and `bemps predict` make them again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.renamed_parameters import renamed_parameters
from bemps.errors import InputError
from bemps.models import Items, SklearnEnsemble, SpectralLaplace, tfidf_vectors
from bemps.models.base import check_vectors
from bemps.models.encoders import OnnxTextEncoder
from bemps.models.encoders.encoder_files import layer_width, view_layers
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.models.encoders.text_views import side_by_side, spreads, views_of
from bemps.models.encoders.tfidf import TfidfEncoder
from bemps.types import Array

LARGEST_FIT = 20_000  # texts from which TF-IDF is fitted; more add little but time
ENSEMBLE = 10


@runtime_checkable
class Encoder(Protocol):
    """Contents to vectors."""

    progress: Callable[[str, int, int], None] | None

    def __call__(self, contents: Any) -> Float[Array, "N H"]: ...


@runtime_checkable
class ReadsOnce(Encoder, Protocol):
    """An encoder that takes long and keeps its vectors on disk, so that it can read in another process."""

    def read(self, contents: Sequence[str]) -> None:
        """Read the contents and store their vectors on disk."""
        ...

    def unread(self, contents: Sequence[str]) -> int:
        """The number of different contents that have no vector yet."""
        ...


@runtime_checkable
class EncodesOnce(Encoder, Protocol):
    """An encoder that keeps its vectors, and can make some without keeping them."""

    def encode_once(self, contents: Sequence[str]) -> Float[Array, "N H"]:
        """Vectors that are not kept."""
        ...


def encode_once(encoder: Encoder, contents: Sequence[str]) -> Float[Array, "N H"]:
    """Return vectors of contents that nobody asks for again; they are not kept on disk."""
    return encoder.encode_once(contents) if isinstance(encoder, EncodesOnce) else encoder(list(contents))


class TextVectors:
    """Vectors of texts from a text encoder, kept in the folder `cache` (a temporary one if left out).

    Parameters
    ----------
    encoder : str
        What `OnnxTextEncoder` takes: a name of `TEXT_ENCODERS`, a folder, or a name on the hub.
    cache : str, optional
        The folder.
    """

    def __init__(self, encoder: str, cache: str | None = None) -> None:
        self.encoder, self.cache = encoder, cache
        self.progress: Callable[[str, int, int], None] | None = None
        self._cached: CachedEncoder | None = None

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        return self._layers()(list(contents))

    def encode_once(self, contents: Sequence[str]) -> Float[Array, "N H"]:
        """Vectors that are not kept: of texts that nobody asks for again."""
        return np.asarray(self._layers().encoder.embeddings(list(contents)))

    def read(self, contents: Sequence[str]) -> None:
        """Make the vectors that the cache has not; what an interruption leaves is not made again."""
        self._layers().read(list(contents))

    def unread(self, contents: Sequence[str]) -> int:
        """How many different texts have no vector yet."""
        return self._layers().unread(list(contents))

    def _layers(self) -> CachedEncoder:
        if self._cached is None:
            self._cached = CachedEncoder(self.text_encoder(), self.cache)
        return self._cached

    def text_encoder(self) -> OnnxTextEncoder:
        """What makes the vectors of the layers."""
        return OnnxTextEncoder(self.encoder, progress=self.progress)


class TextAndWords(TextVectors):
    """Two layers of a text encoder and TF-IDF side by side (`text_views`), fitted on the pool that it has seen."""

    def __init__(self, encoder: str, cache: str | None = None) -> None:
        super().__init__(encoder, cache)
        self._words = TfidfVectors()
        self._scales: list[float] = []

    def see_pool(self, contents: Sequence[str]) -> None:
        """Learn the words and the spreads of the views from a sample of the pool."""
        texts = sample_of(contents)
        self._words.see_pool(texts)
        self._scales = spreads(views_of(super().__call__(texts), self._words(texts), self._width))

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        words = self._words(contents)  # refuses what comes before the pool
        return side_by_side(super().__call__(contents), words, self._scales, self._width)

    def encode_once(self, contents: Sequence[str]) -> Float[Array, "N H"]:
        """Vectors that are not kept: of texts that nobody asks for again."""
        words = self._words(contents)
        return side_by_side(super().encode_once(contents), words, self._scales, self._width)

    def text_encoder(self) -> OnnxTextEncoder:
        """What makes the vectors of the layers."""
        return OnnxTextEncoder(self.encoder, layer=view_layers(self.encoder), progress=self.progress)

    @property
    def scales(self) -> list[float]:
        """What each view is divided by."""
        return list(self._scales)

    def words(self) -> TfidfEncoder:
        """The encoder of the words, fitted on the pool."""
        return self._words.fitted()

    @property
    def _width(self) -> int:
        return layer_width(self.encoder)


class MiniLMVectors(TextVectors):
    """Vectors of texts from MiniLM."""

    def __init__(self, cache: str | None = None) -> None:
        super().__init__("minilm", cache)


class MiniLMAndWords(TextAndWords):
    """Two layers of MiniLM and TF-IDF side by side, fitted on the pool it has seen."""

    def __init__(self, cache: str | None = None) -> None:
        super().__init__("minilm", cache)


class BgeVectors(TextVectors):
    """Vectors of texts from bge-small."""

    def __init__(self, cache: str | None = None) -> None:
        super().__init__("bge-small", cache)


class BgeAndWords(TextAndWords):
    """Two layers of bge-small and TF-IDF side by side, fitted on the pool it has seen."""

    def __init__(self, cache: str | None = None) -> None:
        super().__init__("bge-small", cache)


class TfidfVectors:
    """TF-IDF of texts and its leading directions, fitted on the pool that it has seen."""

    def __init__(self) -> None:
        self.progress: Callable[[str, int, int], None] | None = None
        self._encode: TfidfEncoder | None = None

    def see_pool(self, contents: Sequence[str]) -> None:
        """Learn the words from a sample of the pool."""
        self._encode = tfidf_vectors(sample_of(contents), rng=np.random.default_rng(0))

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        return self.fitted()(list(contents))

    def fitted(self) -> TfidfEncoder:
        """The encoder, fitted on the pool."""
        if self._encode is None:
            raise InputError("TF-IDF", expected="the pool first", got="none", fix="Call see_pool(contents).")
        return self._encode


def sample_of(contents: Sequence[str]) -> list[str]:
    """What encoders are fitted on: the contents, or LARGEST_FIT of them."""
    if len(contents) <= LARGEST_FIT:
        return list(contents)
    rows = np.random.default_rng(0).choice(len(contents), LARGEST_FIT, replace=False)
    return [contents[row] for row in np.sort(rows)]


def show_pool(encode: object, contents: Items) -> None:
    """Let an encoder look at the pool, where it is fitted on one."""
    if isinstance(encode, TfidfVectors | TextAndWords):
        encode.see_pool([str(content) for content in contents])


@renamed_parameters(first="first_view")
class ContentLaplace(SpectralLaplace):
    """`SpectralLaplace` on contents; the pool is the learner's, and is not written down with the model.

    Parameters
    ----------
    encode : callable, optional
        Turns contents into vectors; None where the items are vectors already.
    members : int, optional
        How many members are drawn from the posterior.
    first_view : int, optional
        The columns of the first of two views; None where there is one view.
    """

    def __init__(self, encode: Any = None, *, members: int = 20, first_view: int | None = None) -> None:
        super().__init__(encode=encode, members=members, first_view=first_view)

    def see_pool(self, items: Items) -> None:
        """Give the pool to the encoder and to the linear head."""
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
        """Give the pool to the encoder."""
        self.pool = items
        show_pool(self.encode, items)

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ContentEnsemble":
        """Learn from labelled contents.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        ContentEnsemble
            The model itself.
        """
        super().fit(self.embeddings(items), labels, classes, rng)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict the probabilities of contents; see `Model.predict`."""
        return super().predict(self.embeddings(items))

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """The vectors of the encoder; the items themselves where there is no encoder."""
        return check_vectors(items if self.encode is None else self.encode(items))
