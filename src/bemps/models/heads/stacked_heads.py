"""E small heads as one computation: every tensor has a leading axis of members.

E  members    C  1 where members share the columns, else E    G  groups of weights, 1 or E
H  inputs     D  hidden units     K  classes     T  training items     n  items of a batch

Items are columns, (C, H, n). So the softmax over K runs along contiguous items, which torch does twenty times
faster than over a short last axis.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bemps.types import Array

Generators = Sequence[np.random.Generator]


@dataclass(frozen=True, eq=False)
class Layer:
    """columns -> weight @ columns + bias, for every group of weights."""

    weight: Float[Tensor, "G O I"]
    bias: Float[Tensor, "G O 1"]

    def __call__(self, columns: Float[Tensor, "C I n"]) -> Float[Tensor, "G O n"]:
        if len(columns) > 1:
            return torch.baddbmm(self.bias, self.weight, columns)
        G, O, _ = self.weight.shape  # noqa: E741
        flat = torch.addmm(self.bias.reshape(G * O, 1), self.weight.reshape(G * O, -1), columns[0])
        return flat.view(G, O, -1)

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        """The weights and the biases."""
        return self.weight, self.bias

    def with_groups(self, which: Int[Array, " g"], others: "Layer") -> "Layer":
        """The layer with the groups `which` replaced by those of `others`."""
        index = torch.from_numpy(which).to(self.weight.device)
        return Layer(*(a.index_copy(0, index, b) for a, b in zip(self.tensors, others.tensors, strict=True)))


Layers = tuple[Layer, ...]  # the last one, or a hidden one and the last one


@dataclass(frozen=True, eq=False)
class Rows:
    """The labelled items of every member.

    Parameters
    ----------
    columns : tensor (C, H, T)
        The features of the items.
    labels : tensor (E, T) of int
        The codes of the items.
    weights : tensor (E, T)
        How often the loss of an item counts.
    """

    columns: Float[Tensor, "C H T"]
    labels: Int[Tensor, "E T"]
    weights: Float[Tensor, "E T"]

    def __len__(self) -> int:
        return self.labels.shape[1]

    def shuffled(self, size: int | None, rngs: Generators) -> Iterator["Rows"]:
        """Batches of `size` items in an order of each member's own; None is a single batch of all."""
        if size is None or size >= len(self):
            yield self
            return
        order = torch.from_numpy(np.stack([rng.permutation(len(self)) for rng in rngs])).to(self.labels.device)
        for part in torch.split(order, size, dim=1):
            yield self._at(part)

    def _at(self, positions: Int[Tensor, "E n"]) -> "Rows":
        E = len(positions)
        rows = self.columns.transpose(1, 2).expand(E, -1, -1)
        picked = rows[torch.arange(E, device=rows.device)[:, None], positions]
        return Rows(picked.transpose(1, 2), self.labels.gather(1, positions), self.weights.gather(1, positions))


def stack_rows(
    vectors: Float[Array, "L H"],
    labels: Int[Array, " L"],
    positions: Sequence[Int[Array, " T"]],
    weights: Float[Array, "E T"],
    device: torch.device,
) -> Rows:
    """The items at the positions of each member, stored once where all members have the same.

    Parameters
    ----------
    vectors : array (L, H)
        The features of all labelled items.
    labels : array (L,) of int
        Their codes.
    positions : sequence of array (T,) of int
        The items of each member.
    weights : array (E, T)
        How often the loss of an item counts.
    device : torch device
        Where the tensors go.

    Returns
    -------
    Rows
        The items of every member.
    """
    shared = all(np.array_equal(positions[0], other) for other in positions)
    # Every rule of splitting gives all members parts of the same size.
    index = np.stack(positions[:1] if shared else positions)
    rows = torch.from_numpy(vectors.astype(np.float32)[index]).to(device)
    codes = torch.from_numpy(labels[np.stack(positions)]).to(device)
    return Rows(rows.transpose(1, 2), codes, torch.from_numpy(weights.astype(np.float32)).to(device))


def draw_layers(H: int, D: int, K: int, *, norm: float, rngs: Generators, device: torch.device) -> Layers:
    """Fresh weights, each member from its own generator; D = 0 is a linear head.

    Inputs have root-mean-square norm `norm`: weights N(0, 1/norm^2) give the hidden units unit variance, and
    N(0, 1/D) the logits; a linear head starts ten times smaller, as its objective is convex.

    Parameters
    ----------
    H : int
        The number of inputs.
    D : int
        The number of hidden units.
    K : int
        The number of classes.
    norm : float
        The root-mean-square norm of the inputs.
    rngs : sequence of numpy Generator
        The generator of each member.
    device : torch device
        Where the tensors go.

    Returns
    -------
    tuple of Layer
        One layer, or two with hidden units.
    """
    spreads = [(D, H, 1 / norm), (K, D, D**-0.5)] if D else [(K, H, 0.1 / norm)]
    drawn = [[spread * rng.standard_normal((o, i), dtype=np.float32) for o, i, spread in spreads] for rng in rngs]
    layers = []
    for weights in zip(*drawn, strict=True):
        weight = torch.from_numpy(np.stack(weights)).to(device)
        layers.append(Layer(weight, torch.zeros(*weight.shape[:2], 1, device=device)))
    return tuple(layers)


def penultimate(
    layers: Layers, columns: Float[Tensor, "C H n"], noise: Float[Tensor, "E D n"] | None = None
) -> Float[Tensor, "G D n"]:
    """The inputs of the last layer.

    `noise` is not negative, so relu can come after it, in place.

    Parameters
    ----------
    layers : tuple of Layer
        The layers.
    columns : tensor (C, H, n)
        The features of the items.
    noise : tensor (E, D, n), optional
        The factors of dropout.

    Returns
    -------
    tensor (G, D, n)
        The inputs of the last layer.
    """
    inner = layers[0](columns) if len(layers) == 2 else columns
    if noise is not None:
        inner = inner * noise
    return inner.relu_() if len(layers) == 2 else inner


def logits(
    layers: Layers, columns: Float[Tensor, "C H n"], noise: Float[Tensor, "E D n"] | None = None
) -> Float[Tensor, "E K n"]:
    """The scores of the classes.

    Parameters
    ----------
    layers : tuple of Layer
        The layers.
    columns : tensor (C, H, n)
        The features of the items.
    noise : tensor (E, D, n), optional
        The factors of dropout.

    Returns
    -------
    tensor (E, K, n)
        The scores.
    """
    return layers[-1](penultimate(layers, columns, noise))


def dropout_noise(shape: tuple[int, int], p: float, rngs: Generators) -> Float[Array, "E D n"]:
    """The factors of dropout: 1/(1-p) for an active entry and 0 for another.

    Parameters
    ----------
    shape : tuple of int
        D and n, the shape of one member.
    p : float
        The rate of dropout.
    rngs : sequence of numpy Generator
        The generator of each member.

    Returns
    -------
    array (E, D, n)
        The factors.
    """
    active = np.stack([rng.random(shape, dtype=np.float32) for rng in rngs]) >= p
    return active * np.float32(1 / (1 - p))
