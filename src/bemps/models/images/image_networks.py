"""Networks that classify images, cut at their first dropout.

The trunk, the part before the first dropout, is the same under every mask: under E masks it runs once.

mnist-bnn  BatchBALD's network: conv5x5(32) drop pool relu, conv5x5(64) drop pool relu, fc 1024-128 drop relu, fc K
vgg16bn    13 convolutions with batch norm, the mean over the image, then the paper's head: dropout,
           Linear(512, 512), batch norm, relu, Linear(512, K)
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bemps.errors import InputError
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.images.pixels import Pixels

VGG_BLOCKS = ((1, 1), (2, 2), (4, 4, 4), (8, 8, 8), (8, 8, 8))  # times the width, 64; a pooling after each block
IMAGENET_MEAN, IMAGENET_SPREAD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


class CutNetwork(nn.Module):
    """A trunk without dropout under a head that ends in the linear layer of the K logits."""

    def __init__(self, trunk: nn.Module, head: nn.Sequential) -> None:
        super().__init__()
        self.trunk, self.head = trunk, head

    def forward(self, images: Float[Tensor, "b C H W"]) -> Float[Tensor, "b K"]:
        """The scores of the classes, through the trunk and the head."""
        logits: Tensor = self.head(self.trunk(images))
        return logits

    def penultimate(self, images: Float[Tensor, "b C H W"]) -> Float[Tensor, "b D"]:
        """What goes into the last layer."""
        inner: Tensor = self.head[:-1](self.trunk(images))
        return inner


@dataclass(frozen=True)
class Architecture:
    """A network by name: what it sees, how it is built and trained.

    Attributes
    ----------
    pixels : Pixels
        The size and scale of the images.
    build : function
        Makes a network from (K, dropout rate, file of pretrained weights or None), with fresh weights from torch's
        random state.
    recipe : TrainingRecipe
        How to train it.
    """

    pixels: Pixels
    build: Callable[[int, float, Path | None], CutNetwork]
    recipe: TrainingRecipe


def mnist_bnn(K: int, dropout: float, weights: Path | None) -> CutNetwork:
    """BatchBALD's network for MNIST, with fresh weights.

    Parameters
    ----------
    K : int
        The number of classes.
    dropout : float
        The rate of dropout.
    weights : Path or None
        None: the network has no pretrained weights.

    Returns
    -------
    CutNetwork
        The network.

    Raises
    ------
    InputError
        `weights` is not None.
    """
    if weights is not None:
        raise InputError("weights", expected="none for mnist-bnn", got=str(weights), fix="It is trained from scratch.")
    head = nn.Sequential(
        *(nn.Dropout(dropout), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(32, 64, 5), nn.Dropout(dropout), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(1024, 128), nn.Dropout(dropout), nn.ReLU()),
        nn.Linear(128, K),
    )
    return CutNetwork(nn.Conv2d(1, 32, 5), head)


def vgg16bn(K: int, dropout: float, weights: Path | None, *, width: int = 64) -> CutNetwork:
    """VGG-16 with batch normalisation and a small head.

    Parameters
    ----------
    K : int
        The number of classes.
    dropout : float
        The rate of dropout.
    weights : Path or None
        The file of pretrained convolutions; None draws fresh ones.
    width : int, optional
        The channels of the first convolution.

    Returns
    -------
    CutNetwork
        The network.
    """
    convolutions = vgg_convolutions(width)
    if weights is not None:
        load_vgg_convolutions(convolutions, weights)
    trunk = nn.Sequential(convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Sequential(
        nn.Dropout(dropout), nn.Linear(8 * width, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, K)
    )
    return CutNetwork(trunk, head)


def vgg_convolutions(width: int = 64) -> nn.Sequential:
    """The convolutional part of VGG-16 with batch norm, its layers numbered as in torchvision's `features`."""
    layers: list[nn.Module] = []
    channels = 3
    for block in VGG_BLOCKS:
        for times in block:
            layers += [_convolution(channels, times * width), nn.BatchNorm2d(times * width), nn.ReLU(inplace=True)]
            channels = times * width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


def _convolution(channels: int, out: int) -> nn.Conv2d:
    layer = nn.Conv2d(channels, out, 3, padding=1)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def load_vgg_convolutions(convolutions: nn.Sequential, file: Path) -> None:
    """Weights from a torchvision checkpoint of vgg16_bn (`features.0.weight`, ...); its classifier is not used."""
    expected = f"a checkpoint of torchvision's vgg16_bn at {file}"
    fix = "Where there is a network: curl -O https://download.pytorch.org/models/vgg16_bn-6c64b313.pth"
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        ours = {key.removeprefix("features."): value for key, value in state.items() if key.startswith("features.")}
        convolutions.load_state_dict(ours)
    except (OSError, EOFError, RuntimeError, AttributeError, pickle.UnpicklingError) as cause:
        reason = (str(cause).strip().splitlines() or [""])[0]
        raise InputError("weights", expected=expected, got=f"{type(cause).__name__}: {reason}", fix=fix) from cause


ARCHITECTURES = {
    "mnist-bnn": Architecture(
        Pixels(28, 1, (33.32,), (78.57,)),
        mnist_bnn,
        TrainingRecipe(learning_rate=1e-3, optimiser="adam", weight_decay=0.0, clip=None, decay="none"),
    ),
    "vgg16bn": Architecture(
        Pixels(32, 3, IMAGENET_MEAN, IMAGENET_SPREAD),
        vgg16bn,
        TrainingRecipe(learning_rate=1e-4, optimiser="adam", weight_decay=0.0, clip=None, decay="none"),
    ),
}
