"""Partial fine-tuning: only the top layers of an encoder learn, and their input is computed once for each text.

The lower layers are frozen and run without dropout, so their hidden states never change: they are cached on disk
(4 H bytes for each token) and every epoch, member and round starts from them. The upper part is the network
itself, with its embeddings replaced by the cached states and its list of layers cut; this fits BERT-like encoders
and DistilBERT, and is checked on a text before it is trusted.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from jaxtyping import Float, Int
from torch import nn

from bemps.errors import InputError
from bemps.models.encoders.text_encoder import hidden_states
from bemps.models.text.hidden_store import HiddenStore
from bemps.models.text.pretrained import load_module
from bemps.models.text.text_networks import Network, WholeBackbone
from bemps.models.text.tokens import (
    Inputs,
    NetworkInputs,
    Row,
    TokenInputs,
    filled,
    fixed_batches,
    fixed_rows,
    rounded_up,
)
from bemps.types import Array

SEGMENT = 1024  # texts that are written to the cache at once: what an interruption can lose
AGREEMENT = 1e-4  # how far the two parts together may be from the whole


class CachedStates(nn.Module):
    """A module in place of the embeddings; it returns the hidden states among its arguments."""

    def forward(self, *args: Any, **kwargs: Any) -> Float[torch.Tensor, "b t H"]:
        """The first tensor of floats among the arguments, that is the hidden states.

        Parameters
        ----------
        *args : object
            The arguments of the layer.
        **kwargs : object
            The keyword arguments of the layer.

        Returns
        -------
        tensor (b, t, H)
            The hidden states.
        """
        values = [*args, *kwargs.values()]
        return next(value for value in values if isinstance(value, torch.Tensor) and value.is_floating_point())


def layers_of(encoder: nn.Module) -> nn.ModuleList:
    """The list of layers of a BERT-like encoder (`encoder.layer`) or of DistilBERT (`transformer.layer`)."""
    stack = getattr(encoder, "encoder", None) or getattr(encoder, "transformer", None)
    layers = getattr(stack, "layer", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(encoder, "embeddings"):
        raise InputError(
            "top_layers",
            expected="a BERT-like encoder or DistilBERT",
            got=type(encoder).__name__,
            fix="Fine-tune it as a whole: top_layers=None.",
        )
    return layers


def split_at(encoder: nn.Module, top: int) -> int:
    """How many lower layers stay frozen when `top` learn."""
    depth = len(layers_of(encoder))
    if not 1 <= top <= depth:
        raise InputError(
            "top_layers", expected=f"1 to {depth} layers", got=str(top), fix="None fine-tunes the whole network."
        )
    return depth - top


def keep_top(network: Network, top: int) -> Network:
    """The network without its embeddings and lower layers; give it `inputs_embeds`, the states below the cut."""
    layers = layers_of(network.encoder)
    del layers[: split_at(network.encoder, top)]
    network.encoder.embeddings = CachedStates()
    if hasattr(network.encoder, "embeddings_project"):  # ELECTRA widens its embeddings; the states are wide already
        network.encoder.embeddings_project = nn.Identity()
    return network


class LowerLayers:
    """The frozen layers under the cut, and the cache of their hidden states.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    top : int
        How many layers are above the cut.
    cache : Path, str or None
        The folder of the hidden states; None is a temporary one.
    device : torch device
        Where the layers run.
    """

    def __init__(self, name: str | Path, top: int, cache: Path | str | None, device: torch.device) -> None:
        self.encoder = load_module(transformers.AutoModel, name, seed=0, device=device)
        layers = layers_of(self.encoder)
        del layers[split_at(self.encoder, top) :]
        self.device = device
        self.store = HiddenStore(cache)
        self._identity = digest_of(self.encoder)

    def inputs(self, rows: Sequence[Row], padding: int, report: Callable[[int, int], None]) -> "HiddenInputs":
        """The tokenised texts as hidden states, computed where the cache has none.

        Parameters
        ----------
        rows : sequence of sequence of int
            The token numbers of each text.
        padding : int
            The number of the padding token.
        report : callable
            Takes the number of texts done and the number of all that are computed.

        Returns
        -------
        HiddenInputs
            The hidden states of the texts.
        """
        keys = [self._key(row) for row in rows]
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in self.store}
        missing = list(new)
        for start in range(0, len(missing), SEGMENT):
            part = missing[start : start + SEGMENT]
            self.store.add(part, self._states([new[key] for key in part], padding))
            report(start + len(part), len(missing))
        return HiddenInputs([self.store[key] for key in keys], self.device)

    def _states(self, rows: Sequence[Row], padding: int) -> list[Float[Array, "_ H"]]:
        inputs = TokenInputs(rows, padding, self.device)
        states: dict[int, Float[Array, "_ H"]] = {}
        with torch.inference_mode():
            for positions in fixed_batches(inputs.lengths, inputs.size):
                [last] = hidden_states(self.encoder, inputs.fixed(positions), -1)
                answer = last.cpu().numpy()
                states |= {int(i): answer[j, : len(rows[i])] for j, i in enumerate(positions)}
        return [states[i] for i in range(len(rows))]

    def _key(self, row: Row) -> str:
        return hashlib.sha256(self._identity + np.asarray(row, dtype=np.int64).tobytes()).hexdigest()[:32]


class HiddenInputs:
    """Inputs of an upper part: cached hidden states."""

    def __init__(self, states: Sequence[Float[Array, "_ H"]], device: torch.device) -> None:
        self.states, self.device = states, device
        self.size = fixed_rows(device)
        self.lengths = np.array([len(rows) for rows in states], dtype=np.int64)

    def batch(self, positions: Int[Array, " b"]) -> Inputs:
        """The states at these positions, padded to the longest text of the batch."""
        return self._padded(positions, int(self.lengths[positions].max()))

    def fixed(self, positions: Int[Array, " b"]) -> Inputs:
        """The states at these positions in the fixed shape; see `NetworkInputs`."""
        return self._padded(filled(positions, self.size), int(rounded_up(self.lengths[positions]).max()))

    def _padded(self, positions: Int[Array, " b"], length: int) -> Inputs:
        width = self.states[0].shape[1]
        states = np.zeros((len(positions), length, width), dtype=np.float32)
        for row, i in zip(states, positions, strict=True):
            row[: self.lengths[i]] = self.states[i]
        attention = np.arange(length) < self.lengths[positions][:, None]
        return {
            "inputs_embeds": torch.from_numpy(states).to(self.device),
            "attention_mask": torch.from_numpy(attention.astype(np.int64)).to(self.device),
        }


def digest_of(module: nn.Module) -> bytes:
    """A digest of the weights of a module: the cache follows the weights, not their name."""
    digest = hashlib.sha256()
    for name, value in module.state_dict().items():
        digest.update(name.encode())
        digest.update(value.cpu().contiguous().numpy().tobytes())
    return digest.digest()


class PartialBackbone:
    """The top layers learn; networks read the cached states of the frozen ones.

    Parameters
    ----------
    backbone : WholeBackbone
        The whole encoder, which makes the networks.
    top : int
        How many layers learn.
    cache : Path, str or None
        The folder of the hidden states; None is a temporary one.
    """

    def __init__(self, backbone: WholeBackbone, *, top: int, cache: Path | str | None) -> None:
        self.backbone, self.top = backbone, top
        self.lower = LowerLayers(backbone.name, top, cache, backbone.device)
        self._check_cut()

    def network(self, K: int, seed: int) -> Network:
        """A new network of the top layers and a head of K classes."""
        return keep_top(self.backbone.network(K, seed), self.top)

    def whole_encoder(self, network: Network) -> tuple[nn.Module, Any]:
        """The encoder of a network on its frozen layers, and its tokenizer."""
        name, device = self.backbone.name, self.backbone.device
        encoder = load_module(transformers.AutoModel, name, seed=0, device=device)
        layers, trained = layers_of(encoder), layers_of(network.encoder)
        for index, layer in enumerate(trained, start=len(layers) - len(trained)):
            layers[index] = layer
        return encoder, self.backbone.tokenizer

    def inputs(self, texts: Sequence[str], report: Callable[[int, int], None]) -> NetworkInputs:
        """The texts as hidden states of the frozen layers; `report` takes the number done and the number of all."""
        return self.lower.inputs(self.backbone.rows(texts), self.backbone.tokenizer.pad_token_id, report)

    def _check_cut(self) -> None:
        """Check that the upper part on the states of the lower one computes what the full network computes."""
        text, first = ["One text, and a second sentence of it."], np.arange(1)
        full_network, upper = self.backbone.network(2, 0), self.network(2, 0)
        with torch.inference_mode():
            expected = full_network(**self.backbone.inputs(text, _silent).batch(first))
            off = float((expected - upper(**self.inputs(text, _silent).batch(first))).abs().max())
        if not off <= AGREEMENT:
            raise InputError(
                "top_layers",
                expected=f"an encoder whose layers can be run apart, within {AGREEMENT}",
                got=f"{type(full_network.encoder).__name__}, off by {off:.3g}",
                fix="Fine-tune it as a whole: top_layers=None.",
            )


def _silent(done: int, total: int) -> None:
    """Report nothing."""
