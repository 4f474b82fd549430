"""Images as tensors: uint8 rows of any size become float batches of one size, with torch alone.

b  images of a batch    H W  height and width    C  channels, 1 (grey) or 3 (RGB)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from bemps.errors import InputError
from bemps.types import Array

LUMINANCE = (0.299, 0.587, 0.114)


@runtime_checkable
class ImageRows(Protocol):
    """Images one after the other: an array (N, H, W) or (N, H, W, C), a list of arrays, or files decoded on use."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


@dataclass(frozen=True)
class Pixels:
    """The input format of a network.

    Parameters
    ----------
    size : int
        The side of an image in pixels.
    channels : int
        1 (grey) or 3 (RGB).
    mean : tuple of float
        The mean of each channel, of values in [0, 255].
    spread : tuple of float
        The spread of each channel, of values in [0, 255].
    """

    size: int
    channels: int
    mean: tuple[float, ...]
    spread: tuple[float, ...]

    def batch(self, images: ImageRows, start: int, end: int) -> Float[Tensor, "b C size size"]:
        """The images from `start` up to `end` as one batch.

        Shrinking is antialiased, so that small networks see no moiré.

        Parameters
        ----------
        images : array or sequence of uint8 images
            All images.
        start : int
            The position of the first image.
        end : int
            The position after the last image.

        Returns
        -------
        tensor (b, C, size, size)
            The batch.
        """
        if isinstance(images, np.ndarray):
            raw = _resized(_tensor(images[start:end]), self.size)
        else:
            raw = torch.cat([_resized(_tensor(np.asarray(images[i])[None]), self.size) for i in range(start, end)])
        return self._normalised(_with_channels(raw, self.channels))

    def batches(self, images: ImageRows, count: int) -> Iterator[Float[Tensor, "b C size size"]]:
        """All images in order, `count` at a time."""
        for start in range(0, len(images), count):
            yield self.batch(images, start, min(start + count, len(images)))

    def _normalised(self, raw: Float[Tensor, "b C H W"]) -> Float[Tensor, "b C H W"]:
        mean, spread = (torch.tensor(values)[:, None, None] for values in (self.mean, self.spread))
        return (raw - mean) / spread


def _tensor(images: Array) -> Float[Tensor, "b C H W"]:
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] not in (1, 3)):
        raise InputError(
            "images",
            expected="uint8 arrays (H, W), or (H, W, C) with 1 or 3 channels",
            got=f"{images.dtype} of shape {images.shape[1:]}",
            fix="Scale values to 0..255, put channels last and drop an alpha channel.",
        )
    stack = images[..., None] if images.ndim == 3 else images
    return torch.from_numpy(np.ascontiguousarray(stack.transpose(0, 3, 1, 2), dtype=np.float32))


def _resized(raw: Float[Tensor, "b C H W"], size: int) -> Float[Tensor, "b C size size"]:
    if raw.shape[2:] == (size, size) or len(raw) == 0:
        return raw.new_zeros(0, raw.shape[1], size, size) if len(raw) == 0 else raw
    return functional.interpolate(raw, size=(size, size), mode="bilinear", antialias=True)


def _with_channels(raw: Float[Tensor, "b C H W"], channels: int) -> Float[Tensor, "b D H W"]:
    if raw.shape[1] == channels:
        return raw
    if channels == 3:
        return raw.expand(-1, 3, -1, -1)
    return (raw * torch.tensor(LUMINANCE)[:, None, None]).sum(dim=1, keepdim=True)
