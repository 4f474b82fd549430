"""Frozen image features: EfficientNet-Lite0 (Tan & Le 2019) with its ImageNet weights.

The Lite variants read (pixel - 127) / 128, have no squeeze and excitation, and end every part in ReLU6. The weights are
read by path out of a package whose code is never run (`encoder_table`).
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from bemps.errors import InputError
from bemps.models._torch.devices import pick_device
from bemps.models.encoders.encoder_table import IMAGE_ENCODERS
from bemps.models.encoders.weight_files import require_weights
from bemps.models.images.pixels import ImageRows, Pixels
from bemps.types import Array

NAME = "efficientnet-lite0"
WIDTH, CLASSES = 1280, 1000
STEM = 32
EPSILON = 1e-3  # of the normalisations
STAGES = (  # repeats, side of the kernel, stride, expansion, channels
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


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

    mean, spread = 127.0, 128.0  # of a pixel, as in the training

    def __init__(
        self,
        *,
        size: int = 224,
        batch: int | None = None,
        device: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.size, self.batch, self.device, self.progress = size, batch, device, progress
        self._network: LiteNetwork | None = None

    @property
    def identity(self) -> str:
        """What the vectors depend on beside the images."""
        return f"{NAME} {IMAGE_ENCODERS[NAME].files[0].name} size {self.size}"

    def embeddings(self, items: ImageRows) -> Float[Array, "N H"]:
        """One vector for each image."""
        network, device = self._loaded(), pick_device(self.device)
        count = (4 if device.type == "cpu" else 64) if self.batch is None else self.batch
        pixels = Pixels(self.size, 3, (self.mean,) * 3, (self.spread,) * 3)
        vectors = np.empty((len(items), WIDTH), dtype=np.float32)
        done = 0
        with torch.inference_mode():
            for images in pixels.batches(items, count):
                channels_last = images.to(device).contiguous(memory_format=torch.channels_last)
                maps = network.maps(channels_last)
                vectors[done : done + len(images)] = maps.mean(dim=(2, 3)).cpu().numpy()
                done += len(images)
                if self.progress is not None:
                    self.progress("embed", done, len(items))
        return vectors

    def graph(self) -> bytes:
        """The network as ONNX; it takes images of `size`, less `mean` and divided by `spread`."""
        from bemps.models.images.efficientnet_graph import efficientnet_graph

        return efficientnet_graph(self._loaded())

    def _loaded(self) -> "LiteNetwork":
        if self.size < 32 or self.size % 32:
            raise InputError("size", expected="a multiple of 32", got=str(self.size), fix="224 is the usual one.")
        if self._network is None:
            self._network = _folded(load_efficientnet()).to(pick_device(self.device))
        return self._network


class HalvingConv(nn.Conv2d):
    """A convolution of stride 2 on an even side, padded as in TensorFlow: the odd row and column come last."""

    def forward(self, maps: Float[torch.Tensor, "b c s s"]) -> Float[torch.Tensor, "b C t t"]:
        """Half the side.

        Parameters
        ----------
        maps : tensor (b, c, s, s)
            The maps.

        Returns
        -------
        tensor (b, C, s / 2, s / 2)
            The maps of half the side.
        """
        total = self.kernel_size[0] - 2
        before, after = total // 2, total - total // 2
        return super().forward(functional.pad(maps, (before, after, before, after)))


class LiteBlock(nn.Module):
    """A block of the network: expansion, a convolution of each channel, projection. Names are those of the file.

    Parameters
    ----------
    channels : int
        The channels of its input.
    kernel, stride, expansion, out : int
        As in `STAGES`.
    """

    def __init__(self, channels: int, kernel: int, stride: int, expansion: int, out: int) -> None:
        super().__init__()
        inner = channels * expansion
        self.expands, self.adds = expansion > 1, stride == 1 and channels == out
        if self.expands:
            self._expand_conv = nn.Conv2d(channels, inner, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(inner, EPSILON)
        self._depthwise_conv = _conv(inner, inner, kernel, stride, groups=inner)
        self._bn1 = nn.BatchNorm2d(inner, EPSILON)
        self._project_conv = nn.Conv2d(inner, out, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(out, EPSILON)

    def forward(self, maps: Float[torch.Tensor, "b c s s"]) -> Float[torch.Tensor, "b C t t"]:
        """The maps of the next block.

        Parameters
        ----------
        maps : tensor (b, c, s, s)
            The maps of the block before.

        Returns
        -------
        tensor (b, C, t, t)
            The maps.
        """
        inner = _relu6(self._bn0(self._expand_conv(maps))) if self.expands else maps
        inner = self._bn2(self._project_conv(_relu6(self._bn1(self._depthwise_conv(inner)))))
        return inner + maps if self.adds else inner


class LiteNetwork(nn.Module):
    """EfficientNet-Lite0 for images whose side is a multiple of 32. Names are those of the file."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = _conv(3, STEM, 3, 2)
        self._bn0 = nn.BatchNorm2d(STEM, EPSILON)
        blocks, channels = [], STEM
        for repeats, kernel, stride, expansion, out in STAGES:
            for repeat in range(repeats):
                blocks.append(LiteBlock(channels, kernel, 1 if repeat else stride, expansion, out))
                channels = out
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = nn.Conv2d(channels, WIDTH, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(WIDTH, EPSILON)
        self._fc = nn.Linear(WIDTH, CLASSES)

    def maps(self, images: Float[torch.Tensor, "b 3 s s"]) -> Float[torch.Tensor, "b H t t"]:
        """The last convolution.

        Parameters
        ----------
        images : tensor (b, 3, s, s)
            The normalised images.

        Returns
        -------
        tensor (b, 1280, s / 32, s / 32)
            The maps.
        """
        maps = _relu6(self._bn0(self._conv_stem(images)))
        for block in self._blocks:
            maps = block(maps)
        return _relu6(self._bn1(self._conv_head(maps)))

    def forward(self, images: Float[torch.Tensor, "b 3 s s"]) -> Float[torch.Tensor, "b 1000"]:
        """The logits of the classes of ImageNet.

        Parameters
        ----------
        images : tensor (b, 3, s, s)
            The normalised images.

        Returns
        -------
        tensor (b, 1000)
            The logits.
        """
        logits: torch.Tensor = self._fc(self.maps(images).mean(dim=(2, 3)))
        return logits


def load_efficientnet() -> LiteNetwork:
    """The whole network with its ImageNet weights, in evaluation mode."""
    [path] = require_weights(NAME).values()
    network = LiteNetwork()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network.eval()


def _conv(channels: int, out: int, kernel: int, stride: int, *, groups: int = 1) -> nn.Conv2d:
    if stride == 2:
        return HalvingConv(channels, out, kernel, stride, groups=groups, bias=False)
    return nn.Conv2d(channels, out, kernel, padding=kernel // 2, groups=groups, bias=False)


def _relu6(maps: Float[torch.Tensor, "b c s s"]) -> Float[torch.Tensor, "b c s s"]:
    return functional.relu6(maps, inplace=True)


def _folded(network: LiteNetwork) -> LiteNetwork:
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
