"""Vectors of images: of files below a folder, of files anywhere, or made before.

Their settings are plain values, so that `learner.save` can write them down and `bemps predict` make them again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps._utils.extras import requires_extra
from bemps._utils.files import path_inside
from bemps.data import ImageFiles
from bemps.data.images import BrokenImage, resize_image
from bemps.errors import InputError
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.types import Array

PIXELS = 32
MOST_SMALL = 50_000  # images of which the small pixels are kept: 150 MB


class ImageVectors(ABC):
    """Turns images into vectors.

    Parameters
    ----------
    folder : str
        The folder of images that are named by their paths; empty for the current folder.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.progress: Callable[[str, int, int], None] | None = None

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        if isinstance(contents, np.ndarray):
            return self.vectors_of(contents)
        return self.vectors_of(self.rows_of(contents))

    def rows_of(self, contents: Any) -> Array:
        """Return what stands for images in a model that is used without them: numbers, a row for each image.

        Parameters
        ----------
        contents : ImageFiles or sequence of str
            Image files, or their paths below the folder.
        """
        return self.read_files(contents if isinstance(contents, ImageFiles) else images_in(self.folder, contents))

    @abstractmethod
    def read_files(self, images: ImageFiles) -> Array:
        """Return a row of numbers for each image file."""

    def vectors_of(self, rows: Array) -> Float[Array, "N H"]:
        """Return the vectors of such rows, or vectors as they are."""
        return rows


class EfficientNetVectors(ImageVectors):
    """Vectors of images from EfficientNet-Lite0, kept in the folder `cache`."""

    def __init__(self, folder: str, cache: str | None = None) -> None:
        super().__init__(folder)
        self.cache = cache
        self._cached: CachedEncoder | None = None

    def read_files(self, images: ImageFiles) -> Array:
        """Return the vectors of image files."""
        if self._cached is None:
            self._cached = CachedEncoder(self.image_encoder(), self.cache)
        return self._cached(images)

    def image_encoder(self) -> Any:
        """What makes the vectors."""
        with requires_extra("vision", "the image encoder EfficientNet-Lite0"):
            from bemps.models.images.efficientnet import EfficientNetLite0
        return EfficientNetLite0(progress=self.progress)


class PixelVectors(ImageVectors):
    """Pixels of images, made small: what there is without a network."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._small: dict[str, Array] = {}  # pixels by path: large files take long to decode

    def read_files(self, images: ImageFiles) -> Array:
        """Return the small pixels of image files."""
        if not len(images):
            return np.zeros((0, PIXELS * PIXELS * 3), np.uint8)
        rows = [self._pixels(images, row) for row in range(len(images))]
        return np.stack(rows).reshape(len(rows), -1)

    def vectors_of(self, rows: Array) -> Float[Array, "N H"]:
        """Return small pixels from 0 to 1."""
        return rows / 255.0 if rows.dtype == np.uint8 else rows

    def _pixels(self, images: ImageFiles, row: int) -> Array:
        path = images.paths[row]
        if path not in self._small:
            pixels = resize_image(images[row], (PIXELS, PIXELS))
            if len(self._small) < MOST_SMALL:
                self._small[path] = pixels
            return pixels
        return self._small[path]


def encode_readable(
    encode: Callable[[list[str]], Float[Array, "N H"]], folder: str, contents: list[str]
) -> tuple[list[int], Float[Array, "n H"]]:
    """Encode contents, and set images aside that cannot be decoded.

    Parameters
    ----------
    encode : callable
        Turns contents into vectors.
    folder : str
        The folder of the images.
    contents : list of str
        Texts, or paths of images below the folder.

    Returns
    -------
    rows : list of int
        The positions of the contents that could be read.
    vectors : array (n, H)
        Their vectors.
    """
    if not contents:
        return [], np.zeros((0, 0))
    try:
        return list(range(len(contents))), encode(contents)
    except BrokenImage:
        broken = frozenset(images_in(folder, contents).broken())
        if not broken:
            raise
    rows = [row for row in range(len(contents)) if row not in broken]
    again, vectors = encode_readable(encode, folder, [contents[row] for row in rows])
    return [rows[row] for row in again], vectors


def images_in(folder: str, names: Sequence[str]) -> ImageFiles:
    """Image files by their paths below a folder; a path that leads out of it is refused."""
    root = Path(folder).resolve()
    paths = []
    for name in names:
        path = path_inside(root, name)
        if path is None:
            got = str((root / name).resolve())
            raise InputError(f"image {name!r}", expected=f"a path inside {root}", got=got, fix="Move it there.")
        paths.append(str(path))
    return ImageFiles(tuple(paths))
