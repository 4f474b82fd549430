"""Images that are looked at one batch at a time: files decoded on use, or rows of a uint8 array.

n  images    H W  height and width    C  channels, 1 (grey) or 3 (RGB)

Slicing copies no pixel. `load` and `numpy.asarray` are the only ways to bring many images into memory.
"""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from bemps.errors import InputError, MissingExtra

# what Pillow's decoders raise for files that are cut or changed
DAMAGE = (
    *(OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, OverflowError, MemoryError),
    *(LookupError, TypeError, AttributeError, RuntimeError, ZeroDivisionError),
)
Rows = Int[np.ndarray, " _"]
Image = UInt8[np.ndarray, "H W C"]
Stack = UInt8[np.ndarray, "n H W C"]


class BrokenImage(InputError):
    """An image file that cannot be decoded."""


def pillow() -> ModuleType:
    """`PIL.Image`, asked for only when a file is decoded or an image resized."""
    try:
        return import_module("PIL.Image")
    except ImportError as cause:
        raise MissingExtra("decoding images", "images", cause) from cause


class Images(ABC):
    """A sequence of uint8 images (H, W, C) that need not be in memory."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: int) -> Image: ...

    @abstractmethod
    def take(self, indices: Rows) -> Images:
        """These images, in this order, without touching a pixel."""

    def __iter__(self) -> Iterator[Image]:
        return (self[index] for index in range(len(self)))

    def load(self, *, size: tuple[int, int] | None = None) -> Stack:
        """All images as one array, each resized to `size` (height, width) where given."""
        if not len(self):
            raise InputError("images", expected="at least one", got="none", fix="Choose some rows first.")
        images = [image if size is None else resized(image, size) for image in self]
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
        """The images in order, `count` at a time: no more than that is ever in memory."""
        for start in range(0, len(self), count):
            yield self.take(np.arange(start, min(start + count, len(self)))).load(size=size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        stack: np.ndarray = self.load()
        return stack.astype(dtype or np.uint8, copy=False)


@dataclass(frozen=True, eq=False)
class ImageArray(Images):
    """Rows of a uint8 array (n, H, W, C), which may be memory-mapped; `rows` names the chosen ones."""

    pixels: UInt8[np.ndarray, "total H W C"]
    rows: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, pixels: UInt8[np.ndarray, "n H W *C"]) -> ImageArray:
        """Every image of an array (n, H, W) or (n, H, W, C)."""
        stack = pixels if pixels.ndim == 4 else pixels[..., None]
        return cls(stack, np.arange(len(stack)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Image:
        return self.pixels[self.rows[index]]

    def take(self, indices: Rows) -> ImageArray:
        return ImageArray(self.pixels, self.rows[indices])

    def load(self, *, size: tuple[int, int] | None = None) -> Stack:
        if size is not None and size != self.pixels.shape[1:3]:
            return super().load(size=size)
        return np.asarray(self.pixels[self.rows])


@dataclass(frozen=True, eq=False)
class ImageFiles(Images):
    """Image files, decoded when an item is asked for and not kept."""

    paths: tuple[str, ...]
    mode: str = "RGB"

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Image:
        return decoded(self.paths[index], self.mode)

    def take(self, indices: Rows) -> ImageFiles:
        return ImageFiles(tuple(self.paths[i] for i in indices.tolist()), self.mode)

    def broken(self) -> list[int]:
        """The positions of the files that cannot be decoded; every file is decoded for it."""
        return [row for row, path in enumerate(self.paths) if not is_readable(path)]


def is_readable(path: str) -> bool:
    """Whether an image file can be decoded."""
    try:
        decoded(path, "RGB")
    except BrokenImage:
        return False
    return True


def decoded(path: str, mode: str, content: bytes | None = None) -> Image:
    """The pixels of one file, turned upright as its EXIF orientation says; `content`: its bytes, if read."""
    image_module, operations = pillow(), import_module("PIL.ImageOps")
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


def resized(image: Image, size: tuple[int, int]) -> UInt8[np.ndarray, "height width C"]:
    """Bilinear, to (height, width)."""
    flat = image[..., 0] if image.shape[-1] == 1 else image
    drawing = pillow().fromarray(flat).resize((size[1], size[0]), resample=pillow().Resampling.BILINEAR)
    return np.asarray(drawing, dtype=np.uint8).reshape(*size, image.shape[-1])
