"""Images that are loaded one batch at a time: files decoded on use, or rows of a uint8 array.

n  images    H W  height and width    C  channels, 1 (grey) or 3 (RGB)

Slicing copies no pixel. `load` and `numpy.asarray` are the only ways to bring many images into memory.
"""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from bemps._utils.extras import optional_import
from bemps.errors import InputError

# what Pillow's decoders raise for files that are cut or changed
DAMAGE = (
    *(OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, OverflowError, MemoryError),
    *(LookupError, TypeError, AttributeError, RuntimeError, ZeroDivisionError),
)
Positions = Int[np.ndarray, " _"]
Image = UInt8[np.ndarray, "H W C"]
Stack = UInt8[np.ndarray, "n H W C"]


class BrokenImage(InputError):
    """An image file that cannot be decoded."""


def pillow() -> ModuleType:
    """`PIL.Image`, imported only when a file is decoded or an image resized."""
    return optional_import("PIL.Image", "images", "decoding images")


class Images(ABC):
    """A sequence of uint8 images (H, W, C) that need not be in memory."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: int) -> Image: ...

    @abstractmethod
    def take(self, indices: Positions) -> Images:
        """Select images by position, in this order, without reading a pixel."""

    def __iter__(self) -> Iterator[Image]:
        return (self[index] for index in range(len(self)))

    def load(self, *, size: tuple[int, int] | None = None) -> Stack:
        """Load all images into one array.

        Parameters
        ----------
        size : (int, int), optional
            Height and width to resize every image to. None needs images of one shape.

        Returns
        -------
        array (n, H, W, C) of uint8
            The pixels.
        """
        if not len(self):
            raise InputError("images", expected="at least one", got="none", fix="Choose some rows first.")
        images = [image if size is None else resize_image(image, size) for image in self]
        shapes = {image.shape for image in images}
        if len(shapes) > 1:
            raise InputError(
                "images.load",
                expected="images of one shape",
                got=f"{len(shapes)} shapes, for example {sorted(shapes)[:2]}",
                fix="Pass size=(height, width).",
            )
        return np.stack(images)

    def batches(self, count: int, *, size: tuple[int, int] | None = None) -> Iterator[Stack]:
        """Load the images in order, `count` at a time, to limit the memory."""
        for start in range(0, len(self), count):
            yield self.take(np.arange(start, min(start + count, len(self)))).load(size=size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        stack: np.ndarray = self.load()
        return stack.astype(dtype or np.uint8, copy=False)


@dataclass(frozen=True, eq=False)
class ImageArray(Images):
    """Images in a uint8 array (n, H, W, C), which may be memory-mapped.

    Attributes
    ----------
    pixels : array (total, H, W, C) of uint8
        All images.
    rows : array (n,) of int
        The positions of the images in `pixels`.
    """

    pixels: UInt8[np.ndarray, "total H W C"]
    rows: Int[np.ndarray, " n"]

    @classmethod
    def from_array(cls, pixels: UInt8[np.ndarray, "n H W *C"]) -> ImageArray:
        """All images of an array (n, H, W) or (n, H, W, C)."""
        stack = pixels if pixels.ndim == 4 else pixels[..., None]
        return cls(stack, np.arange(len(stack)))

    of = from_array  # the name in release 0.1

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Image:
        return self.pixels[self.rows[index]]

    def take(self, indices: Positions) -> ImageArray:
        """Select images by position, in this order, without copying a pixel."""
        return ImageArray(self.pixels, self.rows[indices])

    def load(self, *, size: tuple[int, int] | None = None) -> Stack:
        """Load all images into one array; see `Images.load`."""
        if size is not None and size != self.pixels.shape[1:3]:
            return super().load(size=size)
        return np.asarray(self.pixels[self.rows])


@dataclass(frozen=True, eq=False)
class ImageFiles(Images):
    """Image files that are decoded each time they are used.

    Attributes
    ----------
    paths : tuple of str
        The files.
    mode : {"RGB", "L"}
        Colours or grey levels.
    """

    paths: tuple[str, ...]
    mode: str = "RGB"

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Image:
        return decode_image(self.paths[index], self.mode)

    def take(self, indices: Positions) -> ImageFiles:
        """Select images by position, in this order, without opening a file."""
        return ImageFiles(tuple(self.paths[i] for i in indices.tolist()), self.mode)

    def broken(self) -> list[int]:
        """Return the positions of the files that cannot be decoded. Every file is decoded."""
        return [row for row, path in enumerate(self.paths) if not is_readable(path)]


def is_readable(path: str) -> bool:
    """Whether an image file can be decoded."""
    try:
        decode_image(path, "RGB")
    except BrokenImage:
        return False
    return True


def decode_image(path: str, mode: str, content: bytes | None = None) -> Image:
    """Decode an image file, turned upright as its EXIF orientation says.

    Parameters
    ----------
    path : str
        The file.
    mode : {'RGB', 'L'}
        Colours or grey levels.
    content : bytes, optional
        The bytes of the file, if they are in memory.

    Returns
    -------
    array of uint8 (H, W, C)
        The pixels.

    Raises
    ------
    BrokenImage
        The file cannot be decoded.
    """
    image_module, operations = pillow(), optional_import("PIL.ImageOps", "images", "decoding images")
    try:
        with image_module.open(path if content is None else BytesIO(content)) as file:
            pixels = np.asarray(operations.exif_transpose(file).convert(mode), dtype=np.uint8)
    except (*DAMAGE, image_module.DecompressionBombError) as failure:
        raise BrokenImage(
            f"image {path}",
            expected="an image that Pillow can decode",
            got=f"{type(failure).__name__}: {failure}",
            fix="Repair or remove the file.",
        ) from failure
    return pixels if pixels.ndim == 3 else pixels[..., None]


def resize_image(image: Image, size: tuple[int, int]) -> UInt8[np.ndarray, "height width C"]:
    """Resize an image to (height, width), bilinear."""
    flat = image[..., 0] if image.shape[-1] == 1 else image
    drawing = pillow().fromarray(flat).resize((size[1], size[0]), resample=pillow().Resampling.BILINEAR)
    return np.asarray(drawing, dtype=np.uint8).reshape(*size, image.shape[-1])
