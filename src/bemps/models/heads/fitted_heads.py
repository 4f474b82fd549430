"""Trained heads as E functions of raw vectors, with the map of the inputs folded into their first layer.

The map of the inputs and a mask or a temperature of a member are all linear, so they go into the layers once:
predicting is one matrix product for the hidden units and one for the classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bemps.models.heads.stacked_heads import Layer, Layers, logits, penultimate
from bemps.models.linear.spectral_features import SpectralMap
from bemps.types import Array

BLOCK = 2048  # items that are predicted together


@dataclass(frozen=True, eq=False)
class FittedHeads:
    """E members; the first layer reads vectors from which only the mean of the map was taken.

    Parameters
    ----------
    map : SpectralMap
        The map from raw vectors to features.
    norm : float
        The factor of the features.
    layers : tuple of Layer
        The layers, with the map and the norm in the first.
    """

    map: SpectralMap
    norm: float
    layers: Layers

    @classmethod
    def of(cls, layers: Layers, features: SpectralMap, norm: float) -> "FittedHeads":
        """Fold the map into layers that were trained on its features times `norm`.

        Parameters
        ----------
        layers : tuple of Layer
            The trained layers.
        features : SpectralMap
            The map from raw vectors to features.
        norm : float
            The factor of the features.

        Returns
        -------
        FittedHeads
            The members.
        """
        first = layers[0]
        matrix = torch.from_numpy(norm * features.matrix).to(first.weight)
        return cls(features, norm, (Layer(first.weight @ matrix.T, first.bias), *layers[1:]))

    def at_temperatures(self, temperatures: Float[Array, " E"]) -> "FittedHeads":
        """Each member's logits divided by its temperature."""
        last = self.layers[-1]
        scale = torch.from_numpy(1 / temperatures).to(last.weight)[:, None, None]
        return replace(self, layers=(*self.layers[:-1], Layer(last.weight * scale, last.bias * scale)))

    @torch.inference_mode()
    def probs(self, vectors: Float[Array, "N H"]) -> Float[Array, "E N K"]:
        """The probabilities of each member for raw vectors."""
        E, K, _ = self.layers[-1].weight.shape
        answer = np.empty((E, len(vectors), K), dtype=np.float32)
        start = 0
        for columns in self._columns(vectors):
            block = logits(self.layers, columns).softmax(dim=1)
            end = start + columns.shape[2]
            torch.from_numpy(answer)[:, start:end].copy_(block.transpose(1, 2))
            start = end
        return answer

    @torch.inference_mode()
    def features(self, vectors: Float[Array, "N H"]) -> Float[Array, "N D"]:
        """What goes into the last layer, the networks side by side over the root of their number."""
        if len(self.layers) == 1:
            turn = torch.from_numpy((self.norm * self.map.matrix).astype(np.float32)).to(self.layers[0].weight.device)
            rows = [columns[0].T @ turn for columns in self._columns(vectors)]
            return torch.cat([torch.zeros(0, turn.shape[1], device=turn.device), *rows]).cpu().numpy()
        G, D, _ = self.layers[0].weight.shape
        parts = [penultimate(self.layers, columns).reshape(G * D, -1).T for columns in self._columns(vectors)]
        wide = torch.cat(parts) if parts else torch.zeros(0, G * D)
        return wide.cpu().numpy() / np.float32(np.sqrt(G))

    def _columns(self, vectors: Float[Array, "N H"]) -> Iterator[Float[Tensor, "1 H n"]]:
        """Vectors are centred before they become float32: large means would hide small differences."""
        self.map.check(vectors)
        mean = self.map.mean.astype(vectors.dtype)
        for start in range(0, len(vectors), BLOCK):
            centred = (vectors[start : start + BLOCK] - mean).astype(np.float32, copy=False)
            yield torch.from_numpy(centred).to(self.layers[0].weight.device).T[None]


def masked(layers: Layers, active: Bool[Array, "E D"], dropout: float) -> Layers:
    """One trained head as E members: dropped units become zero weights of the last layer.

    Parameters
    ----------
    layers : tuple of Layer
        The layers of the head.
    active : array (E, D) of bool
        The units that each member uses.
    dropout : float
        The rate of dropout in training.

    Returns
    -------
    tuple of Layer
        The layers of the members.
    """
    (last,), inner = layers[-1:], layers[:-1]
    mask = torch.from_numpy(active / (1 - dropout)).to(last.weight)[:, None, :]
    return (*inner, Layer(last.weight * mask, last.bias.expand(len(active), -1, -1)))
